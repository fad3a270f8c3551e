// The door of this room: whether the sandbox of a declared command holds on this machine, and how the command is started
// in it. The processes that do it begin in entry.ts.

import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { RUNTIME, type Sandbox } from '../../settings/sandbox.ts';
import type { StdioServer } from '../../settings/server-file.ts';
import { isChangeable, isWithin, realOf } from './changeable.ts';
import { features, ownProgram } from './features.ts';
import { type Judgement, judge, missing } from './judge.ts';
import type { Features, Plan } from './plan.ts';
import { runtimePaths } from './runtime.ts';

/** What a command may always use, apart from its private folder. */
const ALWAYS = '/dev/null';

export interface Confined {
  argv: string[];
  /** What the supervisor is told first. It has the command's environment, so it is on no command line. */
  plan: string;
}

/** What is shown of a server's sandbox; null if it has none. */
export async function sandboxOf(server: StdioServer): Promise<Judgement | null> {
  return server.sandbox === undefined ? null : judge(server.sandbox, await features());
}

/** Why the command cannot be started in its sandbox, or null. */
export async function confinementFault(server: StdioServer): Promise<string | null> {
  const { sandbox } = server;
  if (sandbox === undefined) return null;
  const lacks = missing(judge(sandbox, await features()));
  if (lacks !== null && !sandbox.bestEffort)
    return `${lacks}. \`sandbox.bestEffort: true\` starts it without that`;
  return missingPath(sandbox) ?? changeablePath(sandbox) ?? changeableProgram(server, sandbox);
}

/** `env` is the whole environment of the command. Null: it has no sandbox, or nothing of it can be enforced here. */
export async function confine(server: StdioServer, env: Record<string, string>): Promise<Confined | null> {
  const here = await features();
  if (server.sandbox === undefined || !here.supported) return null;
  const [program = '', ...args] = ownProgram();
  return {
    argv: [program, ...args, 'supervise'],
    plan: `${JSON.stringify(planOf(server, server.sandbox, here, env))}\n`,
  };
}

/** Whether what the sandbox names in this field contains one of these files and folders; which, or null. */
export function granted(field: 'read' | 'write', sandbox: Sandbox, files: readonly string[]): string | null {
  const paths = (sandbox[field] ?? []).filter(each => each !== RUNTIME).map(realOf);
  return files.find(file => isWithin(realOf(file), paths)) ?? null;
}

function planOf(server: StdioServer, sandbox: Sandbox, here: Features, env: Record<string, string>): Plan {
  const path = env['PATH'] ?? '';
  const program = Bun.which(server.command, { PATH: path }) ?? server.command;
  const roots = (sandbox.write ?? []).map(realOf);
  const isFixed = (each: string) => !isChangeable(each, roots);
  const listed = sandbox.read?.flatMap(each =>
    each === RUNTIME ? runtimePaths(program, path, isFixed) : [each],
  );
  // What lies in a folder that it may write is granted with that folder.
  const written = sandbox.write?.filter(isFixed) ?? null;
  return {
    program,
    argv: [server.command, ...server.args],
    env,
    read: listed === undefined ? null : [...listed.filter(isFixed), ...(written ?? []), ALWAYS],
    write: written === null ? null : [...written, ALWAYS],
    network: sandbox.network,
    memory: sandbox.memory,
    processes: sandbox.processes,
    landlock: here.landlock,
    filter: here.filter,
    asks: here.asks,
    temporary: tmpdir(),
    launcher: ownProgram(),
  };
}

function missingPath(sandbox: Sandbox): string | null {
  for (const field of ['read', 'write'] as const) {
    const gone = sandbox[field]?.find(each => each !== RUNTIME && !existsSync(each));
    if (gone !== undefined) return `${gone}, which sandbox.${field} names, does not exist`;
  }
  return null;
}

/** A link that the command may have made itself. */
function changeablePath(sandbox: Sandbox): string | null {
  const roots = (sandbox.write ?? []).map(realOf);
  for (const field of ['read', 'write'] as const) {
    const turned = sandbox[field]?.find(
      each => each !== RUNTIME && isChangeable(each, roots) && !isWithin(realOf(each), roots),
    );
    if (turned !== undefined)
      return `${turned}, which sandbox.${field} names, leads out of a folder that the command may write, by a symbolic link; name the path that is meant`;
  }
  return null;
}

/** What `runtime` grants depends on the program, and would be for the command to choose. */
function changeableProgram({ command, env }: StdioServer, sandbox: Sandbox): string | null {
  const roots = (sandbox.write ?? []).map(realOf);
  if (!sandbox.read?.includes(RUNTIME) || roots.includes('/')) return null;
  const program = Bun.which(command, { PATH: env['PATH'] ?? process.env['PATH'] ?? '' }) ?? command;
  if (!isChangeable(program, roots)) return null;
  return `sandbox.write lets it change its own program, ${program}, so "runtime" cannot be granted; keep the program elsewhere, or name the paths that it needs`;
}
