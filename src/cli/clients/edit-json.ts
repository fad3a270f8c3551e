// JSON, with or without comments. A new entry comes last in its object or list, on lines of its own if the others have
// that, with the indentation and the line ends of the file.

import type { Entry } from '../../core/clients/client.ts';
import type { Json } from '../../core/wire/json.ts';
import { type Edit, type Editor, endOfLine } from './editor.ts';
import { Fault } from './fault.ts';
import { type Child, type Node, parseJsonc } from './jsonc.ts';
import { isMarked } from './values.ts';

export const jsonEditor: Editor = {
  read: text => parseJsonc(text)?.value ?? {},
  put: (text, entry) => {
    const root = parseJsonc(text);
    if (root === null) {
      const value = nested(entry.at, entry.how === 'append' ? [entry.value] : entry.value);
      return { at: 0, removed: text, inserted: `${JSON.stringify(value, null, 2)}\n` };
    }
    return put(text, root, entry);
  },
  drop: (text, entry) => {
    const { parent, child } = found(parseJsonc(text) as Node, entry) as Found;
    return drop(text, parent, child);
  },
};

interface Found {
  parent: Node;
  child: Child;
  /** What our part of it should say. */
  value: Json;
}

/** Where our entry is. Of a group to which somebody added hooks, only our hook. */
function found(root: Node, { at, mark, value }: Entry): Found | null {
  let parent = root;
  let child: Child | null = null;
  for (const key of at) {
    if (child !== null) parent = child.node;
    child = parent.children.findLast(each => each.key === key) ?? null;
    if (child === null) return null;
  }
  if (child === null) return null;
  if (mark === undefined) return { parent, child, value };
  const list = child.node;
  if (list.kind !== 'list') return null;
  const item = list.children.find(each => isMarked(each.node.value, mark));
  if (item === undefined) return null;
  const hooks = item.node.children.find(each => each.key === 'hooks')?.node;
  if (hooks?.kind !== 'list' || hooks.children.length < 2) return { parent: list, child: item, value };
  const hook = hooks.children.find(each => isMarked(each.node.value, mark)) as Child;
  const ours = (value as { hooks?: Json[] }).hooks?.[0] ?? value;
  return { parent: hooks, child: hook, value: ours };
}

function put(text: string, root: Node, entry: Entry): Edit {
  const there = found(root, entry);
  if (there !== null) return replace(text, there);
  let container = root;
  let depth = 0;
  for (const key of entry.at) {
    requireKind(container, 'object', entry.at.slice(0, depth));
    const child = container.children.findLast(each => each.key === key);
    if (child === undefined) break;
    container = child.node;
    depth++;
  }
  if (depth < entry.at.length) {
    const rest = entry.at.slice(depth + 1);
    const value = nested(rest, entry.how === 'append' ? [entry.value] : entry.value);
    return insert(text, container, entry.at[depth] as string, value);
  }
  requireKind(container, 'list', entry.at);
  return insert(text, container, null, entry.value);
}

function requireKind({ kind, start }: Node, wanted: 'object' | 'list', path: readonly string[]): void {
  if (kind === wanted) return;
  const name = path.length === 0 ? 'the file' : `"${path.join('.')}"`;
  throw new Fault(start, `${name} is not ${wanted === 'object' ? 'an object' : 'a list'}`);
}

function nested(path: readonly string[], value: Json): Json {
  return path.reduceRight<Json>((inner, key) => ({ [key]: inner }), value);
}

function replace(text: string, { child, value }: Found): Edit {
  const { start, end } = child.node;
  const removed = text.slice(start, end);
  const isOneLine = !removed.includes('\n') && lineStart(text, child.start) === null;
  const inserted = isOneLine ? oneLine(value, text) : pretty(value, indentAt(text, child.start), text);
  return { at: start, removed, inserted };
}

function insert(text: string, container: Node, key: string | null, value: Json): Edit {
  const last = container.children.at(-1);
  return last === undefined
    ? insertFirst(text, container, key, value)
    : insertAfter(text, container, last, key, value);
}

function insertAfter(text: string, container: Node, last: Child, key: string | null, value: Json): Edit {
  const at = last.comma === null ? last.end : last.comma + 1;
  const [before, after] = last.comma === null ? [',', ''] : ['', ','];
  const isOneLine = !text.slice(last.end, container.end).includes('\n');
  if (isOneLine) {
    const space = isDense(text) ? '' : ' ';
    const inserted = `${before}${space}${named(key, text)}${oneLine(value, text)}${after}`;
    return { at, removed: '', inserted };
  }
  // A comment that stands behind the last entry on its line belongs to that entry.
  const removed = /^(?:[ \t]|\/\*[^\n]*?\*\/)*(?:\/\/[^\r\n]*)?/.exec(text.slice(at))?.[0].trimEnd() ?? '';
  const indent = lineStart(text, last.start) ?? indentAt(text, container.start) + unitOf(text);
  const entry = `${named(key, text)}${pretty(value, indent, text)}${after}`;
  return { at, removed, inserted: `${before}${removed}${endOfLine(text)}${indent}${entry}` };
}

