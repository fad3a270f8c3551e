// The question whether to accept definitions of tools. What is accepted is what was shown when somebody asked for it, and
// nothing that came after, even if the page behind the question shows it already.

import { announce } from '../../../announce.ts';
import { post, Refusal } from '../../../api.ts';
import { FormDialog } from '../../../components/dialog.tsx';
import { Signs } from '../../../components/signs.tsx';
import type { ReviewedTool } from '../../../resources.ts';
import { FindingBadges } from './findings.tsx';

interface AcceptProps {
  /** The path of the tool server, or of the Connected Tool. */
  path: string;
  /** Null while nothing is asked. */
  asked: readonly ReviewedTool[] | null;
  onClose: () => void;
  onAccepted: (tools: readonly ReviewedTool[]) => void;
  /** Nothing was accepted, because a tool has another definition now. */
  onRefused: (error: Refusal) => void;
}

/** The most that one request accepts. */
const AT_ONCE = 1000;

export function Accept({ path, asked, onClose, onAccepted, onRefused }: AcceptProps) {
  const tools = asked ?? [];
  const accept = async () => {
    try {
      const lookedAt = tools.map(({ name, digest }) => ({ name, digest }));
      for (let from = 0; from < lookedAt.length; from += AT_ONCE)
        await post(`${path}/accept`, { tools: lookedAt.slice(from, from + AT_ONCE) });
    } catch (error) {
      if (!(error instanceof Refusal) || error.status !== 409) throw error;
      onRefused(error);
      return;
    }
    announce(tools.length === 1 ? `Accepted: ${tools[0]?.name}` : `Accepted: ${tools.length} tools`);
    onAccepted(tools);
  };
  return (
    <FormDialog
      title={tools.length === 1 ? 'Accept this definition?' : `Accept ${tools.length} definitions?`}
      open={asked !== null}
      onClose={onClose}
      action="Accept"
      submit={accept}
    >
      <div class="stack">
        <p>
          Calls of {tools.length === 1 ? 'this tool' : 'these tools'} are then decided by the policies alone,
          for every key that uses the server, until the definition changes again.
        </p>
        <Asked tools={tools} />
      </div>
    </FormDialog>
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
