// What a group commit asks of those who decide its requests, what became of them, and what it tells observers.

import type { GuardError } from '../../core/errors.ts';
import type { Span } from '../../core/wire/span.ts';
import type { Transaction } from '../../store/engine/db.ts';

/** What is known of a group whose commit has returned. Times are in milliseconds. */
export interface CommittedGroup {
  size: number;
  /** From the arrival of its first check to the beginning of its transaction. */
  waited: number;
  /** From there until its entries were durable. */
  took: number;
}

export interface CommitObserver {
  committed(group: CommittedGroup): void;
  /** A whole group, or one of its members, got no verdict because of this error. */
  failed(error: unknown): void;
}

/** Says that a request was not decided, because it belongs into the groups of the next GroupCommit. */
export const MOVED = Symbol('moved');

/** Says that a request was not decided, because its group has worked long enough: it belongs into a later group. */
export const LATER = Symbol('later');

/** What became of a request in its group. */
export type Outcome<Result> = Result | GuardError | typeof MOVED | typeof LATER;

/** What became of a group. */
export interface DecidedGroup<Result> {
  /** One outcome for each request, in order. */
  results: Outcome<Result>[];
  /** Called once the results are committed. */
  afterCommit: () => void;
  /** What has to be done after the commit and before a request is answered, by its place. It does not fail. */
  beforeAnswer?: ReadonlyMap<number, () => Promise<void>> | null;
}

export interface GroupWork<Item, Result> {
  keyOf(request: Item): string;
  /** Distinguishes the callers that share a key. */
  callerOf(request: Item): string;
  /** The shared locks that the transaction of a group with these keys and requests takes first. */
  shares(keyIds: ReadonlySet<string>, requests: readonly Item[]): string[];
  /** The locks that it takes exclusively with them. */
  takes?(requests: readonly Item[]): string[];
  /** The span of a request, if it is traced. */
  spanOf?(request: Item): Span | undefined;
  /** Whether a request probably belongs into the groups of the next GroupCommit. */
  moves?(request: Item): boolean;
  /**
   * Prepares a request that was left for a later group: it does the work that would take too long while locks are held.
   * Null if there is no such work.
   */
  prepare?(request: Item): Promise<void> | null;
  /** Decides the requests and writes their entries. */
  decideGroup(tx: Transaction, requests: readonly Item[]): Promise<DecidedGroup<Result>>;
}
