// A file of checkpoints: signed notes one after another, with empty lines between them. What is none is told by its
// lines, so that nobody takes a file that cannot be read for one that agrees. Who signed them is not looked at here.

import { BASE64_OF_32, parseCheckpoint, WHOLE_NUMBER } from './checkpoint.ts';

export interface FileNote {
  note: string;
  /** Its first and last line in the file, counted from 1. */
  from: number;
  to: number;
  /** A crash or a full disk cuts a note short while it is appended. */
  state: 'whole' | 'cut short' | 'unreadable';
}

/** Of 68 bytes, a key's id and a signature by it, or of more. */
const SIGNATURE =
  /^\u2014 \S+ (?:[A-Za-z0-9+/]{4}){22}(?:[A-Za-z0-9+/]{3}=|(?:[A-Za-z0-9+/]{4})+(?:[A-Za-z0-9+/]{2,3}={1,2})?)$/;
const LINE = /^[a-z-]+ \S/;

/** What the file holds, note by note; `name` is the log's. */
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

/** Lines that stand together. A file that came by way of Windows has other ends of lines. */
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

/** Whether these are the first lines of a checkpoint of this log, the last of them perhaps not whole. */
function beginsOne(lines: readonly string[], name: string): boolean {
  return lines.every((line, at) => {
    if (at === lines.length - 1) return at > 0 || name.startsWith(line);
    if (at === 0) return line === name;
    return [WHOLE_NUMBER, BASE64_OF_32][at - 1]?.test(line) ?? LINE.test(line);
  });
}
