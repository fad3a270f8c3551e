// What a tool server of this world has done: a line in a file for each run, written before anything is answered. A file
// outlives the process that writes it, so whatever ran is known, although the process may be killed at any moment.

import { existsSync, readFileSync } from 'node:fs';

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

/** Lines that are whole: the last one may have been cut by a kill. */
export function linesOf<T>(file: string): T[] {
  if (!existsSync(file)) return [];
  const text = readFileSync(file, 'utf8');
  const whole = text.slice(0, text.lastIndexOf('\n') + 1);
  return whole
    .split('\n')
    .filter(Boolean)
    .map(line => JSON.parse(line) as T);
}
