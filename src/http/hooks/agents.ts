// The doors of coding agents. Those that can ask over HTTP are answered in their own shape. For every agent there is a door
// for its command, `toolgate hook <agent>`, which is told what to write and which code to end with.

import { z } from 'zod';
import { AGENT_NAMES, AGENTS, type AgentName, PENDING, type Pending } from '../../core/agents.ts';
import type { GuardError } from '../../core/errors.ts';
import { surfaceName } from '../../core/text/surface.ts';
import { isObject, type JsonObject } from '../../core/wire/json.ts';
import { type Route, route } from '../serving/route.ts';
import { submitCheck } from '../serving/submit-check.ts';
import {
  type AgentDoor,
  agentAnswerOf,
  blocked,
  type HttpDoor,
  json,
  type Output,
  output,
  reasonOf,
} from './agent.ts';
import { tell, toldIn, withNames } from './agent-told.ts';
import { claudeCode } from './claude-code.ts';
import { codex } from './codex.ts';
import { copilot } from './copilot.ts';
import { cursor } from './cursor.ts';
import {
  DOOR,
  type DoorCall,
  doorRoute,
  proxied,
  questionOf,
  receiverOf,
  refused,
  undecided,
} from './door.ts';
import { geminiCli } from './gemini-cli.ts';
import { goose } from './goose.ts';
import { grok } from './grok.ts';
import { vscode } from './vscode.ts';
import { windsurf } from './windsurf.ts';

const DOORS: Readonly<Record<AgentName, AgentDoor | HttpDoor>> = {
  'claude-code': claudeCode,
  copilot,
  grok,
  vscode,
  codex,
  cursor,
  'gemini-cli': geminiCli,
  windsurf,
  goose,
};

export interface Agent extends AgentDoor {
  name: AgentName;
}
export type HttpAgent = Agent & HttpDoor;

export const BY_COMMAND: readonly Agent[] = AGENT_NAMES.map(name => ({ name, ...DOORS[name] }));
export const OVER_HTTP = BY_COMMAND.filter((agent): agent is HttpAgent => 'answer' in agent);

/** The value itself is passed on and not a copy, so that what is judged is what was sent. */
const event = z.unknown().refine(isObject, 'must be an object').meta({
  type: 'object',
  description: 'The event, as the agent sends it.',
}) as unknown as z.ZodType<JsonObject>;

const pending = z.enum(PENDING).optional().meta({
  description:
    'What becomes of a call that needs approval: it is denied until somebody has approved it (`deny`, the default), the person at the terminal decides and no approval is opened (`ask`), or the agent keeps it until then (`defer`). An agent that cannot be told so is told `deny`.',
});

const written = z.object({
  stdout: z.string(),
  stderr: z.string(),
  exitCode: z.int(),
});

function overHttp(agent: HttpAgent): Route {
  const { name, readCall, answer } = agent;
  const refuse = (error: GuardError, body: JsonObject | null) =>
    body !== null && toldIn(agent, body) !== null
      ? {}
      : answer({ decision: 'deny', reason: reasonOf(error) }, body);
  return doorRoute({
    surface: name,
    path: `/v1/hooks/${name}`,
    summary: `Judge an event of ${surfaceName(name)}`,
    description:
      'The answer is 200 in the shape that the agent expects, also for refusals. An event that is not about a call is answered with `{}`, and leaves no audit entry; a prompt and the result of a trusted call make values known.',
    body: event,
    readCall: body => callIn(agent, body) ?? Response.json({}),
    tell: incoming => tell(agent, incoming),
    answer: (verdict, body) => answer(agentAnswerOf(verdict, 'deny', receiverOf(readCall(body)?.call)), body),
    refuse,
  });
}

function callIn({ name, readCall }: Agent, body: JsonObject): DoorCall | null {
  const call = readCall(body);
  return call === null ? null : withNames(name, body, call);
}

function byCommand(agent: Agent): Route {
  const { name, speak } = agent;
  return route({
    ...DOOR,
    method: 'POST',
    path: `/v1/hooks/${name}/command`,
    summary: `Judge an event that the command for ${surfaceName(name)} was given`,
    description: 'The answer is what the command has to write, and the code that it has to end with.',
    body: event,
    query: z.strictObject({ pending }),
    answers: { 200: { description: 'The output of the command.', schema: written } },
    handle: async incoming => {
      const { services, body, query, identifyMs } = incoming;
      const call = callIn(agent, body);
      if (call === null) {
        const answer = await undecided(incoming, Response.json(nothing(name)));
        const replacement = await tell(agent, incoming);
        return replacement === null ? answer : Response.json(json(replacement));
      }
      const question = questionOf(name, await proxied(call, incoming), incoming);
      const waits = wayOf(agent, body, query.pending);
      if (waits === 'ask') question.handedTo ??= 'terminal';
      return submitCheck(services, question, identifyMs, verdict =>
        Response.json(speak(agentAnswerOf(verdict, waits, question.handedTo), body)),
      );
    },
    refusal: (error, _, read) => refused(error, refusalOf(agent, error, (read as JsonObject) ?? null)),
  });
}

function wayOf({ ways }: Agent, body: JsonObject, wanted: Pending = 'deny'): Pending {
  return ways?.(body).includes(wanted) ? wanted : 'deny';
}

/** What cannot be recorded of a prompt or a result is not known, and both go on. */
function refusalOf(agent: Agent, error: GuardError, body: JsonObject | null): Output {
  const { name, refuse = blocked } = agent;
  if (body !== null && toldIn(agent, body) !== null) return nothing(name);
  return refuse(reasonOf(error), body);
}

const nothing = (name: AgentName): Output => output(AGENTS[name].nothing ?? '');

export const agentRoutes: Route[] = [...OVER_HTTP.map(overHttp), ...BY_COMMAND.map(byCommand)];
