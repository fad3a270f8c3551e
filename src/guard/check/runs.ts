// The runs of the calls of one group, read and written in the transaction that records the calls. So whoever sends a call
// after the verdict of another was sent is decided with the marks that the other one gave, on every replica. Only keys
// whose policies use marks or known values have any of this.

import type { Queries, Transaction } from '../../store/engine/db.ts';
import { findKnown, insertCalls, type ReportedCall } from '../../store/known-values.ts';
import type { AuditEntry } from '../../store/log/audit-entry.ts';
import {
  type FoundRun,
  findRuns,
  insertMarks,
  insertRun,
  retireRun,
  type StoredMark,
  touchRuns,
} from '../../store/runs.ts';
import type { Deps } from '../deps.ts';
import { newId } from '../ids.ts';
import type { CheckRequest } from './request.ts';
import { Run } from './run.ts';
import { endOf, grainOf, runRef } from './run-ref.ts';

/** A request whose run is wanted, and when its session ends, if it has one. */
export interface RunWanted {
  request: Pick<CheckRequest, 'principal' | 'run' | 'surface'>;
  sessionEndsAt: number | null;
}

export class Runs {
  readonly #deps: Deps;
  #now = 0;
  /** What was read before it was known whose policies use runs. */
  readonly #early = new Map<string, FoundRun | null>();
  readonly #byRef = new Map<string, Run>();
  readonly #ends = new Map<Run, number>();
  readonly #marks: StoredMark[] = [];
  readonly #calls: ReportedCall[] = [];

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Reads the runs of requests whose policies probably use them, together with other facts, which saves a round trip. */
  async expect(tx: Transaction, requests: readonly RunWanted['request'][]): Promise<void> {
    const refs = new Set(requests.map(({ principal, run }) => runRef(principal, run).ref));
    for (const ref of refs) this.#early.set(ref, null);
    for (const found of await findRuns(tx, [...refs])) this.#early.set(found.ref, found);
  }

  /** Reads the runs of these requests, and begins those that are not under way. */
  async open(tx: Transaction, wanted: readonly RunWanted[], now: number): Promise<void> {
    this.#now = now;
    const missing = await this.#read(tx, wanted);
    if (missing.length === 0) return;
    // All replicas begin runs in one order, so that they cannot deadlock.
    missing.sort((a, b) => (refOf(a) < refOf(b) ? -1 : 1));
    for (const each of missing) await this.#begin(tx, each);
    const lost = await this.#read(tx, missing);
    if (lost.length > 0) throw new Error('a run that was begun cannot be read');
  }

  /** Reads those that are under way, and returns what is missing, once for each run. */
  async #read(tx: Transaction, wanted: readonly RunWanted[]): Promise<RunWanted[]> {
    const byRef = new Map(wanted.map(each => [refOf(each), each]));
    for (const found of await this.#find(tx, [...byRef.keys()])) {
      if (found.endsAt <= this.#now) continue;
      const run = runOf(this.#deps, found);
      this.#byRef.set(found.ref, run);
      this.#ends.set(run, this.#endOf(byRef.get(found.ref) as RunWanted));
      byRef.delete(found.ref);
    }
    return [...byRef.values()];
  }

  async #find(tx: Transaction, refs: readonly string[]): Promise<FoundRun[]> {
    const known = refs.map(ref => this.#early.get(ref));
    this.#early.clear();
    if (known.every(found => found !== undefined)) return known.filter(found => found !== null);
    return findRuns(tx, refs);
  }

  async #begin(tx: Transaction, wanted: RunWanted): Promise<void> {
    const { principal, surface, run: given } = wanted.request;
    const { ref, name, sessionId } = runRef(principal, given);
    await retireRun(tx, ref, this.#now);
    await insertRun(tx, {
      id: newId(),
      ref,
      keyId: principal.keyId,
      sessionId,
      personId: principal.personId ?? null,
      surface,
      name,
      lastCallAt: this.#now,
      endsAt: this.#endOf(wanted),
    });
  }

  #endOf({ request: { principal, run }, sessionEndsAt }: RunWanted): number {
    const { runRest } = this.#deps.settings;
    return endOf(runRef(principal, run).kind, this.#now, sessionEndsAt, runRest);
  }

  /** The run of a request that was opened; null for any other. */
  of({ principal, run }: RunWanted['request']): Run | null {
    if (this.#byRef.size === 0) return null;
    return this.#byRef.get(runRef(principal, run).ref) ?? null;
  }

  /** Reads the values that conditions have asked for. False if they have asked for none. */
  resolve(tx: Queries): Promise<boolean> {
    return resolveAsked(tx, [...this.#byRef.values()]);
  }

  /** Gives a run the marks that a call brings. A shadow's are kept apart. */
  mark(run: Run, marks: readonly string[], shadow: string, entry: AuditEntry): void {
    if (marks.length === 0) return;
    const { at: since, serverName, toolName, id: toolCallId } = entry;
    const by = { since, serverName, toolName, toolCallId };
    this.#marks.push(...run.mark(marks, shadow, by));
  }

  /** Remembers a call whose result the agent will report under this name, and whether a rule trusts the result. */
  awaitResult(run: Run, name: string, { id: toolCallId }: AuditEntry, trusted: boolean): void {
    this.#calls.push({ run: run.found.number, call: run.digest(callName(name)), toolCallId, trusted });
  }

  write(tx: Transaction): void {
    const grain = grainOf(this.#deps.settings.runRest);
    const stale = [...this.#byRef.values()].filter(({ found }) => this.#now - found.lastCallAt >= grain);
    touchRuns(
      tx,
      stale.map(run => ({
        number: run.found.number,
        lastCallAt: this.#now,
        endsAt: this.#ends.get(run) as number,
      })),
    );
    if (this.#marks.length > 0) insertMarks(tx, this.#marks);
    if (this.#calls.length > 0) insertCalls(tx, this.#calls);
  }
}

export function runOf({ vault }: Pick<Deps, 'vault'>, found: FoundRun): Run {
  return new Run(
    found,
    once(() => vault.runKey(found.id)),
  );
}

/** Reads the values that conditions have asked these runs for. False if they have asked for none. */
export async function resolveAsked(db: Queries, runs: readonly Run[]): Promise<boolean> {
  const asked = runs.flatMap(run =>
    run.takeUnread().map(value => ({ value, run: run.found.number, digest: value.digest })),
  );
  if (asked.length === 0) return false;
  const found = await findKnown(db, asked);
  const known = new Set(found.map(({ run, digest }) => `${run} ${digest}`));
  for (const { value, run, digest } of asked) value.known = known.has(`${run} ${digest}`);
  return true;
}

/** No value that somebody can ask about has this form. */
export const callName = (name: string): string => `call\n${name}`;

const refOf = ({ request: { principal, run } }: RunWanted): string => runRef(principal, run).ref;

function once<T extends object>(make: () => T): () => T {
  let made: T | null = null;
  return () => {
    made ??= make();
    return made;
  };
}
