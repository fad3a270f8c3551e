// How many bytes each caller may hold in this process at once. Whoever would hold more than their share is refused, or
// waits until some of their own bytes are free. Shares do not depend on each other. A caller's only piece is never refused,
// however large it is: other bounds say how large a piece may be.

import { GuardError } from '../../core/errors.ts';

const RETRY_AFTER_S = 1;

interface Holder {
  bytes: number;
}

/** What one caller holds: its bytes, the pieces that have them (the oldest first), and who to wake when there is room. */
interface Account {
  bytes: number;
  holders: Set<Holder>;
  waiting: Set<() => void>;
}

export class Shares {
  readonly #perCaller: number;
  readonly #what: string;
  readonly #accounts = new Map<string, Account>();

  /** `what` names what is held, in the message to a caller that is refused. */
  constructor(perCaller: number, what: string) {
    this.#perCaller = perCaller;
    this.#what = what;
  }

  /** The bytes that all callers hold together. */
  get held(): number {
    let all = 0;
    for (const { bytes } of this.#accounts.values()) all += bytes;
    return all;
  }

  /** A part of the caller's share. It is empty until it grows, and has to be given back with `free`. */
  part(caller: string): Part {
    return new Part(this.#perCaller, this.#what, caller, this.#accounts);
  }
}

/** The bytes of one request or answer. */
export class Part {
  readonly #most: number;
  readonly #what: string;
  readonly #caller: string;
  readonly #accounts: Map<string, Account>;
  readonly #own: Holder = { bytes: 0 };

  constructor(most: number, what: string, caller: string, accounts: Map<string, Account>) {
    this.#most = most;
    this.#what = what;
    this.#caller = caller;
    this.#accounts = accounts;
  }

  /** Takes more bytes, or throws if the caller's share has no room for them. */
  grow(bytes: number): void {
    const account = this.#account();
    if (!this.#hasRoom(account, bytes)) {
      this.#leave(account);
      throw this.#noRoom();
    }
    this.#add(account, bytes);
  }

  /**
   * Takes more bytes as soon as the caller's share has room for them. The oldest part does not wait, because the others
   * wait for it.
   */
  async growWithRoom(bytes: number, signal: AbortSignal): Promise<void> {
    const account = this.#account();
    account.holders.add(this.#own);
    while (!this.#hasRoom(account, bytes)) {
      await someRoom(account, signal);
      signal.throwIfAborted();
    }
    this.#add(account, bytes);
  }

  /** Gives some bytes back. */
  shrink(bytes: number): void {
    const account = this.#accounts.get(this.#caller);
    if (account === undefined || !account.holders.has(this.#own)) return;
    const given = Math.min(bytes, this.#own.bytes);
    account.bytes -= given;
    this.#own.bytes -= given;
    this.#leave(account);
    for (const wake of account.waiting) wake();
  }

  /** Gives everything back. It may be called more than once. */
  free(): void {
    this.shrink(this.#own.bytes);
  }

  #noRoom(): GuardError {
    const why = `${this.#what} hold as much memory as they may at once: ${this.#most} bytes.`;
    return new GuardError('rate_limited', `${why} Wait for their answers.`, { retryAfter: RETRY_AFTER_S });
  }

  #account(): Account {
    const known = this.#accounts.get(this.#caller);
    if (known !== undefined) return known;
    const account: Account = { bytes: 0, holders: new Set(), waiting: new Set() };
    this.#accounts.set(this.#caller, account);
    return account;
  }

  #hasRoom(account: Account, bytes: number): boolean {
    if (account.bytes + bytes <= this.#most) return true;
    const [oldest] = account.holders;
    return oldest === undefined || oldest === this.#own;
  }

  #add(account: Account, bytes: number): void {
    account.holders.add(this.#own);
    account.bytes += bytes;
    this.#own.bytes += bytes;
  }

  #leave(account: Account): void {
    if (this.#own.bytes === 0) account.holders.delete(this.#own);
    if (account.holders.size === 0) this.#accounts.delete(this.#caller);
  }
}

/** Resolves when some of the caller's bytes are free, or when nobody waits for them any more. */
function someRoom({ waiting }: Account, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const wake = () => {
      waiting.delete(wake);
      signal.removeEventListener('abort', wake);
      resolve();
    };
    waiting.add(wake);
    signal.addEventListener('abort', wake);
    if (signal.aborted) wake();
  });
}
