// What this machine can confine, asked once of a process that tries it (probe.ts).

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { CONFINED, type Features } from './plan.ts';

const PROBE_MS = 20_000;
const NONE: Features = {
  supported: false,
  landlock: 0,
  noLandlock: 'this is not Linux',
  filter: false,
  asks: false,
};

/**
 * The command line that starts our own program for one of the roles of entry.ts: the single executable, the bundle of
 * the npm package, or the source.
 */
export function ownProgram(): string[] {
  if (Bun.main.startsWith('/$bunfs/')) return [process.execPath, CONFINED];
  const options = ['--no-env-file', '--config=/dev/null', '--tsconfig-override=/dev/null'];
  const isSource = import.meta.path.endsWith('.ts');
  return [
    process.execPath,
    ...options,
    isSource ? join(import.meta.dir, '../../cli/main.ts') : Bun.main,
    CONFINED,
  ];
}

/** Then nothing that has to be enforced is started. */
const UNKNOWN: Features = {
  supported: true,
  landlock: 0,
  noLandlock: 'what this machine can confine could not be found out',
  filter: false,
  asks: false,
};

let known: Promise<Features> | null = null;

export async function features(): Promise<Features> {
  known ??= ask();
  const found = await known;
  // What could not be found out is asked again.
  if (found === UNKNOWN) known = null;
  return found;
}

function ask(): Promise<Features> {
  const isSupported = process.platform === 'linux' && ['x64', 'arm64'].includes(process.arch);
  if (!isSupported) return Promise.resolve(NONE);
  const [program = '', ...args] = ownProgram();
  return new Promise(answered =>
    execFile(program, [...args, 'probe'], { env: {}, timeout: PROBE_MS }, (error, out) =>
      answered(error === null ? (JSON.parse(out) as Features) : UNKNOWN),
    ),
  );
}
