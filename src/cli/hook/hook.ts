// What `toolgate hook` does, without its process: takes an agent's event, asks the service, and says what to print and
// how to exit. When there is no verdict, it refuses in the agent's way.

import { join } from 'node:path';
import { type Credentials, credentialsOf, type Env, folderOf } from './credentials.ts';
import { NO_VERDICT, NoVerdict } from './no-verdict.ts';
import { type HookOptions, readOptions } from './options.ts';
import { type Outcome, Service, traceOf } from './service.ts';
import { RunSession, runOf } from './session.ts';

/** The most that TOOLGATE_CHECK_BODY_LIMIT can be: what the service takes, it decides itself. */
const MAX_EVENT = 64 * 1024 * 1024;
const KEY = 'tg_key_';

export interface Input {
  env: Env;
  stdin: () => AsyncIterable<Uint8Array>;
}

export async function judged(argv: readonly string[], input: Input): Promise<Outcome> {
  let agent = '';
  try {
    const options = readOptions(argv);
    agent = options.agent;
    const credentials = credentialsOf(agent, options.baseUrl, input.env);
    return await inTime(options.timeoutMs, ask(options, credentials, input));
  } catch (error) {
    return refusal(agent, error instanceof NoVerdict ? error.message : 'The hook failed.');
  }
}

/** Exit code 2 with the reason on standard error blocks the call, except in Copilot, where some versions then go on. */
function refusal(agent: string, why: string): Outcome {
  const reason = `${NO_VERDICT} ${why}`;
  if (agent !== 'copilot') return { stdout: '', stderr: `${reason}\n`, exitCode: 2 };
  // It has two kinds of events, and each ignores the fields of the other.
  const before = { permissionDecision: 'deny', permissionDecisionReason: reason };
  const permission = { behavior: 'deny', message: reason };
  return { stdout: `${JSON.stringify({ ...before, ...permission })}\n`, stderr: '', exitCode: 0 };
}

/** Whatever the hook waits for, it answers in time: an agent that gives up on its hook may make the call. */
async function inTime(ms: number, asked: Promise<Outcome>): Promise<Outcome> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new NoVerdict(`There was no answer within ${ms / 1000} s.`)), ms);
  });
  try {
    return await Promise.race([asked, late]);
  } finally {
    clearTimeout(timer);
  }
}

async function ask(options: HookOptions, credentials: Credentials, { env, stdin }: Input): Promise<Outcome> {
  const event = await readAll(stdin());
  const service = new Service(credentials.baseUrl, traceOf(env));
  const judge = (credential: string) =>
    service.judge(`/v1/hooks/${options.agent}/command?pending=${options.pending}`, credential, event);

  const run = credentials.key.startsWith(KEY) ? runOf(event) : null;
  const folder = join(folderOf(env, 'XDG_STATE_HOME', '.local/state'), 'hooks');
  const session = run === null ? null : new RunSession(folder, service, credentials, run);
  const token = (await session?.token()) ?? null;
  const outcome = await judge(token ?? credentials.key);
  if (outcome !== null) return outcome;
  // The session was revoked, or has ended by the clock of the service. A key that is wrong is refused here again.
  const instead = token === null ? null : ((await session?.instead(token)) ?? credentials.key);
  const second = instead === null ? null : await judge(instead);
  if (second === null) throw service.refused(401);
  return second;
}

async function readAll(stream: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of stream) {
    size += chunk.length;
    if (size > MAX_EVENT) throw new NoVerdict('The event is too large.');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
