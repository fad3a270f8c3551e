// What the doors of coding agents share: how an event becomes a call, and what the agent is told. Each agent's own file
// says which events it sends, what they look like, and how it wants to be answered.

import type { AgentCall } from '../../core/agents/acts.ts';
import { agentCallOf } from '../../core/agents/acts-of.ts';
import { type AgentName, type Events, isAgent, type Pending, tells } from '../../core/agents.ts';
import { SERVER as OWN_SERVER } from '../../core/clients/entries.ts';
import type { HandedTo } from '../../core/decision/reason.ts';
import { GuardError, invalidInput } from '../../core/errors.ts';
import type { ToolCall } from '../../core/policy/situation.ts';
import { SEPARATOR, splitName } from '../../core/text/name.ts';
import { isObject, type Json, type JsonObject, MAX_CHECK_VALUES, parseJson } from '../../core/wire/json.ts';
import type { Verdict } from '../../guard/check/request.ts';
import type { DoorCall } from './door.ts';
import { refusalText } from './refusal-text.ts';

export interface AgentAnswer {
  decision: 'allow' | Pending;
  reason: string;
}

/** What a command has to write, and the code it has to end with. */
export interface Output {
  stdout: string;
  stderr: string;
  exitCode: number;
}

/** A call whose result an event tells. Without a value the call has failed, or its result is not there in full. */
export interface Returned {
  call: ToolCall;
  args: Json | undefined;
  value: Json | undefined;
  /** What the model is shown of it, where that is something else: also of a call that failed. */
  shown?: Json | undefined;
  /** What the call would do. */
  agent?: AgentCall;
}

/** What may be passed on of a result, in the shape that it had, and all of its texts as one. */
export interface Replacement {
  value: Json;
  text: string;
}

export interface AgentDoor {
  /** The call that an event is about, or null if it is about none. It throws for an event that it does not know. */
  readCall: (event: JsonObject) => DoorCall | null;
  /** What stands for the person's words, in an event that tells a prompt. */
  readPrompt?: (event: JsonObject) => Json | undefined;
  /** The result that an event tells; null for one that another event tells. */
  readResult?: (event: JsonObject) => Returned | null;
  /**
   * The answer that puts this in the place of a result, for agents whose hooks can; null where they cannot for this event.
   */
  replace?: (event: JsonObject, by: Replacement) => JsonObject | null;
  /** The name of an event, if it does not always say it. */
  nameOf?: (event: JsonObject) => string | null;
  /** The answers that the agent understands for a call that waits, besides a denial. */
  ways?: (event: JsonObject) => readonly Pending[];
  /** What its command writes and returns. */
  speak: (answer: AgentAnswer, event: JsonObject) => Output;
  /** How its command refuses when there is no verdict, if not by the reason on standard error and exit code 2. */
  refuse?: (reason: string, event: JsonObject | null) => Output;
}

/** The door of an agent that can also ask over HTTP. */
export interface HttpDoor extends AgentDoor {
  /** `event` is null if it could not be read. */
  answer: (answer: AgentAnswer, event: JsonObject | null) => JsonObject;
}

export const output = (stdout: string): Output => ({ stdout, stderr: '', exitCode: 0 });
export const json = (answer: JsonObject): Output => output(`${JSON.stringify(answer)}\n`);
export const blocked = (reason: string): Output => ({ stdout: '', stderr: `${reason}\n`, exitCode: 2 });

/** The answer to an agent for a verdict; `waits` says what becomes of a call that waits. */
export function agentAnswerOf(verdict: Verdict, waits: Pending, handedTo?: HandedTo): AgentAnswer {
  const { decision, reason, referenceId } = verdict;
  if (decision !== 'pending') return { decision, reason: refusalText(verdict) };
  if (referenceId === undefined) return { decision: handedTo === 'proxy' ? 'allow' : 'ask', reason };
  return { decision: waits === 'defer' ? 'defer' : 'deny', reason: refusalText(verdict) };
}

/** The reason in the answer to an agent if there is no verdict. */
export function reasonOf({ message }: GuardError): string {
  return `Toolgate gave no verdict, so this call is refused. ${message}`;
}

/** Whether an event is about a call. It throws for an unknown event, which is in none of the lists. */
export function isCall(name: string | null, calls: readonly string[], events: Events): boolean {
  if (name !== null && calls.includes(name)) return true;
  if (name !== null && events.others.includes(name)) return false;
  if (tells(name, events) !== null) return false;
  throw new GuardError(
    'invalid_input',
    'Toolgate does not know this kind of event, so it cannot tell whether a call may proceed.',
  );
}

export function textIn(event: JsonObject, field: string): string {
  const value = event[field];
  if (typeof value === 'string') return value;
  throw invalidInput([
    { path: `/${field}`, message: value === undefined ? 'is required' : 'must be a text' },
  ]);
}

/** Arguments are an object. Some agents send them as the text of one. */
export function argumentsIn(event: JsonObject, field: string): JsonObject | undefined {
  const given = event[field] ?? undefined;
  const value = typeof given === 'string' ? parseJson(given, MAX_CHECK_VALUES) : given;
  if (value === undefined || isObject(value)) return value;
  throw invalidInput([{ path: `/${field}`, message: 'must be an object' }]);
}

/**
 * The call with what it would do in the folder that the event names. The folder is what the harness says, and never a part
 * of the arguments, which the model writes. `tool` is the name in the table of agents.
 */
export function inFolder(
  agent: AgentName,
  { call, args }: { call: ToolCall; args: JsonObject | undefined },
  folder: Json | undefined,
  tool: string | null = call.serverName === agent ? call.toolName : null,
): DoorCall {
  const named = typeof folder === 'string' && folder !== '' ? folder : null;
  return { call, args, agent: agentCallOf(agent, tool, args, named) };
}

/** `mcp__github__create_issue` is the tool `create_issue` of `github`; other names are those of the agent's own tools. */
export function namedCall(agent: AgentName, name: string): ToolCall {
  return name.startsWith(PREFIX)
    ? prefixedCall(name.slice(PREFIX.length))
    : { serverName: agent, toolName: name };
}

const PREFIX = 'mcp__';

/** The same for agents that name the tools of MCP servers `<server>__<tool>`. */
export function extensionCall(agent: AgentName, name: string): ToolCall {
  const isOther = name.includes(SEPARATOR) && !name.startsWith(PREFIX);
  return isOther ? prefixedCall(name) : namedCall(agent, name);
}

function prefixedCall(name: string): ToolCall {
  const parts = splitName(name);
  if (parts !== null) return serverCall(parts.serverName, parts.toolName);
  throw new GuardError('invalid_input', 'The name of this tool does not say which server it belongs to.');
}

/**
 * A tool of an MCP server. A tool of our own MCP proxy is judged by its name behind the proxy, and the proxy then judges the
 * call once more. Under the name of an agent it would be judged as that agent's own tool.
 */
export function serverCall(serverName: string, toolName: string): ToolCall {
  const behind = serverName === OWN_SERVER ? splitName(toolName) : null;
  const call = behind ?? { serverName, toolName };
  if (!isAgent(call.serverName)) return behind === null ? call : { ...call, unsent: true };
  throw new GuardError(
    'invalid_input',
    `The MCP server has the name of an agent (${call.serverName}), so its tools could pass for the agent’s own. Give it another name.`,
  );
}
