// YAML: our entry comes first in its mapping, on the line after the name of that mapping, because where a mapping ends
// is harder to say than where it begins. The library says where things are; the text is changed by us, since the
// library would lay it out anew.

import { isMap, isScalar, type Pair, parseDocument, type Scalar, type YAMLMap } from 'yaml';
import { yamlBlock } from '../../core/clients/written.ts';
import type { Json } from '../../core/wire/json.ts';
import { type Edit, type Editor, endOfLine } from './editor.ts';
import { Fault } from './fault.ts';

export const yamlEditor: Editor = {
  read: text => (parsed(text).toJS() ?? {}) as Json,
  put: (text, { at, value }) => {
    const [parent, name] = at as [string, string];
    const root = rootOf(text);
    const pair = root === null ? undefined : pairOf(root, parent);
    const lines = (indent: string) => yamlBlock({ [name]: value }, indent).replaceAll('\n', endOfLine(text));
    if (pair === undefined) return append(text, root, parent, lines);
    const map = pair.value;
    if (isMap(map) && !map.flow && map.items.length > 0) {
      const there = pairOf(map as YAMLMap, name);
      const indent = indentOf(text, map.items[0] as Pair);
      if (there !== undefined) return { ...linesOf(text, there), inserted: lines(indent) };
      return under(text, startOf(pair), indent, lines);
    }
    const indent = `${indentOf(text, pair)}  `;
    if (isScalar(map) && map.value === null && map.source === '')
      return under(text, startOf(pair), indent, lines);
    if (pair.value === null) return under(text, startOf(pair), indent, lines);
    if (isMap(map) && map.items.length === 0) return insteadOfBraces(text, pair, indent, lines);
    throw new Fault(
      startOf(pair),
      `"${parent}" is not a mapping with a line for each entry; make the change by hand`,
    );
  },
  drop: (text, { at }) => {
    const map = pairOf(rootOf(text) as YAMLMap, at[0] as string)?.value as YAMLMap;
    if (map.flow) throw new Fault(map.range?.[0] ?? 0, `"${at[0]}" is in braces; remove "${at[1]}" by hand`);
    return { ...linesOf(text, pairOf(map, at[1] as string) as Pair), inserted: '' };
  },
};

function parsed(text: string) {
  const document = parseDocument(text, { prettyErrors: false });
  const [error] = document.errors;
  if (error !== undefined) throw new Fault(error.pos[0], error.message);
  return document;
}

function rootOf(text: string): YAMLMap | null {
  const { contents } = parsed(text);
  if (contents === null || (isScalar(contents) && contents.value === null)) return null;
  if (isMap(contents) && !contents.flow) return contents as YAMLMap;
  throw new Fault(contents.range?.[0] ?? 0, 'the file is not a mapping with a line for each entry');
}

function pairOf(map: YAMLMap, key: string): Pair | undefined {
  return map.items.find(pair => isScalar(pair.key) && pair.key.value === key);
}

function startOf(pair: Pair): number {
  return (pair.key as Scalar).range?.[0] ?? 0;
}

function indentOf(text: string, pair: Pair): string {
  const start = startOf(pair);
  return text.slice(text.lastIndexOf('\n', start - 1) + 1, start);
}

type Lines = (indent: string) => string;

/** At the end of the file, with the name of the mapping. */
function append(text: string, root: YAMLMap | null, parent: string, lines: Lines): Edit {
  const eol = endOfLine(text);
  const first = root?.items[0];
  const indent = first === undefined ? '' : indentOf(text, first);
  const joint = text === '' || text.endsWith('\n') ? '' : eol;
  return {
    at: text.length,
    removed: '',
    inserted: `${joint}${indent}${parent}:${eol}${lines(`${indent}  `)}`,
  };
}

/** On the line after the one that a position is in. */
function under(text: string, position: number, indent: string, lines: Lines): Edit {
  const next = text.indexOf('\n', position) + 1;
  if (next > 0) return { at: next, removed: '', inserted: lines(indent) };
  const eol = endOfLine(text);
  return { at: text.length, removed: '', inserted: eol + lines(indent).slice(0, -eol.length) };
}

/** `{}` goes, and a comment behind it stays on its line. */
function insteadOfBraces(text: string, pair: Pair, indent: string, lines: Lines): Edit {
  const [from = 0, to = 0] = (pair.value as YAMLMap).range ?? [];
  const start = text.slice(0, from).trimEnd().length;
  const newline = text.indexOf('\n', to);
  const end = newline < 0 ? text.length : newline + 1;
  const rest = text.slice(to, end);
  const eol = endOfLine(text);
  const inserted = newline < 0 ? rest + eol + lines(indent).slice(0, -eol.length) : rest + lines(indent);
  return { at: start, removed: text.slice(start, end), inserted };
}

/** The lines of an entry. */
function linesOf(text: string, pair: Pair): Pick<Edit, 'at' | 'removed'> {
  const key = startOf(pair);
  const at = text.lastIndexOf('\n', key - 1) + 1;
  const valueEnd = (pair.value as { range?: [number, number, number] } | null)?.range?.[1] ?? key;
  const content = text.slice(0, valueEnd).trimEnd().length;
  const newline = text.indexOf('\n', content);
  return { at, removed: text.slice(at, newline < 0 ? text.length : newline + 1) };
}
