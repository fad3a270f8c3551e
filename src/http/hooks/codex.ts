// Codex, whose events are those of Claude Code. It takes `allow` and `ask` for invalid and then lets the call through, so
// silence is the only way to allow. The facts are in test/vectors/hooks/codex.

import { type Agent, json, output } from './agent.ts';
import { answerOf, askedBy } from './claude-code.ts';

/** What hooks are told is called Bash is Codex's tool `shell`, whatever shell it runs. */
const SHELL = 'Bash';

export const codex: Agent = {
  name: 'codex',
  asked: event => {
    const asked = askedBy('codex', [SHELL, 'shell', 'apply_patch'], event);
    if (asked?.call.serverName !== 'codex' || asked.call.toolName !== SHELL) return asked;
    return { ...asked, call: { ...asked.call, toolName: 'shell' } };
  },
  speak: (told, event) => (told.decision === 'allow' ? output('') : json(answerOf(told, event))),
};
