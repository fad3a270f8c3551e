// Grok. It cuts the arguments of large calls off and says so; such a call cannot be judged. The facts are in
// test/vectors/hooks/grok.

import { AGENTS, eventName } from '../../core/agents.ts';
import { GuardError } from '../../core/errors.ts';
import type { JsonObject } from '../../core/wire/json.ts';
import {
  type AgentAnswer,
  argumentsIn,
  extensionCall,
  type HttpDoor,
  inFolder,
  isCall,
  json,
  textIn,
} from './agent.ts';

const CALLS = ['pre_tool_use', 'PreToolUse'];

export const grok: HttpDoor = {
  readCall: event => {
    const name = eventName(event, AGENTS.grok);
    // An event need not say what it is: the only one that asks names a tool.
    const isBare = name === null && event['toolName'] !== undefined;
    if (!isBare && !isCall(name, CALLS, AGENTS.grok)) return null;
    if (event['toolInputTruncated'] === true)
      throw new GuardError(
        'too_large',
        'Grok has cut the arguments of this call off, so they cannot be judged.',
      );
    return inFolder('grok', calledIn(event), event['cwd']);
  },
  readPrompt: event => event['prompt'],
  // It cuts results off as well.
  readResult: event => ({
    ...inFolder('grok', calledIn(event), event['cwd']),
    value: event['toolResultTruncated'] === true ? undefined : event['toolResult'],
  }),
  answer: answerOf,
  speak: answer => json(answerOf(answer)),
};

function calledIn(event: JsonObject) {
  const call = extensionCall('grok', textIn(event, 'toolName'));
  return { call, args: argumentsIn(event, 'toolInput') };
}

function answerOf({ decision, reason }: AgentAnswer): JsonObject {
  return { decision, reason };
}
