// Goose, whose tools are named `<extension>__<tool>`, or only by the tool if they are its own. The facts are in
// test/vectors/hooks/goose.

import { AGENTS, eventName } from '../../core/agents.ts';
import {
  type AgentDoor,
  argumentsIn,
  extensionCall,
  inFolder,
  isCall,
  json,
  output,
  textIn,
} from './agent.ts';

export const goose: AgentDoor = {
  readCall: event => {
    if (!isCall(eventName(event, AGENTS.goose), ['PreToolUse'], AGENTS.goose)) return null;
    const name = textIn(event, 'tool_name');
    const args = argumentsIn(event, 'tool_input');
    return inFolder('goose', { call: extensionCall('goose', name), args }, event['working_dir'], name);
  },
  speak: ({ decision, reason }) => (decision === 'allow' ? output('') : json({ decision: 'block', reason })),
};
