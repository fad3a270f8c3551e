// The audit log as a Merkle tree. An entry gets its place in the tree when it is sealed, and not by its id: the clocks
// of replicas differ and PostgreSQL commits out of order, so an entry can appear whose id is before that of one already
// sealed. Three passes find the entries: soon after they are written, a minute later, and in a slow scan of the whole
// log. sealer.ts runs the passes. No check waits for them.

import {
  type Checkpoint,
  checkpointText,
  signedNote,
  type VerifierKey,
  verifierKey,
} from '../../core/log/checkpoint.ts';
import { entryLeaf, sealedEntry } from '../../core/log/entry.ts';
import { type Hash, type Node, Tree } from '../../core/log/merkle.ts';
import type { Queries } from '../../store/engine/db.ts';
import { firstIdAt } from '../../store/log/audit.ts';
import { type CheckpointRecord, checkpointBy, insertCheckpoint } from '../../store/log/checkpoints.ts';
import {
  firstAfter,
  insertNode,
  insertSeals,
  readSealing,
  type Seal,
  type Sealing,
  type Span,
  sealedSize,
  sliceEnd,
  subtreeHash,
  unsealedIn,
  updateSealing,
  wholeHashes,
} from '../../store/log/seals.ts';
import { keepSetting } from '../../store/settings.ts';
import type { Deps } from '../deps.ts';
import { newId, timeOfId } from '../ids.ts';
import { nextTurn } from './long-reads.ts';
import { newestSigned, requireSigned, type Signed } from './signed-checkpoints.ts';

/** Younger entries are not sealed yet. This is twice what a transaction may take, so that few entries appear late. */
const MIN_AGE_MS = 5000;
const RECENT_MS = 60_000;
/** Ids further in the future than this come from a wrong clock. They are sealed without waiting for their time. */
const AHEAD_MS = 600_000;
const FULL_EVERY_MS = 3_600_000;
/** How many entries one transaction seals. On SQLite checks wait for it, which takes 0.5 ms. */
const BATCH = 256;
/** How many entries are hashed before a pause. */
const HASHED = 64;
/** How many entries the other two passes read at a time; most of them are already sealed. */
const SLICE = 1024;
/** If a replica dies, another one takes over after this long. */
const LEASE_MS = 10_000;
/**
 * A lease that lasts longer was taken by a replica whose clock is ahead. It is ignored, since its holder may have died.
 */
const LONGEST_LEASE_MS = 60_000;
const LAST_ID = 'z';

export interface Lag {
  size: number;
  /** When the oldest entry that is not sealed was made; null if all entries are sealed. */
  behindSince: number | null;
}

export class SealedLog {
  readonly #deps: Deps;
  readonly #holder = newId();
  readonly #key: VerifierKey;
  /** The tree as this replica last saw it. If its size is not the log's, it is read again from the store. */
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

  /** The state of the sealing, or null while another replica has the lease. */
  async ours(): Promise<Sealing | null> {
    const state = await readSealing(this.#deps.db);
    const left = state.leasedUntil - this.#deps.now();
    const taken = state.holder !== this.#holder && left > 0 && left <= LONGEST_LEASE_MS;
    return taken ? null : state;
  }

  /**
   * Moves the marks back if they lie in the future, because a clock was ahead and has been corrected: new entries would
   * lie before the marks and never be sealed. The passes skip entries that are already sealed, so reading some again
   * does no harm. The slow pass starts again, to find the entries that were made since the clock was corrected.
   */
  async setBack(state: Sealing): Promise<void> {
    const now = this.#deps.now();
    const ahead =
      state.newestId > firstIdAt(now + AHEAD_MS) || state.fullAfter > now + FULL_EVERY_MS + AHEAD_MS;
    if (!ahead) return;
    const id = firstIdAt(now - RECENT_MS);
    await this.#update(this.#deps.db, state, { newestId: id, recentId: id, fullId: '', fullAfter: 0 });
  }

  /** Seals the next entries that are old enough, and returns true while there may be more. It pauses now and then. */
  sealNew(state: Sealing, pause = nextTurn): Promise<boolean> {
    const span = this.#until(state.newestId, MIN_AGE_MS);
    return this.#pass(state, span, BATCH, end => ({ newestId: end }), pause);
  }

  /** Seals entries that were not there yet when sealNew passed, one minute after they were made. */
  sealLate(state: Sealing, pause = nextTurn): Promise<boolean> {
    const span = this.#behind(state, state.recentId);
    return this.#pass(state, span, SLICE, end => ({ recentId: end }), pause);
  }

  /** Seals entries that appeared even later, or with an id in the future. It starts again an hour after its end. */
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

  /** Entries older than a minute that sealNew has passed. A backlog is left to sealNew, which uses smaller batches. */
  #behind({ newestId }: Sealing, after: string): Span {
    const span = this.#until(after, RECENT_MS);
    return newestId < span.before ? { ...span, before: newestId } : span;
  }

