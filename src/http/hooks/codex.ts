// Codex, whose events are those of Claude Code. It takes `allow` and `ask` for invalid and then lets the call through, so
// silence is the only way to allow. The facts are in test/vectors/hooks/codex.

import { type AgentDoor, json, namedCall, output } from './agent.ts';
import { answerOf, callInEvent } from './claude-code.ts';

/** In events for hooks, Codex calls its tool `shell` by this name, whichever shell it runs. */
const SHELL = 'Bash';

export const codex: AgentDoor = {
  readCall: event =>
    callInEvent('codex', event, (agent, name) => {
      const call = namedCall(agent, name === SHELL ? 'shell' : name);
      return call.serverName === agent ? call : { ...call, renamed: 'codex' };
    }),
  speak: (answer, event) => (answer.decision === 'allow' ? output('') : json(answerOf(answer, event))),
};
