// The audit log as a Merkle tree. Entries get their place when they are sealed, never by their ids: replicas'
// clocks differ and PostgreSQL commits out of order, so an entry can appear behind one that is sealed already.
// Three passes find them: soon after writing, a minute later, and in a slow walk over everything. When they
// run is the sealer's; no check waits for any of this.

import {
  type Checkpoint,
  checkpointText,
  signedNote,
  type VerifierKey,
  verifierKey,
} from '../../core/checkpoint.ts';
import { entryLeaf, shownEntry } from '../../core/entry.ts';
import { type Hash, type Node, Tree } from '../../core/merkle.ts';
import { firstIdAt } from '../../store/audit.ts';
import { type CheckpointRecord, checkpointBy, insertCheckpoint } from '../../store/checkpoints.ts';
import type { Queries } from '../../store/db.ts';
import {
  firstAfter,
  insertNode,
  insertSeals,
  readSealing,
  type Sealing,
  type Span,
  sealedSize,
  sliceEnd,
  subtreeHash,
  unsealedIn,
  updateSealing,
  wholeHashes,
} from '../../store/seals.ts';
import { keepSetting } from '../../store/settings.ts';
import type { Deps } from '../deps.ts';
import { newId, timeOfId } from '../ids.ts';
import { newestSigned, type Signed, wantSigned } from './signed-checkpoints.ts';

/** Younger entries are left alone: twice what a transaction may take, so that few appear late. */
const SETTLE_MS = 5000;
const RECENT_MS = 60_000;
/** Ids from further ahead than this are a wrong clock's: they are not waited for. */
const AHEAD_MS = 600_000;
const FULL_EVERY_MS = 3_600_000;
/** Entries of one transaction: on SQLite checks wait while it lasts, 2 ms here. */
const BATCH = 256;
/** Entries only looked at. */
const SLICE = 1024;
/** A replica that died is replaced after this long. */
const LEASE_MS = 10_000;
/** A longer one was taken by a clock that is ahead, and would keep everybody waiting if its holder died. */
const LONGEST_LEASE_MS = 60_000;
const LAST_ID = 'z';

export interface Lag {
  size: number;
  /** When the oldest entry that is not sealed was made; null when all are. */
  behindSince: number | null;
}

export class SealedLog {
  readonly #deps: Deps;
  readonly #holder = newId();
  readonly #key: VerifierKey;
  /** Of the size that it has; anew from the store whenever that is not the log's. */
  #tree = new Tree();
  /** How long entries are kept; null: for ever. */
  readonly #retention: number | null;

  constructor(deps: Deps, key: VerifierKey, retention: number | null) {
    this.#deps = deps;
    this.#key = key;
    this.#retention = retention;
  }

