// A value that somebody else chose, apart from the words of the interface: in a fixed-width font, with colours where its
// language is known, isolated, and with invisible characters written out. A long one is folded, with its length.

import type { ComponentChildren } from 'preact';
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
  if (!isLong(text)) return <Value path={path} text={text} />;
  const shown = text.split('\n').map(visible).join('\n');
  return (
    <Fold text={text} ends={inOneLine}>
      <Coloured path={path} text={text} shown={shown} />
    </Fold>
  );
}

export const isLong = (text: string): boolean =>
  text.length > LONG || text.split('\n', MANY_LINES + 1).length > MANY_LINES;

interface FoldProps {
  text: string;
  /** How the beginning and the end are shown. */
  ends: (text: string) => ComponentChildren;
  /** The whole text. */
  children: ComponentChildren;
}

/** A long text, of which the beginning and the end are shown until somebody unfolds it. */
export function Fold({ text, ends, children }: FoldProps) {
  const lines = text.split('\n').length;
  return (
    <details class="fold">
      <summary>
        <span class="fold-length">
          {text.length.toLocaleString('en')} characters
          {lines > 1 && `, ${lines.toLocaleString('en')} lines`}
        </span>
        <bdi class="fold-ends mono">
          {ends(text.slice(0, BEGINNING).toWellFormed())}
          <span class="fold-gap"> … </span>
          {ends(text.slice(-END).toWellFormed())}
        </bdi>
      </summary>
      {children}
    </details>
  );
}

/** Line breaks are shown as a sign, since a fold takes little room. */
const inOneLine = (text: string): string => text.split('\n').map(visible).join('⏎ ');

function Coloured({ path, text, shown }: ValueProps & { shown: string }) {
  return (
    <bdi class="value">
      {partsOf(shown, languageOf(path, text)).map(({ text: part, kind }) =>
        kind === null ? part : <span class={`v-${kind}`}>{part}</span>,
      )}
    </bdi>
  );
}
