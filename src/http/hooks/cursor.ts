// Cursor. A shell command and a call of an MCP server each have an event of their own, which is judged; the `preToolUse` of
// the same call is left to them. All other tools are judged by their `preToolUse`, and files that are read without a
// tool by the event for it. The facts are in test/vectors/hooks/cursor.

import { AGENTS, eventName } from '../../core/agents.ts';
import { GuardError } from '../../core/errors.ts';
import { type Json, type JsonObject, MAX_CHECK_VALUES, parseJson } from '../../core/wire/json.ts';
import { type AgentDoor, argumentsIn, inFolder, isCall, json, serverCall, textIn } from './agent.ts';
import type { DoorCall } from './door.ts';

const SHELL = 'beforeShellExecution';
const MCP = 'beforeMCPExecution';
const TOOL = 'preToolUse';
/** Events about one thing each, with our name for it, and the fields that are its arguments. */
interface Single {
  tool: string;
  fields: string[];
}
const SINGLE: Record<string, Single> = {
  [SHELL]: { tool: 'shell', fields: ['command'] },
  beforeReadFile: { tool: 'read_file', fields: ['file_path'] },
  beforeTabFileRead: { tool: 'tab_read_file', fields: ['file_path'] },
  subagentStart: { tool: 'subagent', fields: ['subagent_type', 'task'] },
};
const CALLS = [MCP, TOOL, ...Object.keys(SINGLE)];

export const cursor: AgentDoor = {
  readCall: event => {
    const name = nameOf(event);
    if (!isCall(name, CALLS, AGENTS.cursor)) return null;
    if (name === MCP) return mcpCall(event);
    if (name === TOOL) return toolCall(event);
    return singleCall(SINGLE[name as string] as Single, event);
  },
  readPrompt: event => event['prompt'],
  readResult: event => {
    switch (nameOf(event)) {
      case 'afterMCPExecution':
        return { ...mcpCall(event), value: parsed(event['result_json']) };
      case 'afterShellExecution':
        return { ...singleCall(SINGLE[SHELL] as Single, event), value: event['output'] };
      default: {
        const call = toolCall(event);
        return call === null ? null : { ...call, value: parsed(event['tool_output']) };
      }
    }
  },
  /** Only for these two events can Cursor ask the person. */
  ways: event => ([SHELL, MCP].includes(nameOf(event) ?? '') ? ['ask'] : []),
  speak: ({ decision: permission, reason }) =>
    json(
      permission === 'allow' ? { permission } : { permission, user_message: reason, agent_message: reason },
    ),
};

const nameOf = (event: JsonObject): string | null => eventName(event, AGENTS.cursor);

/** Without the name of its server, a tool could pass for one of another server. */
function mcpCall(event: JsonObject): DoorCall {
  if (typeof event['mcp_server_name'] !== 'string')
    throw new GuardError(
      'invalid_input',
      'This version of Cursor does not say which MCP server the tool belongs to (mcp_server_name), so the call cannot be judged. Update Cursor.',
    );
  const tool = textIn(event, 'tool_name');
  const call = serverCall(event['mcp_server_name'], tool);
  return inFolder('cursor', { call, args: argumentsIn(event, 'tool_input') }, folderIn(event));
}

/** Null for the tools that have an event of their own. */
function toolCall(event: JsonObject): DoorCall | null {
  const tool = textIn(event, 'tool_name');
  if (tool === 'Shell' || tool.startsWith('MCP:')) return null;
  const call = { serverName: 'cursor', toolName: tool };
  return inFolder('cursor', { call, args: argumentsIn(event, 'tool_input') }, folderIn(event));
}

function singleCall({ tool, fields }: Single, event: JsonObject): DoorCall {
  textIn(event, fields[0] as string);
  const given = fields.filter(field => event[field] !== undefined && event[field] !== null);
  const args = Object.fromEntries(given.map(field => [field, event[field]])) as JsonObject;
  return inFolder('cursor', { call: { serverName: 'cursor', toolName: tool }, args }, folderIn(event));
}

/** Results of tools are texts, most of them of JSON, which says whether the call failed. */
function parsed(text: Json | undefined): Json | undefined {
  if (typeof text !== 'string') return text;
  try {
    return parseJson(text, MAX_CHECK_VALUES);
  } catch {
    return text;
  }
}

/** The working folder, or the only folder that is open. */
function folderIn({ cwd, workspace_roots: roots }: JsonObject): Json | undefined {
  if (typeof cwd === 'string') return cwd;
  return Array.isArray(roots) && roots.length === 1 ? roots[0] : null;
}
