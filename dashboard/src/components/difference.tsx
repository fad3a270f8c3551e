// Shows removed and added lines, marked by colour, by sign and in words. Equal lines far from every change are counted.

import { type Line, nearChanges, type Skipped } from '../../../src/core/text/diff.ts';
import { Signs } from './signs.tsx';

const MEANING = { ' ': 'unchanged', '-': 'removed', '+': 'added' } as const;
/** How many equal lines are shown above and below a change. */
const AROUND = 3;

export function Difference({ lines }: { lines: readonly Line[] }) {
  if (lines.every(({ mark }) => mark === ' ')) return <p>Both are the same.</p>;
  return <Lines of={nearChanges(lines, AROUND)} />;
}

/** Lines of which equal ones were left out already. */
export function Lines({ of: lines }: { of: readonly (Line | Skipped)[] }) {
  return (
    <div class="diff">
      {lines.map((line, at) => (
        <Row key={at} line={line} />
      ))}
    </div>
  );
}

function Row({ line }: { line: Line | Skipped }) {
  if (line.mark === '…')
    return (
      <div class="soft">
        <span aria-hidden="true">…</span>
        {line.count === 1 ? '1 equal line' : `${line.count} equal lines`}
      </div>
    );
  return (
    <div class={MEANING[line.mark]}>
      <span aria-hidden="true">{line.mark}</span>
      {line.mark !== ' ' && <span class="unseen">{MEANING[line.mark]}: </span>}
      <code>
        <Signs text={line.text} />
      </code>
    </div>
  );
}
