// The tools that a server offers: what the key's policy says about each, in a word and a colour, and which of them changed.

import type { Outlook } from '../../../../src/core/foresight/outlook.ts';
import { Named } from '../../components/text.tsx';
import type { ConnectedTool } from '../../resources.ts';
import { isReachable } from './contact.ts';
import type { Foresee } from './foresee.ts';

const WORDS: Record<Outlook, string> = {
  allow: 'allowed',
  pending: 'asks',
  deny: 'denied',
  depends: 'depends',
};

export function Tools({ of: server, outlook }: { of: ConnectedTool; outlook: Foresee | null }) {
  if (server.tools.length === 0) {
    const how = isReachable(server) ? 'test it, or let a client connect.' : 'somebody has to sign in first.';
    return <p class="soft">Its tools are not known yet: {how}</p>;
  }
  const tools = server.tools.map(tool => ({ ...tool, says: outlook?.(server.name, tool.name) ?? null }));
  return (
    <>
      <ul class="cluster">
        {tools.map(({ name, drifted, says }) => (
          <li key={name} class={drifted ? 'chip parted drifted' : 'chip parted'}>
            <code>
              <Named text={name} />
            </code>
            {says !== null && <span class={`says ${says}`}>{WORDS[says]}</span>}
            {drifted && <span class="says pending">changed</span>}
          </li>
        ))}
      </ul>
      {tools.some(({ says }) => says === 'depends') && (
        <p class="hint">
          “{WORDS.depends}”: the policy decides each call by its arguments, its caller, the time or a limit.
        </p>
      )}
    </>
  );
}
