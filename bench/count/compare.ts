// Compares counts with the reference in bench/counts.json, and says what became of each.

export interface Reference {
  /** The runtime and the processor that the counts belong to: others have other compilers. */
  runtime: string;
  counts: Record<string, number>;
}

/** A check may grow by this part. Runs differ by 2.5 % at most, even on a machine that does much else. */
export const MAY_GROW = 0.05;

export interface Compared {
  name: string;
  count: number;
  reference: number | null;
  /** By which part it grew; negative if it shrank, and null if there is no reference. */
  growth: number | null;
}

export function compare(counts: Record<string, number>, reference: Reference): Compared[] {
  return Object.entries(counts).map(([name, count]) => {
    const known = reference.counts[name] ?? null;
    return { name, count, reference: known, growth: known === null ? null : count / known - 1 };
  });
}

/** Sentences about what differs too much, and whether that is a failure. */
export function judge(compared: Compared[]): { failed: boolean; told: string[] } {
  const percent = (part: number) => `${Math.abs(part * 100).toFixed(1)} %`;
  const told: string[] = [];
  let failed = false;
  for (const { name, count, reference, growth } of compared) {
    if (growth === null || reference === null) {
      failed = true;
      told.push(`"${name}" has no reference: run npm run bench:count -- --update.`);
    } else if (growth > MAY_GROW) {
      failed = true;
      told.push(
        `"${name}" takes ${count} instructions, ${percent(growth)} more than the ${reference} of bench/counts.json. If that is wanted, run npm run bench:count -- --update.`,
      );
    } else if (growth < -MAY_GROW) {
      told.push(
        `"${name}" takes ${count} instructions, ${percent(growth)} fewer than the ${reference} of bench/counts.json. Keep it so: run npm run bench:count -- --update.`,
      );
    }
  }
  return { failed, told };
}
