// Reads `sandbox` of a stdio server in the server file: what a confined command may do. The field names, and what they
// mean, are in docs/confined.md; mcp/sandbox/ enforces them.

import { dirname, resolve } from 'node:path';
import { isObject } from '../core/wire/json.ts';

/** Stands in `read` for what the command's own runtime needs. */
export const RUNTIME = 'runtime';

/** What is null or true limits nothing. */
export interface Sandbox {
  /** Absolute paths, or RUNTIME. */
  read: string[] | null;
  write: string[] | null;
  network: boolean;
  /** In bytes. */
  memory: number | null;
  processes: number | null;
  /** Start the command although something cannot be enforced here. */
  bestEffort: boolean;
}

const UNITS: Record<string, number> = { KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 };
/** Less would not even hold the start of a program. */
const LEAST_MEMORY = 1024 ** 2;
const MOST_PROCESSES = 4096;

const FIELDS: Record<keyof Sandbox, { wanted: string; fits: (value: unknown) => boolean }> = {
  read: { wanted: `a list of paths, or "${RUNTIME}"`, fits: isListOfPaths },
  write: {
    wanted: `a list of paths; "${RUNTIME}" belongs into "read"`,
    fits: value => isListOfPaths(value) && !value.includes(RUNTIME),
  },
  network: { wanted: 'true or false', fits: isBoolean },
  memory: {
    wanted: 'a size such as 512MiB (KiB, MiB or GiB), of at least 1MiB',
    fits: value => sizeOf(value) >= LEAST_MEMORY,
  },
  processes: {
    wanted: `a whole number from 0 to ${MOST_PROCESSES}`,
    fits: value => Number.isInteger(value) && Number(value) >= 0 && Number(value) <= MOST_PROCESSES,
  },
  bestEffort: { wanted: 'true or false', fits: isBoolean },
};

/** `wrong` makes the error for the place of the sandbox in the file; the text it gets continues that place. */
export function readSandbox(file: string, value: unknown, wrong: (what: string) => Error): Sandbox {
  if (!isObject(value)) throw wrong(` must be an object: { ${Object.keys(FIELDS).join(', ')} }.`);
  for (const [name, given] of Object.entries(value)) {
    const field = Object.hasOwn(FIELDS, name) ? FIELDS[name as keyof Sandbox] : undefined;
    if (field === undefined)
      throw wrong(` has the unknown field "${name}"; known: ${Object.keys(FIELDS).join(', ')}.`);
    if (!field.fits(given)) throw wrong(`.${name} must be ${field.wanted}.`);
  }
  const from = (paths: string[] | undefined) =>
    paths?.map(path => (path === RUNTIME ? path : resolve(dirname(file), path))) ?? null;
  const given = value as Partial<Omit<Sandbox, 'memory'>> & { memory?: unknown };
  return {
    read: from(given.read ?? undefined),
    write: from(given.write ?? undefined),
    network: given.network ?? true,
    memory: given.memory === undefined ? null : sizeOf(given.memory),
    processes: given.processes ?? null,
    bestEffort: given.bestEffort ?? false,
  };
}

function isListOfPaths(value: unknown): value is string[] {
  return (
    Array.isArray(value) &&
    value.every(each => typeof each === 'string' && each !== '' && !each.includes('\0'))
  );
}

function isBoolean(value: unknown): boolean {
  return typeof value === 'boolean';
}

/** NaN for what is not a size. */
function sizeOf(value: unknown): number {
  const [, count, unit = ''] = (typeof value === 'string' && /^(\d{1,9})(KiB|MiB|GiB)$/.exec(value)) || [];
  return Number(count) * (UNITS[unit] ?? Number.NaN);
}
