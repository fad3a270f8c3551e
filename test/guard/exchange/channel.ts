// A channel of hints in memory on which a test listens, changes, repeats and forges messages, and replicas on it that
// share one store. It delivers in order, each message in a turn of its own, as the database does.

import { HeldDetails } from '../../../src/guard/approvals/details.ts';
import { Vault } from '../../../src/guard/secrets.ts';
import type { Db } from '../../../src/store/engine/db.ts';
import { NOW } from '../../store/stores.ts';

const MASTER_KEY = new Uint8Array(32).fill(7);
export const FOREIGN = new Vault(new Uint8Array(32).fill(8));

export class Channel {
  readonly messages: string[] = [];
  readonly vault = new Vault(MASTER_KEY);
  now = NOW;
  /** What becomes of a message on its way. */
  transport: (word: string) => string[] = word => [word];
  readonly #listeners: ((word: string) => void)[] = [];
  readonly #db: Db;

  constructor(db: Db) {
    this.#db = db;
  }

  /** Another process on the same store, with the details that it holds. */
  replica(limit = 4 << 20, vault = this.vault): HeldDetails {
    return new HeldDetails({ db: this.joined(), vault, now: () => this.now }, limit);
  }

  send(word: string): void {
    this.messages.push(word);
    for (const each of this.transport(word))
      for (const listener of this.#listeners) setImmediate(() => listener(each));
  }

  /** The messages of a kind, without its name. */
  of(kind: 'question' | 'answer' | 'ended'): string[] {
    const name = `details-${kind} `;
    return this.messages.filter(each => each.startsWith(name)).map(each => each.slice(name.length));
  }

  /** The store as a further process has it. */
  joined(): Db {
    const db = this.#db;
    const joined: Partial<Db> = {
      all: (sql, params) => db.all(sql, params),
      sendHint: async word => this.send(word),
      onHint: listener => void this.#listeners.push(listener),
      hintsReachReplicas: true,
    };
    return joined as Db;
  }
}
