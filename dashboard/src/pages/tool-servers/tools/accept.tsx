// The button that accepts definitions of tools. It accepts what was shown when it was pressed, and nothing that came after.

import { useState } from 'preact/hooks';
import { announce } from '../../../announce.ts';
import { post, Refusal } from '../../../api.ts';
import { FormDialog } from '../../../components/dialog.tsx';
import { Signs } from '../../../components/signs.tsx';
import type { ReviewedTool } from '../../../resources.ts';
import { FindingBadges } from './findings.tsx';

interface AcceptProps {
  label: string;
  /** The path of the tool server, or of the Connected Tool. */
  path: string;
  tools: readonly ReviewedTool[];
  plain?: boolean;
  onAccepted: (tools: readonly ReviewedTool[]) => void;
  /** Nothing was accepted, because a tool has another definition now. */
  onRefused: (error: Refusal) => void;
}

/** The most that one request accepts. */
const AT_ONCE = 1000;

export function Accept({ label, path, tools, plain = false, onAccepted, onRefused }: AcceptProps) {
  const [asked, setAsked] = useState<readonly ReviewedTool[] | null>(null);
  const accept = async () => {
    const given = asked ?? [];
    try {
      const lookedAt = given.map(({ name, digest }) => ({ name, digest }));
      for (let from = 0; from < lookedAt.length; from += AT_ONCE)
        await post(`${path}/accept`, { tools: lookedAt.slice(from, from + AT_ONCE) });
    } catch (error) {
      if (!(error instanceof Refusal) || error.status !== 409) throw error;
      onRefused(error);
      return;
    }
    announce(given.length === 1 ? `Accepted: ${given[0]?.name}` : `Accepted: ${given.length} tools`);
    onAccepted(given);
  };
  const shown = asked ?? [];
  return (
    <>
      <button type="button" class={plain ? 'plain small' : 'small'} onClick={() => setAsked(tools)}>
        {label}
      </button>
      <FormDialog
        title={shown.length === 1 ? 'Accept this definition?' : `Accept ${shown.length} definitions?`}
        open={asked !== null}
        onClose={() => setAsked(null)}
        action="Accept"
        submit={accept}
      >
        <div class="stack">
          <p>
            Calls of {shown.length === 1 ? 'this tool' : 'these tools'} are then decided by the policies
            alone, for every key that uses the server, until the definition changes again.
          </p>
          <Asked tools={shown} />
        </div>
      </FormDialog>
    </>
  );
}

/** Those in which something was found come first. */
const MOST_LISTED = 30;

function Asked({ tools }: { tools: readonly ReviewedTool[] }) {
  const sorted = tools.toSorted((a, b) => b.findings.length - a.findings.length);
  const left = sorted.length - MOST_LISTED;
  return (
    <ul class="plain-list">
      {sorted.slice(0, MOST_LISTED).map(tool => (
        <li key={tool.name} class="cluster">
          <code>
            <Signs text={tool.name} />
          </code>
          <FindingBadges of={tool} />
        </li>
      ))}
      {left > 0 && <li class="soft">and {left} more</li>}
    </ul>
  );
}
