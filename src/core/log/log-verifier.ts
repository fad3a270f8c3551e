// Compares a sealed log with its checkpoints, place by place in the order of sealing, and reports what was changed. It
// does no input or output and keeps only the places between two checkpoints, so that it can verify a log of any length.
// The caller has already verified the signatures of the checkpoints.

import type { Checkpoint } from './checkpoint.ts';
import { entryLeaf } from './entry.ts';
import { foreign, type Leaf, outOfOrder, type Stretch } from './log-stretch.ts';
import { Tree } from './merkle.ts';
import { CLOCKS_MS, type Claim, claimsOf, covering } from './retention-claims.ts';

export interface Place {
  seq: number;
  /** Null in an export if the entry is missing. */
  entryId: string | null;
  leafHash: string;
  /** The entry as it is shown; null when it is missing. */
  entry: object | null;
}

type FindingKind =
  | 'edited'
  | 'removed'
  | 'inserted'
  | 'reordered'
  | 'truncated'
  /** An entry was edited, removed or inserted together with its seal; a root cannot tell which. */
  | 'rewritten'
  | 'checkpoint';

export interface Finding {
  kind: FindingKind;
  /** Null if the finding is not about a single place. */
  seq: number | null;
  entryId: string | null;
  message: string;
}

/** The number of places that are kept to find out what happened. Beyond it, only the fact of a change is reported. */
const KEPT = 20_000;
/** Further findings are not listed. */
const MOST_FINDINGS = 1000;

/** An entry that differs from the one sealed in its place, and the leaf hash that it gives. */
interface Mismatch {
  finding: Finding;
  leafHash: string;
  found: string;
}

export class LogVerifier {
  readonly #findings: Finding[] = [];
  readonly #mismatches: Mismatch[] = [];
  /** Places that have not been seen so far; a later one may fill them. */
  readonly #missing: { from: number; to: number }[] = [];
  /** The checkpoints, all signed by the log's key. */
  #checkpoints: readonly Checkpoint[] = [];
  /**
   * Those checkpoints, and the earlier ones that they rest on, smallest first, with which the tree has not been
   * compared yet.
   */
  #ahead: Checkpoint[] = [];
  #met = 0;
  #newest: Checkpoint | null = null;
  readonly #tree = new Tree();
  /** The time for which entries had to be kept; null means as long as the checkpoints say. */
  readonly #atLeast: number | null;
  #prunedBefore = 0;
  /** The refused claim that gives up the most entries. */
  #refused: Claim | null = null;
  #next = 0;
  /** Every committed entry that is older than this is sealed before the current place. */
  #through = 0;
  #stretch: Stretch = { from: new Tree(), leaves: [] };
  /** A checkpoint that did not match; it is reported when the next leaf is known. */
  #failed: Checkpoint | null = null;
  /** True once the tree differs from the signed one; later roots then say nothing more. */
  #astray = false;

  constructor(checkpoints: readonly Checkpoint[], atLeast: number | null = null) {
    this.#atLeast = atLeast;
    this.believe(checkpoints);
  }

  get size(): number {
    return this.#next;
  }

  /** Entries before this sequence number may be missing. */
  get prunedBefore(): number {
    return this.#prunedBefore;
  }

