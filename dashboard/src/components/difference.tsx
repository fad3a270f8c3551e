// Shows removed and added lines, marked by colour, by sign and in words.

import type { Line } from '../../../src/core/diff.ts';
import { visible } from '../../../src/core/visible.ts';

const MEANING = { ' ': 'unchanged', '-': 'removed', '+': 'added' } as const;

export function Difference({ lines }: { lines: readonly Line[] }) {
  if (lines.every(({ mark }) => mark === ' ')) return <p>Both are the same.</p>;
  return (
    <div class="diff">
      {lines.map(({ mark, text }, at) => (
        <div key={at} class={MEANING[mark]}>
          <span aria-hidden="true">{mark}</span>
          {mark !== ' ' && <span class="unseen">{MEANING[mark]}: </span>}
          <code>{visible(text)}</code>
        </div>
      ))}
    </div>
  );
}