  /** Seals one slice of the log: its entries without a place get the next places, in the order of their ids. */
  async #pass(
    state: Sealing,
    span: Span,
    limit: number,
    moved: (end: string) => Partial<Sealing>,
    pause = nextTurn,
  ): Promise<boolean> {
    const { db } = this.#deps;
    const end = await sliceEnd(db, span, limit);
    if (end === null) return false;
    const entries = await unsealedIn(db, span.after, end);
    const tree = await this.#treeOf(state.size);
    const nodes: [Node, Hash][] = [];
    const seals: Seal[] = [];
    for (const entry of entries) {
      if (seals.length % HASHED === 0) await pause();
      const leaf = entryLeaf(sealedEntry(entry));
      const seq = tree.size;
      tree.append(leaf, (node, hash) => nodes.push([node, hash]));
      seals.push({ seq, entryId: entry.id, leafHash: Buffer.from(leaf).toString('base64') });
    }
    const committed = await db.transaction({}, async tx => {
      if (!(await this.#update(tx, state, { ...moved(end), size: tree.size }))) return false;
      insertSeals(tx, seals);
      for (const [node, hash] of nodes) insertNode(tx, node, hash);
      return true;
    });
    if (committed) this.#tree = tree;
    return committed;
  }

  /** Signs the sealed log. Null: nothing has changed since the last checkpoint, or another replica was faster. */
  async checkpoint(state: Sealing): Promise<CheckpointRecord | null> {
    const { db, vault, now } = this.#deps;
    const last = await newestSigned(db, this.#key);
    // Another replica has sealed and signed more since the state was read. This is not tampering.
    if (last !== null && last.size > state.size && (await readSealing(db)).revision !== state.revision)
      return null;
    const retention = this.#retention ?? 'forever';
    const given = await this.#giveUp(last, state.size);
    const same = last?.size === state.size && last.pruned === given.pruned && last.retention === retention;
    if (same || (last === null && state.size === 0)) return null;
    await this.#requireGrowth(last, state);
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
   * The places whose entries retention may remove from now on: those of the newest checkpoint that is at least as old
   * as the retention period. Only a checkpoint's time is trusted for the age of entries, because it is signed. Anybody
   * who can write to the store could have changed the other times in it.
   */
  async #giveUp(last: Signed | null, size: number): Promise<Pick<Checkpoint, 'pruned' | 'givenUp'>> {
    const { db, now } = this.#deps;
    const at = now();
    // Places stay given up if the retention period becomes longer, unless a clock that was ahead gave them up.
    const before =
      last?.givenUp && last.givenUp.at <= at
        ? { pruned: last.pruned, givenUp: last.givenUp }
        : { pruned: 0, givenUp: null };
    if (this.#retention === null || last === null) return before;
    const record = await checkpointBy(db, at - this.#retention, last.number);
    const old = record && (await requireSigned(record, this.#key));
    if (old === null || old.size <= before.pruned || old.size > size) return before;
    await this.#requireBeginning(old);
    const { root, at: signedAt } = old;
    return { pruned: old.size, givenUp: { at, retention: this.#retention, root, signedAt } };
  }

  /** A tree that contradicts the last checkpoint is never signed: the signature would confirm somebody's tampering. */
  async #requireGrowth(signed: Checkpoint | null, state: Sealing): Promise<void> {
    if (signed === null) return;
    if (signed.size > state.size) throw contradicted(signed);
    await this.#requireBeginning(signed);
  }

  async #requireBeginning(signed: Checkpoint): Promise<void> {
    const root = await subtreeHash(this.#deps.db, { from: 0, to: signed.size });
    if (Buffer.from(root).toString('base64') !== signed.root) throw contradicted(signed);
  }

  /** Writes the new state and renews the lease. False: another replica has changed the state since it was read. */
  #update(db: Queries, read: Sealing, to: Partial<Sealing>): Promise<boolean> {
    const leasedUntil = this.#deps.now() + LEASE_MS;
    return updateSealing(db, read, { ...to, holder: this.#holder, leasedUntil });
  }

  /** A copy of the tree to append to. The remembered tree is not changed, because the commit may fail. */
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

/** The key that signs this store's checkpoints. */
export async function logKey(deps: Deps): Promise<VerifierKey> {
  return verifierKey(await logName(deps.db), deps.vault.checkpointPublicKey);
}

/** The name of this store's log in its checkpoints. It contains the id of the log, which is made once. */
export async function logName(db: Queries): Promise<string> {
  return `toolgate/${await keepSetting(db, LOG_ID, newId())}`;
}
