// Codex, whose events are those of Claude Code. It takes `allow` and `ask` for invalid and then lets the call through, so
// silence is the only way to allow. The facts are in test/vectors/hooks/codex.

import { type AgentDoor, json, namedCall, output } from './agent.ts';
import { answerOf, askedBy } from './claude-code.ts';

/** What hooks are told is called Bash is Codex's tool `shell`, whatever shell it runs. */
const SHELL = 'Bash';

export const codex: AgentDoor = {
  asked: event =>
    askedBy('codex', event, (agent, name) => {
      const call = namedCall(agent, name === SHELL ? 'shell' : name);
      return call.serverName === agent ? call : { ...call, renamed: 'codex' };
    }),
  speak: (told, event) => (told.decision === 'allow' ? output('') : json(answerOf(told, event))),
};
