// How data is printed: JSON, tables, times. Names come from agents and files, so whatever a reader could not
// see, or a terminal would obey, is written out: as \u{202E} in text, as an equal escape in JSON.

import type { Decision } from '../core/decide.ts';
import { safeJson, visible } from '../core/visible.ts';
import type { Format, IO, Output } from './io.ts';
import { table } from './table.ts';

export function printJson(io: IO, value: unknown): void {
  io.stdout.write(`${safeJson(value, 2)}\n`);
}

export type Column<T> = [heading: string, cell: (item: T, output: Output) => string];

/** A table, or a word that there is nothing to show. */
export function printTable<T>(
  io: IO,
  items: readonly T[],
  columns: readonly Column<T>[],
  nothing: string,
): void {
  if (items.length === 0) {
    io.stderr.write(`${nothing}\n`);
    return;
  }
  const headings = columns.map(([heading]) => io.stdout.style('bold', heading));
  const rows = items.map(item => columns.map(([, cell]) => cell(item, io.stdout)));
  io.stdout.write(table([headings, ...rows]));
}

/** A word as it is typed in a shell. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${visible(word).replaceAll("'", "'\\''")}'`;
}

/** To the second, in UTC, as the API says it. */
export function time(iso: string | null, none = '-'): string {
  return iso === null ? none : iso.replace(/\.\d+Z$/, 'Z');
}

const COLOURS: Record<string, Format> = {
  allow: 'green',
  approved: 'green',
  delivered: 'green',
  deny: 'red',
  denied: 'red',
  failed: 'red',
  pending: 'yellow',
};

/** A decision or a status, in its colour. */
export function word(output: Output, text: Decision | string): string {
  const colour = COLOURS[text];
  return colour === undefined ? visible(text) : output.style(colour, text);
}
