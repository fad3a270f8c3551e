// Goose, whose tools are named `<extension>__<tool>`, or only by the tool if they are its own. The facts are in
// test/vectors/hooks/goose.

import {
  type Agent,
  argumentsIn,
  eventName,
  extensionCall,
  inFolder,
  isCall,
  json,
  output,
  textIn,
} from './agent.ts';

const OTHERS = [
  'SessionStart',
  'SessionEnd',
  'Stop',
  'UserPromptSubmit',
  'PreToolUseResult',
  'PostToolUse',
  'PostToolUseFailure',
  'AfterFileEdit',
  'AfterShellExecution',
];

export const goose: Agent = {
  name: 'goose',
  asked: event => {
    if (!isCall(eventName(event, 'event', 'hook_event_name'), ['PreToolUse'], OTHERS)) return null;
    const name = textIn(event, 'tool_name');
    const args = argumentsIn(event, 'tool_input');
    return inFolder('goose', { call: extensionCall('goose', name), args }, event['working_dir'], name);
  },
  speak: ({ decision, reason }) => (decision === 'allow' ? output('') : json({ decision: 'block', reason })),
};
