// Starts a program as a confined command, as the wire over stdio does, and waits for its end. `as` changes the plan, to
// see what an older kernel would do.

import { spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { confine, confinementFault } from '../../../src/mcp/sandbox/confine.ts';
import { type Plan, type Report, TALK } from '../../../src/mcp/sandbox/plan.ts';
import type { Sandbox } from '../../../src/settings/sandbox.ts';

export const UNLIMITED: Sandbox = {
  read: null,
  write: null,
  network: true,
  memory: null,
  processes: null,
  bestEffort: false,
};

export interface Ended {
  /** What the supervisor said. */
  report: Report;
  out: string;
}

export interface Running {
  pid: number;
  stdin: Writable;
  stdout: Readable;
  /** Ends it, as a service does that is killed. */
  letGo: () => void;
  ended: Promise<Ended>;
}

export async function start(
  limits: Partial<Sandbox>,
  [command = '', ...args]: string[],
  env: Record<string, string> = {},
  as: Partial<Plan> = {},
): Promise<Running> {
  const server = { command, args, env, sandbox: { ...UNLIMITED, ...limits } };
  const fault = await confinementFault(server);
  if (fault !== null) throw new Error(fault);
  const confined = await confine(server, { PATH: process.env['PATH'] ?? '', ...env });
  const [program = '', ...words] = confined?.argv ?? [];
  const child = spawn(program, words, {
    env: {},
    stdio: ['pipe', 'pipe', 'inherit', 'pipe'],
    detached: true,
  });
  const { stdin, stdout } = child;
  if (child.pid === undefined || stdin === null || stdout === null) throw new Error('it was not started');
  const channel = child.stdio[TALK] as Readable & Writable;
  channel.on('error', () => {});
  stdin.on('error', () => {});
  const ended = Promise.all([textOf(channel), textOf(stdout)]).then(([said, out]) => ({
    report: said === '' ? ({ kind: 'failed', why: 'nothing was reported' } as const) : JSON.parse(said),
    out,
  }));
  channel.write(`${JSON.stringify({ ...JSON.parse(confined?.plan ?? ''), ...as })}\n`);
  return { pid: child.pid, stdin, stdout, letGo: () => channel.destroy(), ended };
}

export async function run(
  limits: Partial<Sandbox>,
  words: string[],
  env: Record<string, string> = {},
  as: Partial<Plan> = {},
): Promise<Ended> {
  return (await start(limits, words, env, as)).ended;
}

/** Everything, until the other side has closed it. */
function textOf(stream: Readable): Promise<string> {
  let text = '';
  stream.setEncoding('utf8').on('data', (more: string) => {
    text += more;
  });
  return new Promise(ended => stream.on('close', () => ended(text)));
}
