// The agent in Visual Studio Code, which speaks like Claude Code. Copilot CLI runs the hooks that are set up for it and wants
// flat answers, so both shapes are given. The facts are in test/vectors/hooks/vscode.

import { type AgentDoor, json, namedCall } from './agent.ts';
import { answerOf, callInEvent } from './claude-code.ts';
import { answerOf as flatAnswer } from './copilot.ts';

export const vscode: AgentDoor = {
  readCall: event =>
    callInEvent('vscode', event, (agent, name) => {
      const call = namedCall(agent, name);
      return name.startsWith('mcp_') ? { ...call, renamed: 'vscode' } : call;
    }),
  ways: () => ['ask'],
  speak: (answer, event) => json({ ...answerOf(answer, event), ...flatAnswer(answer, event) }),
};