  async lag(): Promise<Lag> {
    const { size, newestId } = await readSealing(this.#deps.db);
    const first = await firstAfter(this.#deps.db, newestId);
    return { size, behindSince: first === null ? null : timeOfId(first) };
  }

  /** How far sealing is, if this replica may go on with it: nobody else is at it. */
  async ours(): Promise<Sealing | null> {
    const state = await readSealing(this.#deps.db);
    const left = state.leasedUntil - this.#deps.now();
    const taken = state.holder !== this.#holder && left > 0 && left <= LONGEST_LEASE_MS;
    return taken ? null : state;
  }

  /**
   * After a clock that was ahead: what is made from now on lies before the marks. They are set back, which no pass
   * minds, and the slow one begins anew for what was made since the clock was put right.
   */
  async setBack(state: Sealing): Promise<void> {
    const now = this.#deps.now();
    const ahead =
      state.newestId > firstIdAt(now + AHEAD_MS) || state.fullAfter > now + FULL_EVERY_MS + AHEAD_MS;
    if (!ahead) return;
    const id = firstIdAt(now - RECENT_MS);
    await this.#update(this.#deps.db, state, { newestId: id, recentId: id, fullId: '', fullAfter: 0 });
  }

  /** Seals the next entries that are old enough; true while there may be more. */
  sealNew(state: Sealing): Promise<boolean> {
    const span = this.#until(state.newestId, SETTLE_MS);
    return this.#pass(state, span, BATCH, end => ({ newestId: end }));
  }

  /** Seals what appeared late among the entries of a minute ago. */
  sealLate(state: Sealing): Promise<boolean> {
    const span = this.#behind(state, state.recentId);
    return this.#pass(state, span, SLICE, end => ({ recentId: end }));
  }

  /** Seals what appeared later still, or with an id from the future; begins again an hour after its end. */
  async sealLost(state: Sealing): Promise<void> {
    const now = this.#deps.now();
    if (now < state.fullAfter) return;
    const moved = (end: string) => ({ fullId: end });
    if (await this.#pass(state, this.#behind(state, state.fullId), SLICE, moved)) return;
    const ahead = firstIdAt(now + AHEAD_MS);
    const after = state.fullId > ahead ? state.fullId : ahead;
    if (await this.#pass(state, { after, before: LAST_ID }, SLICE, moved)) return;
    const read = await this.ours();
    const rested = { fullId: '', fullAfter: now + FULL_EVERY_MS };
    if (read !== null) await this.#update(this.#deps.db, read, rested);
  }

  #until(after: string, ago: number): Span {
    return { after, before: firstIdAt(this.#deps.now() - ago) };
  }

  /** What was looked at once, a minute ago: a backlog is left to the pass that goes first, in smaller batches. */
  #behind({ newestId }: Sealing, after: string): Span {
    const span = this.#until(after, RECENT_MS);
    return newestId < span.before ? { ...span, before: newestId } : span;
  }

  /** One slice: what in it has no place gets the next ones, in the order of ids. */
  async #pass(
    state: Sealing,
    span: Span,
    limit: number,
    moved: (end: string) => Partial<Sealing>,
  ): Promise<boolean> {
    const { db } = this.#deps;
    const end = await sliceEnd(db, span, limit);
    if (end === null) return false;
    const entries = await unsealedIn(db, span.after, end);
    const tree = await this.#treeOf(state.size);
    const nodes: [Node, Hash][] = [];
    const seals = entries.map(entry => {
      const leaf = entryLeaf(shownEntry(entry));
      const seq = tree.size;
      tree.append(leaf, (node, hash) => nodes.push([node, hash]));
      return { seq, entryId: entry.id, leafHash: Buffer.from(leaf).toString('base64') };
    });
    const committed = await db.transaction({}, async tx => {
      if (!(await this.#update(tx, state, { ...moved(end), size: tree.size }))) return false;
      insertSeals(tx, seals);
      for (const [node, hash] of nodes) insertNode(tx, node, hash);
      return true;
    });
    if (committed) this.#tree = tree;
    return committed;
  }

  /** Signs what is sealed, unless that was signed before. Null: nothing new, or somebody else was faster. */
  async checkpoint(state: Sealing): Promise<CheckpointRecord | null> {
    const { db, vault, now } = this.#deps;
    const last = await newestSigned(db, this.#key);
    // Overtaken: more was sealed and signed since the state was read, which is no tampering.
    if (last !== null && last.size > state.size && (await readSealing(db)).revision !== state.revision)
      return null;
    const retention = this.#retention ?? 'forever';
    const given = await this.#giveUp(last, state.size);
    const same = last?.size === state.size && last.pruned === given.pruned && last.retention === retention;
    if (same || (last === null && state.size === 0)) return null;
    await this.#wantGrowth(last, state);
    const checkpoint: Checkpoint = {
      origin: this.#key.name,
      size: state.size,
      root: Buffer.from((await this.#treeOf(state.size)).root()).toString('base64'),
      at: now(),
      through: state.newestId === '' ? 0 : timeOfId(state.newestId),
      retention,
      ...given,
    };
    const text = checkpointText(checkpoint);
    const note = signedNote(text, this.#key, vault.signCheckpoint(text));
    const record = { number: (last?.number ?? 0) + 1, at: checkpoint.at, size: state.size, note };
    return db.transaction({}, async tx => {
      if (!(await this.#update(tx, state, {}))) return null;
      await insertCheckpoint(tx, record);
      return record;
    });
  }

  /**
   * The places whose entries retention may remove from now on: those of the newest checkpoint that is as old as the
   * retention period. Nothing else in the store is asked for an entry's age, since whoever writes to the store could
   * have changed it; a checkpoint's time is signed.
   */
  async #giveUp(last: Signed | null, size: number): Promise<Pick<Checkpoint, 'pruned' | 'givenUp'>> {
    const { db, now } = this.#deps;
    const at = now();
    // What was given up stays so under a longer period, but not if it was by a clock that was ahead.
    const before =
      last?.givenUp && last.givenUp.at <= at
        ? { pruned: last.pruned, givenUp: last.givenUp }
        : { pruned: 0, givenUp: null };
    if (this.#retention === null || last === null) return before;
    const record = await checkpointBy(db, at - this.#retention, last.number);
    const old = record && (await wantSigned(record, this.#key));
    if (old === null || old.size <= before.pruned || old.size > size) return before;
    await this.#wantBeginning(old);
    const { root, at: signedAt } = old;
    return { pruned: old.size, givenUp: { at, retention: this.#retention, root, signedAt } };
  }

  /** What contradicts the last checkpoint is never signed: it would be our word for somebody's tampering. */
  async #wantGrowth(signed: Checkpoint | null, state: Sealing): Promise<void> {
    if (signed === null) return;
    if (signed.size > state.size) throw contradicted(signed);
    await this.#wantBeginning(signed);
  }

  async #wantBeginning(signed: Checkpoint): Promise<void> {
    const root = await subtreeHash(this.#deps.db, { from: 0, to: signed.size });
    if (Buffer.from(root).toString('base64') !== signed.root) throw contradicted(signed);
  }

  /** Each write renews the lease. */
  #update(db: Queries, read: Sealing, to: Partial<Sealing>): Promise<boolean> {
    const leasedUntil = this.#deps.now() + LEASE_MS;
    return updateSealing(db, read, { ...to, holder: this.#holder, leasedUntil });
  }

  /** A tree to append to: the remembered one is not touched, since the commit may fail. */
  async #treeOf(size: number): Promise<Tree> {
    if (this.#tree.size === size) return this.#tree.copy();
    const { db } = this.#deps;
    if ((await sealedSize(db)) < size) {
      throw new Error(`The sealed log has lost its end: it had ${size} entries. Run toolgate audit verify.`);
    }
    return new Tree(size, await wholeHashes(db, { from: 0, to: size }));
  }
}

function contradicted({ size }: Checkpoint): Error {
  return new Error(
    `The sealed log contradicts its checkpoint of ${size} entries: no checkpoint is signed. Run toolgate audit verify.`,
  );
}

const LOG_ID = 'log_id';

/** The key that signs this store's checkpoints; its name is the log's own, made once. */
export async function logKey(deps: Deps): Promise<VerifierKey> {
  const id = await keepSetting(deps.db, LOG_ID, newId());
  return verifierKey(`toolgate/${id}`, deps.vault.checkpointPublicKey);
}
