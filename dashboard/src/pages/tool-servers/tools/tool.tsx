// One tool of a server: where it stands, what was found in it, what changed, and what it says.

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { lockLine } from '../../../../../src/core/definitions/lock-file.ts';
import { Command } from '../../../components/command.tsx';
import { Lines } from '../../../components/difference.tsx';
import { Signs } from '../../../components/signs.tsx';
import { Badge, Named, Time } from '../../../components/text.tsx';
import { keyName } from '../../../names.ts';
import type { ReviewedTool } from '../../../resources.ts';
import { DefinitionShown } from './definition.tsx';
import { FindingBadges, Findings } from './findings.tsx';
import { changedWord, hasChanged, heldWord, type Ways, waits } from './standing.ts';

interface ToolProps {
  of: ReviewedTool;
  /** The name of its server. */
  server: string;
  ways: Ways | undefined;
  /** It has another definition than when the page first showed it. */
  hasMoved: boolean;
  /** A box that chooses it. */
  choice: ComponentChildren;
  /** What can be done with it. */
  actions: ComponentChildren;
}

export function ToolShown({ of: tool, server, ways, hasMoved, choice, actions }: ToolProps) {
  const isWaiting = waits(tool);
  return (
    <li class={isWaiting ? 'looked waiting' : 'looked'}>
      <header>
        <div class="cluster">
          {choice}
          <h4>
            <code>
              <Signs text={tool.name} />
            </code>
          </h4>
          {hasMoved && <Badge tone="deny">changed while you looked</Badge>}
          <StandingBadge of={tool} />
          <FindingBadges of={tool} />
        </div>
        {actions}
      </header>
      <Standing of={tool} ways={ways} />
      <Says of={tool} open={isWaiting} />
      {isWaiting && typeof ways?.lockFile === 'string' && (
        <Command
          text={lockLine({ server, tool: tool.name, digest: tool.digest })}
          label="Copy the line for the lock file"
        />
      )}
    </li>
  );
}

function StandingBadge({ of: tool }: { of: ReviewedTool }) {
  if (tool.heldFor.length > 0) return <Badge tone="deny">held</Badge>;
  if (hasChanged(tool)) return <Badge tone="pending">changed</Badge>;
  if (tool.accepted === null) return <Badge tone="pending">not accepted</Badge>;
  if (tool.accepted.by === 'first') return <Badge tone="plain">first seen</Badge>;
  return <Badge tone="allow">accepted</Badge>;
}

function Standing({ of: tool, ways }: { of: ReviewedTool; ways: Ways | undefined }) {
  const { accepted, heldFor } = tool;
  return (
    <>
      {accepted !== null && <AcceptedBy of={tool} by={accepted} />}
      {accepted === null && heldFor.length === 0 && <p class="soft">Nobody has accepted this definition.</p>}
      {hasChanged(tool) && ways !== undefined && heldFor.length === 0 && <p>{changedWord(ways)}</p>}
      {heldFor.length > 0 && ways !== undefined && (
        <p>
          Nobody has accepted this definition. Calls of it {heldWord(ways)} for <Keys ids={heldFor} />.
        </p>
      )}
    </>
  );
}

function AcceptedBy({
  of: tool,
  by: { by, at },
}: {
  of: ReviewedTool;
  by: NonNullable<ReviewedTool['accepted']>;
}) {
  const what = hasChanged(tool) ? 'The definition before' : 'This definition';
  const when = at !== null && (
    <>
      , <Time at={at} />
    </>
  );
  if (by === 'first')
    return (
      <p class="soft">
        {what} is the first one that was seen{when}; nobody had to accept it.
      </p>
    );
  return (
    <p class="soft">
      {what} was accepted by {by === 'lock file' ? 'the lock file' : <Named text={by} />}
      {when}.
    </p>
  );
}

const MOST_KEYS = 5;

function Keys({ ids }: { ids: readonly string[] }) {
  const left = ids.length - MOST_KEYS;
  return (
    <>
      {ids.slice(0, MOST_KEYS).map((id, at) => (
        <>
          {at > 0 && ', '}
          <a key={id} href={`/dashboard/keys/${id}`}>
            <Named text={keyName(id)} />
          </a>
        </>
      ))}
      {left > 0 && ` and ${left} more`}
    </>
  );
}

/** What nobody has to look at is made when somebody asks for it. */
function Says({ of: tool, open: fromStart }: { of: ReviewedTool; open: boolean }) {
  const [open, setOpen] = useState(fromStart);
  return (
    <details class="says-itself" open={fromStart} onToggle={event => setOpen(event.currentTarget.open)}>
      <summary>What it says</summary>
      {open && (
        <div class="stack">
          <Findings of={tool} />
          {tool.difference !== null && tool.difference.length > 0 && hasChanged(tool) && (
            <div>
              <h5>What changed</h5>
              <Lines of={tool.difference} />
            </div>
          )}
          <DefinitionShown of={tool.definition} />
        </div>
      )}
    </details>
  );
}
