// Puts entries into the text of a configuration file, and takes them out again. Everything else in the text stays where
// it is. The text is read again after each change, and unless it says the same as before except for our entry, the file
// is left alone.

import type { Entry, Format } from '../../core/clients/client.ts';
import type { Json } from '../../core/wire/json.ts';
import { jsonEditor } from './edit-json.ts';
import { tomlEditor } from './edit-toml.ts';
import { yamlEditor } from './edit-yaml.ts';
import type { Edit, Editor } from './editor.ts';
import { Fault } from './fault.ts';
import { isMarked, isNarrowed, isSame, valueAt, without } from './values.ts';

const EDITORS: Record<Format, Editor> = { json: jsonEditor, toml: tomlEditor, yaml: yamlEditor };

export interface Edited {
  text: string;
  /** In the order in which they were made. */
  edits: Edit[];
}

/** Whether all of the entries are there, some, or none. An entry that was changed by hand counts as there. */
export function presence(text: string, format: Format, entries: readonly Entry[]): 'all' | 'some' | 'none' {
  const value = EDITORS[format].read(text);
  const wanted = entries.filter(({ how }) => how === 'set' || how === 'append');
  const there = wanted.filter(entry => {
    const found = valueAt(value, entry);
    return found !== undefined && !isNarrowed(value, entry) && isOurs(found, entry, []);
  }).length;
  return there === 0 ? 'none' : there === wanted.length ? 'all' : 'some';
}

/**
 * `written` are the edits that were made here before: what they inserted is ours, even if somebody has changed it
 * since.
 */
export function putEntries(
  text: string,
  format: Format,
  entries: readonly Entry[],
  written: readonly Edit[] = [],
): Edited {
  const editor = EDITORS[format];
  const edits: Edit[] = [];
  let now = text;
  for (const entry of entries) {
    const before = editor.read(now);
    if (isNarrowed(before, entry)) throw new Fault(0, NARROWED);
    const found = valueAt(before, entry);
    if (found !== undefined && (entry.how === 'default' || isSame(found, wantedOf(before, entry)))) continue;
    if (found !== undefined && !isOurs(found, entry, written))
      throw new Fault(0, `"${entry.at.join('.')}" ${FOREIGN}`);
    const edit = editor.put(now, entry);
    now = changed(editor, now, edit, entry);
    if (valueAt(editor.read(now), entry) === undefined) throw new Fault(edit.at, UNSAFE);
    edits.push(edit);
  }
  return { text: now, edits };
}

/**
 * Whether an entry was written by us: by the key or the variable in it, or because we remember it. Others may use the same
 * name for a server of their own.
 */
function isOurs(found: Json, { at, how, mark }: Entry, written: readonly Edit[]): boolean {
  if (how !== 'set' || mark !== undefined || isMarked(found, OURS)) return true;
  return written.some(({ inserted }) => inserted.includes(at.at(-1) ?? ''));
}

const OURS = /\btg_(?:key|ses)_|^TOOLGATE_API_KEY$|\$\{(?:env:)?TOOLGATE_\w+\}|\$\{input:toolgate-key\}/;
const FOREIGN =
  'was not written by Toolgate, and stays as it is; give it another name, or connect with --hooks-only';

/** The part of the entry that is compared: of a group to which somebody added hooks, only our hook. */
function wantedOf(value: Json, entry: Entry): Json {
  const found = valueAt(value, entry) as Record<string, Json>;
  const group = entry.value as Record<string, Json>;
  const isHook = entry.how === 'append' && Array.isArray(group['hooks']) && !Array.isArray(found['hooks']);
  return isHook ? ((group['hooks'] as Json[])[0] as Json) : entry.value;
}

const NARROWED =
  'the hook is in a group with a matcher, so that only some calls are judged; remove it from there by hand';
const UNSAFE = 'this file cannot be changed safely; make the change by hand';

function changed(editor: Editor, text: string, edit: Edit, entry: Entry): string {
  const after = text.slice(0, edit.at) + edit.inserted + text.slice(edit.at + edit.removed.length);
  if (!saysTheSame(editor, text, after, [entry])) throw new Fault(edit.at, UNSAFE);
  return after;
}

function saysTheSame(editor: Editor, before: string, after: string, entries: readonly Entry[]): boolean {
  const rest = (text: string): Json =>
    entries.reduce((value, entry) => without(value, entry), editor.read(text));
  try {
    return isSame(rest(before), rest(after));
  } catch {
    return false;
  }
}

/**
 * Takes the entries out. If every stretch that we wrote is still there, as we wrote it, what was there before comes back,
 * to the byte. Otherwise somebody changed our entries or what is next to them, and only the entries themselves go.
 */
export function dropEntries(
  text: string,
  format: Format,
  entries: readonly Entry[],
  edits: readonly Edit[],
): string {
  const editor = EDITORS[format];
  const undone = edits.length === 0 ? null : undo(text, edits);
  const isRestored = undone !== null && saysTheSame(editor, text, undone, entries);
  let now = isRestored ? undone : text;
  for (const entry of entries.filter(({ how }) => how === 'drop' || (how !== 'default' && !isRestored))) {
    for (;;) {
      const found = valueAt(editor.read(now), entry);
      if (found === undefined || !isOurs(found, entry, edits)) break;
      now = changed(editor, now, editor.drop(now, entry), entry);
    }
  }
  return now;
}

/** Whether every stretch that we wrote is still there. */
export function isUndoable(text: string, edits: readonly Edit[]): boolean {
  return undo(text, edits) !== null;
}

function undo(text: string, edits: readonly Edit[]): string | null {
  let now = text;
  for (const { removed, inserted } of edits.toReversed()) {
    const at = now.indexOf(inserted);
    if (at < 0 || at !== now.lastIndexOf(inserted)) return null;
    now = now.slice(0, at) + removed + now.slice(at + inserted.length);
  }
  return now;
}
