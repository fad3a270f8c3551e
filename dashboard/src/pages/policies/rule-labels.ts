// The words beside the lines of a policy on which its rules begin.

/** The text beside each line on which rules begin. */
export function ruleLabels(lines: readonly number[]): Map<number, string> {
  const numbers = new Map<number, number[]>();
  for (const [number, line] of lines.entries()) numbers.set(line, [...(numbers.get(line) ?? []), number]);
  return new Map(
    Array.from(numbers, ([line, [first, ...more]]) => [
      line,
      more.length === 0 ? `rule ${first}` : `rules ${first}–${more.at(-1)}`,
    ]),
  );
}
