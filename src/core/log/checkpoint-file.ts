// Reads a file of checkpoints: signed notes one after another, separated by empty lines. Anything else in the file is
// reported with its lines, so that an unreadable file is never taken for one that agrees with the log. This file does
// not verify signatures.

import { BASE64_OF_32, parseCheckpoint, WHOLE_NUMBER } from './checkpoint.ts';

export interface FileNote {
  note: string;
  /** The first and last line of the note in the file, counted from 1. */
  from: number;
  to: number;
  /** A note is cut short when a crash or a full disk interrupts its being appended. */
  state: 'whole' | 'cut short' | 'unreadable';
}

/** A signature line: base64 of at least 68 bytes, which are a key's id (4) and a signature (64). */
const SIGNATURE =
  /^\u2014 \S+ (?:[A-Za-z0-9+/]{4}){22}(?:[A-Za-z0-9+/]{3}=|(?:[A-Za-z0-9+/]{4})+(?:[A-Za-z0-9+/]{2,3}={1,2})?)$/;
const LINE = /^[a-z-]+ \S/;

/** The notes in the file, in order; `name` is the name of the log. */
export function notesIn(file: string, name: string): FileNote[] {
  const found: FileNote[] = [];
  for (const { text, from, to } of blocksIn(file)) {
    const last = found.at(-1);
    if (text.startsWith('\u2014') && last !== undefined && !last.note.includes('\n\n')) {
      last.note = `${last.note}\n\n${text}\n`;
      last.to = to;
    } else found.push({ note: text, from, to, state: 'unreadable' });
  }
  for (const each of found) each.state = stateOf(each.note, name);
  return found;
}

interface Block {
  text: string;
  from: number;
  to: number;
}

/** The groups of lines between empty lines. The file may have Windows line ends. */
function blocksIn(file: string): Block[] {
  const blocks: Block[] = [];
  let before = '';
  const lines = file.replace(/^\ufeff/, '').split(/\r?\n/);
  for (const [at, line] of lines.entries()) {
    const last = blocks.at(-1);
    if (line !== '' && (before === '' || last === undefined))
      blocks.push({ text: line, from: at + 1, to: at + 1 });
    else if (line !== '' && last !== undefined) {
      last.text += `\n${line}`;
      last.to = at + 1;
    }
    before = line;
  }
  return blocks;
}

function stateOf(note: string, name: string): FileNote['state'] {
  const [text = '', signatures = ''] = note.split('\n\n');
  const signed = signatures.split('\n').filter(line => line !== '');
  const whole = signed.length > 0 && signed.every(line => SIGNATURE.test(line));
  if (whole && parseCheckpoint(note) !== null) return 'whole';
  if (signed.length > 0) return parseCheckpoint(note) === null ? 'unreadable' : 'cut short';
  return beginsOne(text.split('\n'), name) ? 'cut short' : 'unreadable';
}

/** Whether these are the first lines of a checkpoint of this log; the last line may be incomplete. */
function beginsOne(lines: readonly string[], name: string): boolean {
  return lines.every((line, at) => {
    if (at === lines.length - 1) return at > 0 || name.startsWith(line);
    if (at === 0) return line === name;
    return [WHOLE_NUMBER, BASE64_OF_32][at - 1]?.test(line) ?? LINE.test(line);
  });
}
