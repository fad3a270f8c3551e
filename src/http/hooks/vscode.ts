// The agent in Visual Studio Code, which speaks like Claude Code. Copilot CLI runs the hooks that are set up for it and wants
// flat answers, so both shapes are given. The facts are in test/vectors/hooks/vscode.

import type { AgentName } from '../../core/agents.ts';
import type { ToolCall } from '../../core/policy/situation.ts';
import { type AgentDoor, json, namedCall } from './agent.ts';
import { answerOf, callInEvent, promptInEvent, resultInEvent } from './claude-code.ts';
import { answerOf as flatAnswer, resultText } from './copilot.ts';

export const vscode: AgentDoor = {
  readCall: event => callInEvent('vscode', event, callOf),
  readPrompt: promptInEvent,
  readResult: event => {
    const returned = resultInEvent('vscode', event, callOf);
    return { ...returned, value: returned.value ?? resultText(event) };
  },
  ways: () => ['ask'],
  speak: (answer, event) => json({ ...answerOf(answer, event), ...flatAnswer(answer, event) }),
};

function callOf(agent: AgentName, name: string): ToolCall {
  const call = namedCall(agent, name);
  return name.startsWith('mcp_') ? { ...call, renamed: 'vscode' } : call;
}
