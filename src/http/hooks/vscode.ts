// The agent in Visual Studio Code, which speaks like Claude Code. The facts are in test/vectors/hooks/vscode.

import { type Agent, json } from './agent.ts';
import { answerOf, askedBy } from './claude-code.ts';

export const vscode: Agent = {
  name: 'vscode',
  asked: event => askedBy('vscode', ['run_in_terminal', 'runTerminalCommand'], event),
  ways: () => ['ask'],
  speak: (told, event) => json(answerOf(told, event)),
};
