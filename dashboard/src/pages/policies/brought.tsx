// What the agent would get of a result that was pasted: what became of it, and its text, in which hidden parts stand out.

import { shownResult, type TriedResult } from '../../../../src/core/decision/simulate-result.ts';
import { outcomeText } from '../../../../src/core/results/outcome-text.ts';
import { visibleLines } from '../../../../src/core/text/visible.ts';
import { Badge } from '../../components/text.tsx';

export function Brought({ of: brought }: { of: TriedResult | null }) {
  if (brought === null) return <p class="soft">The call is denied, so it brings no result back.</p>;
  const { result, outcome, marks } = brought;
  return (
    <section class="brought" aria-label="What the agent gets">
      <p>
        <span class="soft">The agent gets:</span> <Badge tone={toneOf(brought)}>{outcomeText(outcome)}</Badge>
      </p>
      <pre class="mono">{pieces(brought, shortened(shownResult(result)))}</pre>
      {marks.length > 0 && <p class="soft">The run is marked: {marks.join(', ')}.</p>}
    </section>
  );
}

function toneOf({ outcome: { hidden, withheld, cut } }: TriedResult) {
  if (withheld) return 'deny';
  return cut || Object.keys(hidden).length > 0 ? 'pending' : 'allow';
}

/** More than this makes a page slow, and nobody reads it. */
const MOST_SHOWN = 5_000;

const shortened = (text: string): string =>
  text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}… (${text.length} characters)` : text;

/** Only where something was hidden under a name does its placeholder stand out. */
function pieces({ outcome: { hidden, cut } }: TriedResult, text: string) {
  const parts = text.split(/(\[hidden: [a-z0-9_]+\]|\[cut: [0-9]+ of [0-9]+ bytes left out\])/);
  const isOurs = (part: string) =>
    part.startsWith('[cut: ') ? cut : Object.keys(hidden).some(name => part === `[hidden: ${name}]`);
  return parts.map((part, at) =>
    at % 2 === 1 && isOurs(part) ? <mark>{part}</mark> : <bdi>{visibleLines(part, MOST_SHOWN)}</bdi>,
  );
}
