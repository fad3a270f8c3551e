// Hints that replicas send each other so that things happen sooner. A hint may be lost: it is not stored, and it does
// not pass a PostgreSQL connection pool in transaction mode. Code that must be certain reads the store.

import type { Db } from '../store/engine/db.ts';

/**
 * `cancel` is about the hash that identifies a call in progress, `ended` about an MCP session, `tools` about a key whose
 * Connected Tools changed, and `tool-server` about a server that keys share and that was changed or removed. `sign-in` is
 * about a key (none: all that share the server), a source and a person (none: the key itself, or all of them) who has
 * signed in to it or out of it. `task` is about the id of a task that has changed, or that is to be cancelled. The others are
 * messages of exchange/messages.ts.
 */
type Hint =
  | 'cancel'
  | 'ended'
  | 'tools'
  | 'tool-server'
  | 'sign-in'
  | 'task'
  | `${Exchanged}-${'question' | 'answer' | 'busy'}`
  | 'details-ended';

/** What replicas give each other, as exchange/kinds.ts has it. */
type Exchanged = 'details' | 'result';

/**
 * Sends a hint to every replica, this one included. `about` is an id, a hash or an encrypted text, never a secret: the
 * database may log it, and its users may read and forge it. PostgreSQL carries fewer than 8,000 bytes. The promise
 * resolves once the hint is on its way, which few callers need to know; nothing fails if it is lost.
 */
export function giveHint(db: Db, hint: Hint, about: string): Promise<void> {
  return db.sendHint(`${hint} ${about}`);
}

export function onHint(db: Db, hint: Hint, listener: (about: string) => void): void {
  db.onHint(word => {
    if (word.startsWith(`${hint} `)) listener(word.slice(hint.length + 1));
  });
}
