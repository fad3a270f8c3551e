// What `toolgate hook` does, apart from the process itself (main.ts): it takes an agent's event, asks the service, and
// says what to print and how to exit. When there is no verdict, it refuses in the agent's way. A prompt and a result are
// only reported, and go on if that fails; the service may put something else in the place of a result. Other events are
// not sent: a service that does not answer must not keep an agent from starting.

import { join } from 'node:path';
import { AGENTS, type AgentName, eventName, runIn, tells } from '../../core/agents.ts';
import { type Credentials, credentialsOf, type Env, folderOf } from './credentials.ts';
import { NO_VERDICT, NoVerdict } from './no-verdict.ts';
import { type HookOptions, readOptions } from './options.ts';
import { type Outcome, Service, traceOf } from './service.ts';
import { RunSession } from './session.ts';

/**
 * The highest possible value of TOOLGATE_CHECK_BODY_LIMIT, so that the service itself says which events are too large.
 */
const MAX_EVENT = 64 * 1024 * 1024;
const KEY = 'tg_key_';

export interface Input {
  env: Env;
  stdin: () => AsyncIterable<Uint8Array>;
}

export async function runHook(argv: readonly string[], input: Input): Promise<Outcome> {
  let agent: AgentName | null = null;
  let anyway: Outcome | null = null;
  try {
    const options = readOptions(argv);
    agent = options.agent;
    const goOn = (outcome: Outcome) => {
      anyway = outcome;
    };
    return await inTime(options.timeoutMs, answer(options, input, goOn));
  } catch (error) {
    return anyway ?? refusal(agent, error instanceof NoVerdict ? error.message : undefined);
  }
}

/**
 * Exit code 2 with the reason on standard error blocks the call in nearly all agents. Without a reason it blocks nothing in
 * Gemini CLI and in Codex.
 */
export function refusal(agent: AgentName | null, why = 'The hook failed.'): Outcome {
  const reason = `${NO_VERDICT} ${why}`;
  if (agent === null || !AGENTS[agent].refusesByAnswer)
    return { stdout: '', stderr: `${reason}\n`, exitCode: 2 };
  // Copilot has two kinds of events, and each ignores the fields of the other.
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

interface Event {
  bytes: Uint8Array;
  fields: Record<string, unknown>;
}

/** `goOn` is told the outcome for an event that goes on whatever happens from then on. */
async function answer(
  options: HookOptions,
  { env, stdin }: Input,
  goOn: (outcome: Outcome) => void,
): Promise<Outcome> {
  const { agent, baseUrl } = options;
  const bytes = await readAll(stdin());
  const event = { bytes, fields: fieldsOf(bytes) };
  const row = AGENTS[agent];
  const name = eventName(event.fields, row);
  const nothing = { stdout: row.nothing ?? '', stderr: '', exitCode: 0 };
  if (name !== null && row.others.includes(name)) return nothing;
  const told = tells(name, row);
  if (told !== null) goOn(nothing);
  const outcome = await ask(options, credentialsOf(agent, baseUrl, env), event, env);
  if (told === null) return outcome;
  // Of an answer to a result only one is taken that does not stop the agent.
  const replaces =
    told === 'result' && row.replacesResults && outcome.exitCode === 0 && outcome.stderr === '';
  return replaces ? outcome : nothing;
}

async function ask(options: HookOptions, credentials: Credentials, event: Event, env: Env): Promise<Outcome> {
  const { agent } = options;
  const service = new Service(credentials.baseUrl, traceOf(env));
  const pending = options.pending === 'ask' && !isAttended(agent, env) ? 'deny' : options.pending;
  const judge = (credential: string) =>
    service.askForVerdict(`/v1/hooks/${agent}/command?pending=${pending}`, credential, event.bytes);

  const run = credentials.key.startsWith(KEY) ? runIn(event.fields) : null;
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

/** The fields of the event; none if it cannot be read, which the service then says. */
function fieldsOf(event: Uint8Array): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(event));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** Whether somebody may be at the terminal. Most agents do not say so. */
function isAttended(agent: AgentName, env: Env): boolean {
  const { unattended } = AGENTS[agent];
  return unattended === undefined || !unattended.values.test(env[unattended.variable] ?? '');
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
