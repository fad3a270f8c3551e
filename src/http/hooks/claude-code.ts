// Claude Code, and the agents that speak like it: Qwen Code and Qoder. The facts are in test/vectors/hooks/claude-code.

import { AGENTS, type AgentName, eventName } from '../../core/agents.ts';
import type { Json, JsonObject } from '../../core/wire/json.ts';
import {
  type AgentAnswer,
  argumentsIn,
  type HttpDoor,
  inFolder,
  isCall,
  json,
  namedCall,
  type Replacement,
  type Returned,
  textIn,
} from './agent.ts';
import type { DoorCall } from './door.ts';

const CALLS = ['PreToolUse', 'PermissionRequest'];

export const claudeCode: HttpDoor = {
  readCall: event => callInEvent('claude-code', event),
  readPrompt: promptInEvent,
  readResult: event => resultInEvent('claude-code', event),
  replace: replaced,
  ways: event => (isPermission(event) ? ['ask'] : ['ask', 'defer']),
  answer: answerOf,
  speak: (answer, event) => json(answerOf(answer, event)),
};

export function answerOf(answer: AgentAnswer, event: JsonObject | null): JsonObject {
  return isPermission(event) ? permission(answer) : beforeUse(answer);
}

/**
 * The call of an event in the shape of Claude Code, of which other agents made theirs. `callOf` says which call a name
 * stands for.
 */
export function callInEvent(agent: AgentName, event: JsonObject, callOf = namedCall): DoorCall | null {
  if (!isCall(nameOf(event), CALLS, AGENTS['claude-code'])) return null;
  return inFolder(agent, calledInEvent(agent, event, callOf), event['cwd']);
}

export function resultInEvent(agent: AgentName, event: JsonObject, callOf = namedCall): Returned {
  return {
    ...inFolder(agent, calledInEvent(agent, event, callOf), event['cwd']),
    value: event['tool_response'],
  };
}

export function promptInEvent(event: JsonObject): Json | undefined {
  return event['prompt'];
}

/** A call that failed has no result that can be replaced. A result of its own tools is only replaced by one of the same shape. */
function replaced(event: JsonObject, { value }: Replacement): JsonObject | null {
  if (nameOf(event) !== 'PostToolUse') return null;
  const isOfServer = typeof event['tool_name'] === 'string' && event['tool_name'].startsWith('mcp__');
  const field = isOfServer ? 'updatedMCPToolOutput' : 'updatedToolOutput';
  return { hookSpecificOutput: { hookEventName: 'PostToolUse', [field]: value } };
}

function calledInEvent(agent: AgentName, event: JsonObject, callOf: typeof namedCall) {
  return { call: callOf(agent, textIn(event, 'tool_name')), args: argumentsIn(event, 'tool_input') };
}

const nameOf = (event: JsonObject): string | null => eventName(event, AGENTS['claude-code']);

function isPermission(event: JsonObject | null): boolean {
  return event !== null && nameOf(event) === 'PermissionRequest';
}

function beforeUse({ decision, reason }: AgentAnswer): JsonObject {
  return {
    hookSpecificOutput: {
      hookEventName: 'PreToolUse',
      permissionDecision: decision,
      permissionDecisionReason: reason,
    },
  };
}

/** Without a decision its dialog appears, in which the person at the terminal decides. */
function permission({ decision, reason }: AgentAnswer): JsonObject {
  if (decision === 'ask') return {};
  const answer = decision === 'allow' ? { behavior: 'allow' } : { behavior: 'deny', message: reason };
  return { hookSpecificOutput: { hookEventName: 'PermissionRequest', decision: answer } };
}
