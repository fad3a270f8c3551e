// GitHub Copilot CLI. Its events have the fields of Claude Code, or the same in camelCase and then without the name of the
// event. Its answers are flat. The facts are in test/vectors/hooks/copilot.

import { AGENTS, eventName } from '../../core/agents.ts';
import type { ToolCall } from '../../core/policy/situation.ts';
import type { JsonObject } from '../../core/wire/json.ts';
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
    const snake = event['tool_name'] !== undefined;
    const name = textIn(event, snake ? 'tool_name' : 'toolName');
    const camel = event['toolArgs'] === undefined ? 'toolInput' : 'toolArgs';
    const args = argumentsIn(event, snake ? 'tool_input' : camel);
    const call: ToolCall = namedCall('copilot', name);
    // Tools of MCP servers are `<server>-<tool>`.
    if (call.serverName === 'copilot' && name.includes('-')) call.renamed = 'copilot';
    return inFolder('copilot', { call, args }, event['cwd']);
  },
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

/** An event in camelCase that names a tool and no result of it is the one before the tool is used. */
function nameOf(event: JsonObject): string | null {
  const name = eventName(event, AGENTS.copilot);
  const isBefore =
    event['toolName'] !== undefined && event['toolResult'] === undefined && event['error'] === undefined;
  return name ?? (isBefore ? 'preToolUse' : null);
}

const beforeUse = ({ decision, reason }: AgentAnswer): JsonObject => ({
  permissionDecision: decision,
  permissionDecisionReason: reason,
});

function permission({ decision, reason }: AgentAnswer): JsonObject {
  return decision === 'allow' ? { behavior: 'allow' } : { behavior: 'deny', message: reason };
}
