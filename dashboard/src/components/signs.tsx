// A text that a stranger wrote and somebody has to judge: every character that is not seen, or passes for another, is a box
// with its number. Line breaks stay, and addresses are no links.

import { type Part, partsOf } from '../../../src/core/definitions/signs.ts';
import { Fold, isLong } from './value.tsx';

export function Signs({ text }: { text: string }) {
  return <bdi class="signs">{partsOf(text).map(shown)}</bdi>;
}

/** A long one is folded. */
export function FoldedSigns({ text }: { text: string }) {
  if (!isLong(text)) return <Signs text={text} />;
  return (
    <Fold text={text} ends={end => <Signs text={end.replaceAll('\n', '⏎ ')} />}>
      <Signs text={text} />
    </Fold>
  );
}

function shown(part: Part) {
  if (typeof part === 'string') return part;
  const { names, count } = part;
  return (
    <>
      {names.map(name => (
        <span class="sign">{name}</span>
      ))}
      {count > names.length && <span class="sign">and {count - names.length} more</span>}
    </>
  );
}
