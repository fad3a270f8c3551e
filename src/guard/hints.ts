// What replicas say to each other so that things happen sooner. A hint may be lost (it is not kept, and there is
// no way for it behind a transaction pool): whoever relies on what it says asks the store.

import type { Db } from '../store/db.ts';

/** `cancel`: the hash of a call's key. `ended`: an MCP session. `tools`: the key whose Connected Tools changed. */
type Hint = 'cancel' | 'ended' | 'tools';

/** Tells every replica, this one included. `about` is an id of ours or a hash: the store may write it down. */
export function giveHint(db: Db, hint: Hint, about: string): void {
  db.tell(`${hint} ${about}`);
}

export function onHint(db: Db, hint: Hint, listener: (about: string) => void): void {
  db.onTold(word => {
    if (word.startsWith(`${hint} `)) listener(word.slice(hint.length + 1));
  });
}