function insertFirst(text: string, container: Node, key: string | null, value: Json): Edit {
  const inner = text.slice(container.start + 1, container.end - 1);
  const at = container.start + 1;
  const base = indentAt(text, container.start);
  const indent = base + unitOf(text);
  const eol = endOfLine(text);
  if (inner.trim() === '') {
    const isOneLine =
      !text.trim().includes('\n') && text.trim() !== text.slice(container.start, container.end);
    if (isOneLine) return { at, removed: inner, inserted: named(key, text) + oneLine(value, text) };
    const inserted = `${eol}${indent}${named(key, text)}${pretty(value, indent, text)}${eol}${base}`;
    return { at, removed: inner, inserted };
  }
  const comments = inner.trimEnd();
  const isOneLine = !inner.slice(comments.length).includes('\n');
  const entry = isOneLine
    ? ` ${named(key, text)}${oneLine(value, text)}`
    : `${eol}${indent}${named(key, text)}${pretty(value, indent, text)}`;
  return { at: at + comments.length, removed: '', inserted: entry };
}

function named(key: string | null, text: string): string {
  return key === null ? '' : `${JSON.stringify(key)}:${isDense(text) ? '' : ' '}`;
}

/** Whether the file is written without white space. */
function isDense(text: string): boolean {
  return !/[\n\t ]/.test(text.trim()) && text.trim().length > 2;
}

function oneLine(value: Json, text: string): string {
  if (isDense(text)) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(each => oneLine(each, text)).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const pairs = Object.entries(value as Record<string, Json>);
  if (pairs.length === 0) return '{}';
  return `{ ${pairs.map(([key, each]) => `${JSON.stringify(key)}: ${oneLine(each, text)}`).join(', ')} }`;
}

function pretty(value: Json, indent: string, text: string): string {
  return JSON.stringify(value, null, unitOf(text)).replaceAll('\n', endOfLine(text) + indent);
}

/** One step of indentation: that of the first indented line. */
function unitOf(text: string): string {
  return /\n([ \t]+)["}\]{[]/.exec(text)?.[1]?.slice(0, 8) ?? '  ';
}

/** The white space before a position, if nothing else precedes it on its line. */
function lineStart(text: string, at: number): string | null {
  const line = text.slice(text.lastIndexOf('\n', at - 1) + 1, at);
  return line.trim() === '' ? line : null;
}

/** The indentation of the line that a position is in. */
function indentAt(text: string, at: number): string {
  return /^[ \t]*/.exec(text.slice(text.lastIndexOf('\n', at - 1) + 1))?.[0] ?? '';
}

function drop(text: string, parent: Node, child: Child): Edit {
  const index = parent.children.indexOf(child);
  const start = blankBefore(text, child.start, child.comma === null ? child.end : child.comma + 1);
  const before = parent.children[index - 1];
  if (child.comma !== null && !(index === parent.children.length - 1 && before === undefined))
    return { at: start, removed: text.slice(start, child.comma + 1), inserted: '' };
  if (before !== undefined && before.comma !== null) {
    const kept = text.slice(before.comma + 1, start);
    return { at: before.comma, removed: text.slice(before.comma, child.end), inserted: kept };
  }
  // No other entry follows.
  const end = child.comma === null ? child.end : child.comma + 1;
  const rest = text.slice(parent.start + 1, start) + text.slice(end, parent.end - 1);
  if (rest.trim() !== '') return { at: start, removed: text.slice(start, end), inserted: '' };
  return { at: parent.start + 1, removed: text.slice(parent.start + 1, parent.end - 1), inserted: '' };
}

/**
 * Where the white space before a stretch begins. What precedes it may be a comment that lasts until the end of its line:
 * then that end stays, unless another one follows the stretch.
 */
function blankBefore(text: string, at: number, end: number): number {
  const start = text.slice(0, at).trimEnd().length;
  const line = text.slice(text.lastIndexOf('\n', start - 1) + 1, start);
  const newline = text.indexOf('\n', start);
  const isNeeded = line.includes('//') && !/^[ \t]*\r?\n/.test(text.slice(end));
  return isNeeded && newline >= 0 && newline < at ? newline + 1 : start;
}
