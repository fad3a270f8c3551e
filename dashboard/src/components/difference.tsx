// Shows removed and added lines, marked by colour, by sign and in words. Equal lines far from every change are counted. Where one
// line took the place of another, the part that differs is marked, and long parts that do not are shortened.

import { changedPart, otherVersions } from '../../../src/core/text/changed-part.ts';
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
  const others = otherVersions(lines);
  return (
    <div class="diff">
      {lines.map((line, at) => (
        <Row key={at} line={line} other={others.get(at) ?? null} />
      ))}
    </div>
  );
}

function Row({ line, other }: { line: Line | Skipped; other: string | null }) {
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
      <code>{other === null ? <Signs text={line.text} /> : <Changed text={line.text} other={other} />}</code>
    </div>
  );
}

function Changed({ text, other }: { text: string; other: string }) {
  const { start, before, end } = changedPart(text, other);
  if (start === '' && end === '') return <Signs text={text} />;
  return (
    <>
      <Same text={start} />
      {before !== '' && (
        <mark>
          <Signs text={before} />
        </mark>
      )}
      <Same text={end} />
    </>
  );
}

/** In UTF-16 units: of a longer text, its beginning and its end are shown, up to a blank. */
const LONG = 300;
const EDGE = 120;

function Same({ text }: { text: string }) {
  const from = text.indexOf(' ', EDGE);
  const to = text.lastIndexOf(' ', text.length - EDGE);
  if (text.length <= LONG || from < 0 || to <= from) return <Signs text={text} />;
  return (
    <>
      <Signs text={text.slice(0, from)} />
      <span class="soft"> [{(to - from).toLocaleString('en')} equal characters] </span>
      <Signs text={text.slice(to)} />
    </>
  );
}