  /** Adds checkpoints: the log may be signed, and retention may go on, while it is read. */
  believe(more: readonly Checkpoint[]): void {
    this.#checkpoints = [...this.#checkpoints, ...more];
    this.#ahead = [...this.#ahead.slice(this.#met), ...more, ...coveringOnce(more)]
      .filter(({ size }) => size >= this.#tree.size)
      .sort((a, b) => a.size - b.size || a.at - b.at);
    this.#met = 0;
    this.#newest = this.#checkpoints.reduce<Checkpoint | null>(
      (newest, each) => (newest === null || each.size >= newest.size ? each : newest),
      null,
    );
    for (const claim of claimsOf(this.#checkpoints, this.#atLeast)) {
      if (claim.refusal === null) this.#prunedBefore = Math.max(this.#prunedBefore, claim.before);
      else if (claim.before > (this.#refused?.before ?? 0)) this.#refused = claim;
    }
    // A checkpoint of exactly the places read so far has to be compared before the next place is added.
    this.#meet();
  }

  /** Whether places are missing: if so, an entry without a place may belong to one of them. */
  get hasGaps(): boolean {
    return this.#missing.length > 0 || (this.#newest?.size ?? 0) > this.#next;
  }

  /** Whether an entry without a place was inserted later, or else is only waiting to be sealed. */
  isOverdue(entryId: string): boolean {
    return timeOf(entryId) < Math.max(this.#through, this.#newest?.through ?? 0) - CLOCKS_MS;
  }

  take(place: Place): void {
    if (!this.#inOrder(place)) return;
    const leaf: Leaf = { ...place, hash: new Uint8Array(Buffer.from(place.leafHash, 'base64')) };
    if (this.#failed !== null) this.#explain(leaf);
    this.#compare(place);
    this.#tree.append(leaf.hash);
    this.#next = place.seq + 1;
    if (this.#stretch.leaves.length <= KEPT) this.#stretch.leaves.push(leaf);
    this.#meet();
  }

  /** All findings, in the order of their places. */
  end(): Finding[] {
    if (this.#failed !== null) this.#explain(null);
    this.#nameExchanged();
    for (const { from, to } of this.#missing) {
      const which = to - from === 1 ? 'This place is' : `The places up to ${to - 1} are`;
      this.#tell('removed', from, null, `${which} gone from the sealed log.`);
    }
    const newest = this.#newest;
    if (newest !== null && newest.size > this.#next) {
      const gone = `${newest.size - this.#next} of ${newest.size} entries are gone from the end`;
      this.#tell('truncated', this.#next, null, `${gone}: they were signed on ${iso(newest.at)}.`);
    }
    return this.#findings.toSorted((a, b) => (a.seq ?? -1) - (b.seq ?? -1));
  }

  #inOrder({ seq, entryId }: Place): boolean {
    if (seq === this.#next) return true;
    this.#astray = true;
    this.#failed = null;
    if (seq > this.#next) {
      this.#missing.push({ from: this.#next, to: seq });
      return true;
    }
    if (this.#fill(seq)) this.#tell('reordered', seq, entryId, `It stands after place ${this.#next - 1}.`);
    else this.#tell('inserted', seq, entryId, 'This place is there twice.');
    return false;
  }

  #fill(seq: number): boolean {
    const at = this.#missing.findIndex(({ from, to }) => seq >= from && seq < to);
    const gap = this.#missing[at];
    if (gap === undefined) return false;
    const rest = [
      { from: gap.from, to: seq },
      { from: seq + 1, to: gap.to },
    ];
    this.#missing.splice(at, 1, ...rest.filter(({ from, to }) => from < to));
    return true;
  }

  /** Entries that are in each other's places were exchanged, not edited. */
  #nameExchanged(): void {
    const sealedAt = new Map(this.#mismatches.map(each => [each.leafHash, each.finding.seq]));
    for (const { finding, found } of this.#mismatches) {
      const seq = sealedAt.get(found);
      if (seq === undefined) continue;
      finding.kind = 'reordered';
      finding.message = `The entry was sealed in place ${seq}.`;
    }
  }

  #compare({ seq, entryId, leafHash, entry }: Place): void {
    if (entry === null) {
      if (seq >= this.#prunedBefore) this.#tell('removed', seq, entryId, this.#whyRemoved(seq));
      return;
    }
    const found = Buffer.from(entryLeaf(entry)).toString('base64');
    if (found !== leafHash) {
      const finding = this.#tell('edited', seq, entryId, 'The entry is not the one that was sealed here.');
      if (this.#mismatches.length < KEPT) this.#mismatches.push({ finding, leafHash, found });
    } else if (entryId !== null && timeOf(entryId) < this.#through - CLOCKS_MS) {
      const why = `It says ${iso(timeOf(entryId))}, but came after everything up to ${iso(this.#through)} was sealed`;
      this.#tell('inserted', seq, entryId, `${why}: put in afterwards, or by a clock that far behind.`);
    }
  }

  #whyRemoved(seq: number): string {
    const gone = 'Its seal is there, the entry is not.';
    const refused = this.#refused;
    return refused === null || seq >= refused.before ? gone : `${gone} ${refused.refusal}`;
  }

  /** Compares the tree with every checkpoint of its size. */
  #meet(): void {
    for (;;) {
      const checkpoint = this.#ahead[this.#met];
      if (checkpoint === undefined || checkpoint.size > this.#tree.size) return;
      this.#met++;
      // A later checkpoint cannot unseal what was sealed, so `through` does not go back. The exception is a checkpoint
      // whose own time is earlier: after a clock that was ahead has been corrected, the entries that follow must not
      // all count as inserted.
      this.#through = Math.max(Math.min(this.#through, checkpoint.at), checkpoint.through);
      if (this.#astray) continue;
      if (Buffer.from(this.#tree.root()).toString('base64') !== checkpoint.root) {
        this.#failed = checkpoint;
        this.#astray = true;
      } else this.#stretch = { from: this.#tree.copy(), leaves: [] };
    }
  }

  /** Finds out what happened to the places before a checkpoint that does not match. */
  #explain(next: Leaf | null): void {
    const checkpoint = this.#failed as Checkpoint;
    this.#failed = null;
    const moved = this.#stretch.leaves.length > KEPT ? null : outOfOrder(this.#stretch, checkpoint);
    const extra = moved === null ? foreign(this.#stretch, next, checkpoint) : null;
    if (moved !== null) {
      this.#tell('reordered', moved.seq, moved.entryId, 'It was sealed in another place.');
    } else if (extra !== null) {
      this.#tell('inserted', extra.seq, extra.entryId, 'Without it, the log is the one that was signed.');
    } else this.#rewritten(checkpoint);
  }

  #rewritten(checkpoint: Checkpoint): void {
    const first = this.#stretch.leaves[0];
    const since = this.#stretch.from.size;
    this.#tell(
      'rewritten',
      since,
      first?.entryId ?? null,
      `One of the entries from here to sequence number ${checkpoint.size - 1} was changed together with its seal: ` +
        `they are not what was signed on ${iso(checkpoint.at)}.`,
    );
  }

  #tell(kind: FindingKind, seq: number, entryId: string | null, message: string): Finding {
    const finding = { kind, seq, entryId, message };
    if (this.#findings.length < MOST_FINDINGS) this.#findings.push(finding);
    return finding;
  }
}

/** The earlier checkpoints that others rest on, each of them once. */
function coveringOnce(checkpoints: readonly Checkpoint[]): Checkpoint[] {
  const found = new Map<string, Checkpoint>();
  for (const checkpoint of checkpoints) {
    const earlier = covering(checkpoint);
    if (earlier !== null) found.set(`${earlier.size} ${earlier.root}`, earlier);
  }
  return [...found.values()];
}

/**
 * The milliseconds in a UUID of version 7. An id that is not one counts as infinitely late, so that it is never
 * reported as inserted.
 */
function timeOf(id: string): number {
  const ms = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
  return Number.isNaN(ms) ? Number.MAX_SAFE_INTEGER : ms;
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
