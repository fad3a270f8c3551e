// Gemini CLI. Its names of MCP tools, `mcp_<server>_<tool>`, can be read in several ways if the server's name has an
// underscore, so the server is taken from `mcp_context`, which Gemini CLI sends beside the name. Only where that is
// missing is the name read as Gemini CLI itself reads it: up to the first underscore. The facts are in
// test/vectors/hooks/gemini-cli.

import { AGENTS, eventName } from '../../core/agents.ts';
import { GuardError } from '../../core/errors.ts';
import type { ToolCall } from '../../core/policy/situation.ts';
import { isObject, type JsonObject } from '../../core/wire/json.ts';
import { type AgentDoor, argumentsIn, inFolder, isCall, json, serverCall, textIn } from './agent.ts';

export const geminiCli: AgentDoor = {
  readCall: event => {
    if (!isCall(eventName(event, AGENTS['gemini-cli']), ['BeforeTool'], AGENTS['gemini-cli'])) return null;
    return inFolder('gemini-cli', calledIn(event), event['cwd']);
  },
  readPrompt: event => event['prompt'],
  readResult: event => {
    const response = event['tool_response'];
    const isWhole = isObject(response) && (response['error'] ?? null) === null;
    const called = inFolder('gemini-cli', calledIn(event), event['cwd']);
    const shown = isObject(response) ? response['llmContent'] : undefined;
    return { ...called, value: isWhole ? shown : undefined, shown };
  },
  replace: (_, { text }) => ({ decision: 'deny', reason: text }),
  // Gemini CLI could also ask the person, but if nobody is there (`gemini -p`) it waits forever, and its event does not
  // say so.
  speak: ({ decision, reason }) => json(decision === 'allow' ? { decision } : { decision, reason }),
};

function calledIn(event: JsonObject) {
  const call = callOf(event, textIn(event, 'tool_name'));
  return { call, args: argumentsIn(event, 'tool_input') };
}

function callOf(event: JsonObject, name: string): ToolCall {
  const context = event['mcp_context'];
  if (isObject(context)) return serverCall(textIn(context, 'server_name'), textIn(context, 'tool_name'));
  if (!name.startsWith('mcp_')) return { serverName: 'gemini-cli', toolName: name };
  const parts = /^mcp_([^_]+)_(.+)$/s.exec(name);
  if (parts === null)
    throw new GuardError('invalid_input', 'The name of this tool does not say which server it belongs to.');
  return serverCall(parts[1] as string, parts[2] as string);
}
