// Markdown for comments on pull requests. Agents choose the names of tools and keys, so nothing of a name may be read as
// Markdown, as HTML or as a mention of a person.

import { visible } from '../core/text/visible.ts';

const MOST_CHARACTERS = 80;
/** None of these characters has a meaning inside backticks or in a table. */
const PLAIN = /^[\w.:/-]+$/;

/** A name as code. What is not an ordinary name has each character that might mean something written as a number. */
export function codeOf(name: string): string {
  const characters = [...visible(name)];
  const isLong = characters.length > MOST_CHARACTERS;
  const short = characters.slice(0, MOST_CHARACTERS).join('') + (isLong ? '…' : '');
  if (PLAIN.test(short)) return `\`${short}\``;
  return `<code>${short.replace(/[^A-Za-z0-9 ]/gu, each => `&#${each.codePointAt(0)};`)}</code>`;
}

/** A table; the cells are Markdown already. */
export function markdownTable(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |\n`;
  return [headings, headings.map(() => '---'), ...rows].map(line).join('');
}
