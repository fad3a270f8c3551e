// GitHub Copilot CLI. Its events have the fields of Claude Code, or the same in camelCase and then without the name of the
// event. Its answers are flat. The facts are in test/vectors/hooks/copilot.

import { AGENTS, eventName } from '../../core/agents.ts';
import type { ToolCall } from '../../core/policy/situation.ts';
import { isObject, type Json, type JsonObject } from '../../core/wire/json.ts';
import {
  type AgentAnswer,
  argumentsIn,
  type HttpDoor,
  inFolder,
  isCall,
  json,
  namedCall,
  textIn,
} from './agent.ts';

const BEFORE = ['PreToolUse', 'preToolUse'];
const PERMISSION = ['PermissionRequest', 'permissionRequest'];

export const copilot: HttpDoor = {
  readCall: event => {
    if (!isCall(nameOf(event), [...BEFORE, ...PERMISSION], AGENTS.copilot)) return null;
    return inFolder('copilot', calledIn(event), event['cwd']);
  },
  nameOf,
  readPrompt: event => event['prompt'],
  readResult: event => ({
    ...inFolder('copilot', calledIn(event), event['cwd']),
    value: resultText(event),
  }),
  // Events of failed calls have no result that could be replaced.
  replace: (event, { text }) =>
    resultText(event) === undefined
      ? null
      : { modifiedResult: { resultType: 'success', textResultForLlm: text } },
  /** If a request for permission gets no decision, Copilot CLI decides by its own rules, which may allow the call. */
  ways: event => (BEFORE.includes(eventName(event, AGENTS.copilot) ?? '') ? ['ask'] : []),
  answer: answerOf,
  speak: (answer, event) => json(answerOf(answer, event)),
  /** Copilot CLI makes the call even after exit code 2 of a hook before a tool, so only an answer refuses it. */
  refuse: (reason, event) => json(answerOf({ decision: 'deny', reason }, event)),
};

export function answerOf(answer: AgentAnswer, event: JsonObject | null): JsonObject {
  const name = event === null ? null : eventName(event, AGENTS.copilot);
  if (name !== null && BEFORE.includes(name)) return beforeUse(answer);
  if (name !== null && PERMISSION.includes(name)) return permission(answer);
  // It is not known which of the two events this is, and each ignores the fields of the other.
  return { ...permission(answer), ...beforeUse(answer) };
}

function calledIn(event: JsonObject): { call: ToolCall; args: JsonObject | undefined } {
  const snake = event['tool_name'] !== undefined;
  const name = textIn(event, snake ? 'tool_name' : 'toolName');
  const camel = event['toolArgs'] === undefined ? 'toolInput' : 'toolArgs';
  const args = argumentsIn(event, snake ? 'tool_input' : camel);
  const call: ToolCall = namedCall('copilot', name);
  // Tools of MCP servers are `<server>-<tool>`.
  if (call.serverName === 'copilot' && name.includes('-')) call.renamed = 'copilot';
  return { call, args };
}

/** What the model is given of a result. */
export function resultText(event: JsonObject): Json | undefined {
  const result = event['tool_result'] ?? event['toolResult'];
  if (!isObject(result)) return undefined;
  const isSuccess = (result['result_type'] ?? result['resultType']) === 'success';
  return isSuccess ? (result['text_result_for_llm'] ?? result['textResultForLlm']) : undefined;
}

/** An event in camelCase does not say its name: it is known by what it has. */
function nameOf(event: JsonObject): string | null {
  const name = eventName(event, AGENTS.copilot);
  if (name !== null || event['error'] !== undefined) return name;
  if (event['toolName'] !== undefined)
    return event['toolResult'] === undefined ? 'preToolUse' : 'postToolUse';
  return event['prompt'] === undefined ? null : 'userPromptSubmitted';
}

const beforeUse = ({ decision, reason }: AgentAnswer): JsonObject => ({
  permissionDecision: decision,
  permissionDecisionReason: reason,
});

function permission({ decision, reason }: AgentAnswer): JsonObject {
  return decision === 'allow' ? { behavior: 'allow' } : { behavior: 'deny', message: reason };
}
