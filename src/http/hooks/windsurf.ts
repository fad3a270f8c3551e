// Windsurf, whose Cascade only understands exit code 2. The facts are in test/vectors/hooks/windsurf.

import { AGENTS, eventName } from '../../core/agents.ts';
import { invalidInput } from '../../core/errors.ts';
import { isObject, type JsonObject } from '../../core/wire/json.ts';
import {
  type AgentDoor,
  argumentsIn,
  blocked,
  inFolder,
  isCall,
  output,
  serverCall,
  textIn,
} from './agent.ts';
import type { DoorCall } from './door.ts';

const COMMAND = 'pre_run_command';
const MCP = 'pre_mcp_tool_use';
const CALLS = [COMMAND, MCP, 'pre_read_code', 'pre_write_code'];

export const windsurf: AgentDoor = {
  readCall: event => {
    const name = eventName(event, AGENTS.windsurf);
    if (!isCall(name, CALLS, AGENTS.windsurf)) return null;
    const about = aboutOf(event);
    if (name === MCP) return mcpCall(about);
    const call = { serverName: 'windsurf', toolName: (name as string).slice('pre_'.length) };
    if (name !== COMMAND) return inFolder('windsurf', { call, args: about }, null);
    const { cwd, ...args } = about;
    textIn(args, 'command_line');
    return inFolder('windsurf', { call, args }, cwd);
  },
  readPrompt: event => aboutOf(event)['user_prompt'],
  readResult: event => ({ ...mcpCall(aboutOf(event)), value: aboutOf(event)['mcp_result'] }),
  speak: ({ decision, reason }) => (decision === 'allow' ? output('') : blocked(reason)),
};

function aboutOf({ tool_info: about }: JsonObject): JsonObject {
  if (isObject(about)) return about;
  throw invalidInput([{ path: '/tool_info', message: 'must be an object' }]);
}

function mcpCall(about: JsonObject): DoorCall {
  const call = serverCall(textIn(about, 'mcp_server_name'), textIn(about, 'mcp_tool_name'));
  return inFolder('windsurf', { call, args: argumentsIn(about, 'mcp_tool_arguments') }, null);
}
