// Where the suites about coding agents lie. Nothing of them is in this project: two packages come from PyPI, without what they
// need to run, because only their data is read; the others are repositories that whoever measures puts there.

import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';

const FOLDER = path.resolve(
  process.env.TOOLGATE_BENCH_ATTACKS ?? path.join(import.meta.dirname, '..', '..', '.attacks'),
);

export const INSPECT_EVALS = '0.26.0';
export const BFCL = '2026.3.23';
const PACKAGES = { inspect_evals: INSPECT_EVALS, 'bfcl-eval': BFCL };
type Package = keyof typeof PACKAGES;

export const REPOSITORIES = {
  RedCode: 'https://github.com/AI-secure/RedCode',
  GTFOBins: 'https://github.com/GTFOBins/GTFOBins.github.io',
  tldr: 'https://github.com/tldr-pages/tldr',
  nl2bash: 'https://github.com/TellinaTool/nl2bash',
} as const;
export type Repository = keyof typeof REPOSITORIES;

const folderOf = (name: Package): string => path.join(FOLDER, `${name}-${PACKAGES[name]}`);

/** The Python that read the packages' data, and a file of a package. */
export const pythonOf = (name: Package): string => path.join(folderOf(name), 'bin', 'python');
export const fileOf = (name: Package, ...parts: string[]): string =>
  path.join(folderOf(name), 'data', ...parts);

/** Brings the packages that are not there: a few seconds and 60 MB. */
export function bringPackages(tell: (text: string) => void): void {
  for (const [name, version] of Object.entries(PACKAGES) as [Package, string][]) {
    const folder = folderOf(name);
    const complete = path.join(folder, 'complete');
    if (fs.existsSync(complete)) continue;
    fs.mkdirSync(folder, { recursive: true });
    const commands = [
      ['python3', '-m', 'venv', '.'],
      ['bin/pip', 'install', '--quiet', '--no-deps', '--target', 'data', `${name}==${version}`],
    ];
    for (const [program = '', ...words] of commands) {
      tell([program, ...words].join(' '));
      const { status, error, stderr } = spawnSync(program, words, { cwd: folder, encoding: 'utf8' });
      if (status === 0) continue;
      throw new Error(`${name} could not be had: ${error?.message ?? stderr.trim().split('\n').at(-1)}`);
    }
    fs.writeFileSync(complete, '');
  }
}

export const repositoryFile = (name: Repository, ...parts: string[]): string =>
  path.join(FOLDER, name, ...parts);

/** Says loudly what to do about a repository that is not there. */
export function isThere(name: Repository, tell: (text: string) => void): boolean {
  const folder = repositoryFile(name);
  if (fs.existsSync(folder)) return true;
  tell(`MISSING, LEFT OUT: ${name}. To play it: git clone --depth 1 ${REPOSITORIES[name]} ${folder}`);
  return false;
}

/** The commit of a repository, for the page. */
export function commitOf(name: Repository): string {
  const words = ['-C', repositoryFile(name), 'rev-parse', '--short=10', 'HEAD'];
  const { status, stdout } = spawnSync('git', words, { encoding: 'utf8' });
  return status === 0 ? stdout.trim() : 'of an unknown commit';
}
