// TOML: our table comes at the end of the file, where it is valid whatever precedes it. The runtime reads TOML but does
// not say where a fault is, so the fault is found by reading beginnings of different lengths.

import { tomlTable } from '../../core/clients/written.ts';
import type { Json } from '../../core/wire/json.ts';
import { type Edit, type Editor, endOfLine } from './editor.ts';
import { Fault } from './fault.ts';

export const tomlEditor: Editor = {
  read,
  put: (text, { at, value }) => {
    if (typeof value !== 'object') return putKey(text, at, value);
    const eol = endOfLine(text);
    const table = tomlTable(at, value).replaceAll('\n', eol);
    const there = tableOf(text, at);
    if (there !== null) return { ...there, inserted: table };
    const inline = new RegExp(`^[ \\t]*${at[0]}[ \\t]*(?:=|\\.[ \\t]*${at[1]}\\b)`, 'm').exec(text);
    if (inline !== null)
      throw new Fault(
        inline.index,
        `"${at[0]}" is not written with a header for each table; make the change by hand`,
      );
    return { at: text.length, removed: '', inserted: joint(text, eol) + table };
  },
  drop: (text, { at, how, value }) => {
    if (typeof value !== 'object') return dropKey(text, at);
    const there = tableOf(text, at) ?? tableOf(text, at, '\\.[^\\]\\n]*');
    if (there === null) throw new Fault(0, `"${at.join('.')}" is not a table of its own; remove it by hand`);
    if (how !== 'drop' || !text.slice(0, there.at).endsWith('\n\n')) return { ...there, inserted: '' };
    // Codex writes a blank line before.
    return { at: there.at - 1, removed: `\n${there.removed}`, inserted: '' };
  },
};

/** One key of a table that may have others. */
function putKey(text: string, at: readonly string[], value: Json): Edit {
  const eol = endOfLine(text);
  const [table, key = ''] = [at.slice(0, -1), at.at(-1)];
  const line = `${key} = ${JSON.stringify(value)}${eol}`;
  const there = tableOf(text, table);
  if (there === null) {
    const header = `[${table.join('.')}]${eol}${line}`;
    return { at: text.length, removed: '', inserted: joint(text, eol) + header };
  }
  const header = /^[^\n]*(?:\n|$)/.exec(there.removed)?.[0] ?? '';
  return {
    at: there.at + header.length,
    removed: '',
    inserted: (header.endsWith('\n') ? '' : eol) + line,
  };
}

function dropKey(text: string, at: readonly string[]): Edit {
  const there = tableOf(text, at.slice(0, -1));
  const line = new RegExp(`^[ \\t]*${at.at(-1)}[ \\t]*=[^\\n]*(?:\\n|$)`, 'm').exec(there?.removed ?? '');
  if (there === null || line === null)
    throw new Fault(0, `"${at.join('.')}" is not a line of its table; remove it by hand`);
  return { at: there.at + line.index, removed: line[0], inserted: '' };
}

/** A blank line between what is there and our table. */
function joint(text: string, eol: string): string {
  if (text.trim() === '') return '';
  if (!text.endsWith('\n')) return eol + eol;
  return /\n\r?\n$/.test(text) ? '' : eol;
}

function read(text: string): Json {
  try {
    return Bun.TOML.parse(text) as Json;
  } catch (error) {
    const message = (error as Error).message.replace(/^TOML Parse error: /, '');
    throw new Fault(offsetOfFault(text), message);
  }
}

/** How many beginnings of a file are read at most, since the runtime reads long ones slowly. */
const MOST_TRIES = 200;
const MAX_TRIED = 50_000;

/** The first line that cannot be read: the one after the longest beginning that can. */
function offsetOfFault(text: string): number {
  if (text.length > MAX_TRIED) return 0;
  const all = [...text.matchAll(/\n/g)].map(({ index }) => index + 1);
  const step = Math.ceil(all.length / MOST_TRIES);
  const ends = all.filter((_, line) => line % step === 0);
  const good = ends.findLast(end => isToml(text.slice(0, end))) ?? 0;
  return good + (/^\s*/.exec(text.slice(good))?.[0].length ?? 0);
}

function isToml(text: string): boolean {
  try {
    Bun.TOML.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The lines of a table: from its header to the next header, blank line or comment. `below` finds one inside of it. */
function tableOf(text: string, at: readonly string[], below = ''): Pick<Edit, 'at' | 'removed'> | null {
  const names = at.map(key => key.replaceAll(/[^\w\s]/g, '\\$&'));
  const parts = names.map(key => `\\s*(?:${key}|"${key}"|'${key}')\\s*`).join('\\.');
  const header = new RegExp(
    `^[ \\t]*\\[${parts}${below}\\][^\\n]*(?:\\n|$)(?:[ \\t]*[^\\s#[][^\\n]*(?:\\n|$))*`,
    'm',
  );
  const match = header.exec(text);
  return match === null ? null : { at: match.index, removed: match[0] };
}
