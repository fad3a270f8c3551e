// Hints that replicas send each other so that things happen sooner. A hint may be lost: it is not stored, and it does
// not pass a PostgreSQL connection pool in transaction mode. Code that must be certain reads the store.

import type { Db } from '../store/db.ts';

/**
 * `cancel` is about the hash that identifies a call in progress, `ended` about an MCP session, and `tools` about a key
 * whose Connected Tools changed.
 */
type Hint = 'cancel' | 'ended' | 'tools';

/** Sends a hint to every replica, this one included. `about` is an id or a hash, never a secret: it may be logged. */
export function giveHint(db: Db, hint: Hint, about: string): void {
  db.sendHint(`${hint} ${about}`);
}

export function onHint(db: Db, hint: Hint, listener: (about: string) => void): void {
  db.onHint(word => {
    if (word.startsWith(`${hint} `)) listener(word.slice(hint.length + 1));
  });
}
