// Codex, whose events are those of Claude Code. It takes `allow` and `ask` for invalid and then lets the call through, so
// silence is the only way to allow. The facts are in test/vectors/hooks/codex.

import type { AgentName } from '../../core/agents.ts';
import type { ToolCall } from '../../core/policy/situation.ts';
import { type AgentDoor, json, namedCall, output } from './agent.ts';
import { answerOf, callInEvent, promptInEvent, resultInEvent } from './claude-code.ts';

/** In events for hooks, Codex calls its tool `shell` by this name, whichever shell it runs. */
const SHELL = 'Bash';

export const codex: AgentDoor = {
  readCall: event => callInEvent('codex', event, callOf),
  readPrompt: promptInEvent,
  readResult: event => resultInEvent('codex', event, callOf),
  // It takes no other output, but gives the model the reason of a hook that blocks in the place of the result.
  replace: (_, { text }) => ({ decision: 'block', reason: text }),
  speak: (answer, event) => (answer.decision === 'allow' ? output('') : json(answerOf(answer, event))),
};

function callOf(agent: AgentName, name: string): ToolCall {
  const call = namedCall(agent, name === SHELL ? 'shell' : name);
  return call.serverName === agent ? call : { ...call, renamed: 'codex' };
}
