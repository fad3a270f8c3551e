// What every format's editor does, and what an edit is.

import type { Entry } from '../../core/clients/client.ts';
import type { Json } from '../../core/wire/json.ts';

/** The replacement of one stretch of the text by another. */
export interface Edit {
  at: number;
  removed: string;
  inserted: string;
}

export interface Editor {
  /** What the text says. A text without anything is an empty object. Throws a Fault. */
  read: (text: string) => Json;
  /** For an entry that is missing or differs. Throws a Fault where it cannot be put. */
  put: (text: string, entry: Entry) => Edit;
  /** For an entry that is there. */
  drop: (text: string, entry: Entry) => Edit;
}

export function endOfLine(text: string): string {
  return text.includes('\r\n') ? '\r\n' : '\n';
}
