// A value that somebody else chose, apart from the words of the interface: in a fixed-width font, with colours where its
// language is known, isolated, and with invisible characters written out. A long one is folded, with its length.

import { languageOf, partsOf } from '../../../src/core/text/colours.ts';
import { visible, visibleLines } from '../../../src/core/text/visible.ts';

interface ValueProps {
  path: string;
  text: string;
}

/** What is short enough to be shown as it is. */
export function Value({ path, text }: ValueProps) {
  return <Coloured path={path} text={text} shown={visibleLines(text)} />;
}

/** In UTF-16 units, and in lines: a longer value is folded. */
const LONG = 500;
const MANY_LINES = 20;
/** What a fold shows of the beginning and of the end. */
const BEGINNING = 240;
const END = 120;

/** All of the value. */
export function WholeValue({ path, text }: ValueProps) {
  const lines = text.split('\n');
  if (text.length <= LONG && lines.length <= MANY_LINES) return <Value path={path} text={text} />;
  const shown = lines.map(visible).join('\n');
  return (
    <details class="fold">
      <summary>
        <span class="fold-length">
          {text.length.toLocaleString('en')} characters
          {lines.length > 1 && `, ${lines.length.toLocaleString('en')} lines`}
        </span>
        <bdi class="fold-ends mono">
          {inOneLine(text.slice(0, BEGINNING))}
          <span class="fold-gap"> … </span>
          {inOneLine(text.slice(-END))}
        </bdi>
      </summary>
      <Coloured path={path} text={text} shown={shown} />
    </details>
  );
}

/** Line breaks are shown as a sign, since a fold takes little room. */
const inOneLine = (text: string): string => text.toWellFormed().split('\n').map(visible).join('⏎ ');

function Coloured({ path, text, shown }: ValueProps & { shown: string }) {
  return (
    <bdi class="value">
      {partsOf(shown, languageOf(path, text)).map(({ text: part, kind }) =>
        kind === null ? part : <span class={`v-${kind}`}>{part}</span>,
      )}
    </bdi>
  );
}
