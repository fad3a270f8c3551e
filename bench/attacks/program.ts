// AgentDojo (MIT), from PyPI, in a folder of its own. Its tasks, goals and environments are read from there; nothing of them is
// kept in this project.

import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';

export const AGENTDOJO = '0.1.35';
/** The version of its suites, which stage.py asks for. */
export const SUITES_VERSION = 'v1.2.2';

const FOLDER = process.env.TOOLGATE_BENCH_ATTACKS ?? path.join(import.meta.dirname, '..', '.attacks');
/** A folder for each version, so that another version is never taken for this one. */
const folder = path.resolve(FOLDER, `agentdojo-${AGENTDOJO}`);

export const PYTHON = path.join(folder, 'bin', 'python');
/** Is written last: a folder without it holds only a part. */
const COMPLETE = path.join(folder, 'complete');

const COMMANDS = [
  ['python3', '-m', 'venv', '.'],
  ['bin/pip', 'install', '--quiet', `agentdojo==${AGENTDOJO}`],
];

/** Brings AgentDojo if it is not there: about a minute and 285 MB. */
export function bring(tell: (text: string) => void): void {
  if (fs.existsSync(COMPLETE)) return;
  fs.mkdirSync(folder, { recursive: true });
  for (const [program = '', ...words] of COMMANDS) {
    tell([program, ...words].join(' '));
    const { status, error, stderr } = spawnSync(program, words, { cwd: folder, encoding: 'utf8' });
    if (status === 0) continue;
    throw new Error(`AgentDojo could not be had: ${error?.message ?? stderr.trim().split('\n').at(-1)}`);
  }
  fs.writeFileSync(COMPLETE, '');
}
