// The doctor as the tests ask it: in this process, or in one of its own.

import { run } from '../../src/cli/program.ts';
import type { Report, State } from '../../src/doctor/examine.ts';
import { captured } from '../cli/captured.ts';
import { programOf } from '../support/service.ts';

export type Env = Record<string, string>;

export interface Asked extends Report {
  code: number | null;
  /** Everything that was printed. */
  printed: string;
}

export async function doctor(cwd: string, env: Env): Promise<Asked> {
  const io = captured(cwd, env);
  await run(['doctor', '--json'], io);
  return { ...JSON.parse(io.out), code: io.code, printed: io.out + io.err };
}

/** The same in a process of its own, under a command such as strace. */
export async function doctorApart(cwd: string, env: Env, wrap: string[] = []): Promise<Asked> {
  const child = Bun.spawn([...wrap, ...programOf(), 'doctor', '--json'], {
    cwd,
    env: { PATH: process.env['PATH'] ?? '', HOME: cwd, ...env },
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { ...JSON.parse(out), code, printed: out + err };
}

/** How fast the machine of the test is at that moment, and how full, is no matter of these tests. */
const OF_THE_MACHINE = ['warning store', 'warning sync', 'warning disk'];

/** What is not good, as `<state> <name>`. */
export const faultsOf = ({ checks }: Report): string[] =>
  checks
    .filter(each => each.state !== 'good')
    .map(each => `${each.state} ${each.name}`)
    .filter(each => !OF_THE_MACHINE.includes(each));

export const stateOf = ({ checks }: Report, name: string): State | undefined =>
  checks.find(each => each.name === name)?.state;

export const messageOf = ({ checks }: Report, name: string): string =>
  checks.find(each => each.name === name)?.message ?? `no line "${name}"`;
