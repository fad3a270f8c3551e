// What people read of entries that a test takes out of the store: the reason as a sentence.

import { reasonText } from '../../src/core/decision/reason-text.ts';
import { readReason } from '../../src/core/decision/recorded-reason.ts';
import { splitName } from '../../src/core/text/name.ts';

/** `name` is the full name of the tool. */
export function said<Row extends { name: string; reason: string }>(rows: readonly Row[]): Row[] {
  return rows.map(row => ({ ...row, reason: sentence(row) }));
}

function sentence({ name, reason }: { name: string; reason: string }): string {
  const code = readReason(reason);
  const call = splitName(name);
  return code === null || call === null ? reason : reasonText(code, call);
}
