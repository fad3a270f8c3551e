// What every receiver of the shipped audit log has in common. One file for each type of receiver says how entries are
// sent there; shipper.ts reads the entries, keeps the cursor, and decides when to try again.

import type { ShownEntry } from '../../../core/log/entry.ts';
import type { AuditEntry } from '../../../store/log/audit-entry.ts';
import { SendError } from '../send.ts';

/** An entry and its place in the sealed log. */
export interface Shipped {
  seq: number;
  entry: ShownEntry<AuditEntry>;
}

/** How many of the next entries are sent together now; or until when to wait for more that belong to them. */
export type Portion = { count: number } | { waitUntil: number };

export interface Target {
  /** The most entries in one batch. */
  readonly most: number;
  /**
   * Which of the next entries make a batch. `next` has at least one entry. It has `most` of them if there are that many,
   * unless fewer already make one. A target without this takes whatever there is. Nobody has to ask again before
   * `waitUntil`, unless `most` entries are there by then.
   */
  portion?(next: readonly Shipped[], now: number): Portion;
  /** Throws a SendError unless the receiver has confirmed the whole batch. The entries are in the order of `seq`. */
  send(batch: readonly Shipped[]): Promise<void>;
}

/**
 * The receiver refused a batch for what is in it: it is too large, or one of its entries is not taken. Half of it is
 * sent next. So what can be taken is taken, and in the end the refused entry is alone and can be named.
 */
export class BatchRefused extends SendError {}

const FOR_ITS_CONTENT = new Set([400, 413, 422]);

/** Throws unless the status is one of 2xx. */
export function requireTaken(who: 'receiver' | 'collector', status: number): void {
  if (status >= 200 && status <= 299) return;
  const message = `the ${who} answered ${status}`;
  throw FOR_ITS_CONTENT.has(status) ? new BatchRefused(message) : new SendError(message);
}

const PAGE = /^\s*<(?:!doctype\s+html|html|head|body)\b/i;

/**
 * Throws if an answer is a web page. A gateway before the receiver may answer every request with its page to sign in and
 * a status of 200. The receiver has got nothing then.
 */
export function refusePage(answer: Uint8Array): void {
  if (PAGE.test(new TextDecoder().decode(answer)))
    throw new SendError('a web page was the answer: something before the receiver gave it');
}
