// What a tool server of this world has done: a line in a file for each run, written before anything is answered. A file
// outlives the process that writes it, so whatever ran is known, although the process may be killed at any moment.

import { existsSync, readFileSync, writeSync } from 'node:fs';

export interface Run {
  tool: string;
  /** The argument that no other call of this world has. */
  n: string;
  /** What the tool returned, which is different for each run. */
  nonce: string;
}

/** How a tool behaves; the caller says so in the arguments. */
export type Manner =
  | 'quick'
  /** It takes its time before it runs and after. */
  | 'slow'
  /** The process dies without an answer, before the tool has run or after. */
  | 'dies first'
  | 'dies after'
  /** It answers with a task of its own to whoever knows tasks. */
  | 'served';

/** Writes a line into a file that is open for appending. What an earlier process has left of a line stays apart from it. */
export function writeLine(file: number, line: unknown): void {
  writeSync(file, `\n${JSON.stringify(line)}\n`);
}

/** Lines that are whole: a kill can cut any that was just written. */
export function linesOf<T>(file: string): T[] {
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8')
    .split('\n')
    .flatMap(line => whole<T>(line));
}

function whole<T>(line: string): T[] {
  try {
    return [JSON.parse(line) as T];
  } catch {
    return [];
  }
}
