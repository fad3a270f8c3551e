// Prints data: JSON, tables, times. Names come from agents and files, so characters that a reader cannot see or that a
// terminal would interpret are written out: as \u{202E} in text, as an equivalent escape in JSON.

import type { Decision } from '../core/decision/decide.ts';
import { safeJson, visible } from '../core/text/visible.ts';
import type { Format, IO, Output } from './io.ts';
import { table } from './table.ts';

export function printJson(io: IO, value: unknown): void {
  io.stdout.write(`${safeJson(value, 2)}\n`);
}

export type Column<T> = [heading: string, cell: (item: T, output: Output) => string];

/** Prints a table, or a message when it would be empty. */
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

/** A time from the API, shortened to seconds. */
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
  failing: 'red',
  pending: 'yellow',
};

/** A decision or a status, in its colour. */
export function word(output: Output, text: Decision | string): string {
  const colour = COLOURS[text];
  return colour === undefined ? visible(text) : output.style(colour, text);
}
