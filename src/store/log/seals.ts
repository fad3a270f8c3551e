// The sealed log: the places of entries in the Merkle tree, the hashes of complete subtrees, and the progress of
// sealing. guard/log/sealed-log.ts decides the order of sealing, and core/log/merkle.ts has the arithmetic of the tree.

import { type Hash, joined, type Node, nodesOf, paired, type Subtree } from '../../core/log/merkle.ts';
import { into, type Queries, type Transaction } from '../engine/db.ts';
import { AUDIT_COLUMNS, ENTRY_COLUMNS } from './audit.ts';
import { type AuditEntry, type AuditRow, withShadow } from './audit-entry.ts';

export interface Sealing {
  revision: number;
  holder: string;
  leasedUntil: number;
  /** The number of sealed entries. */
  size: number;
  /** The first pass, soon after entries are written, has come to this id. */
  newestId: string;
  /** The second pass, some time later, has come to this id. */
  recentId: string;
  /** The slow pass over the whole log has come to this id. It starts again at the time `fullAfter`. */
  fullId: string;
  fullAfter: number;
}

export async function readSealing(db: Queries): Promise<Sealing> {
  const [row] = await db.all<Sealing>(
    `SELECT revision, holder, leased_until AS "leasedUntil", size, newest_id AS "newestId", recent_id AS "recentId",
       full_id AS "fullId", full_after AS "fullAfter" FROM sealing WHERE name = 'audit'`,
  );
  if (row === undefined) throw new Error('the table "sealing" has lost its row');
  return row;
}

/** False when another replica has written the row since it was read; the transaction must then be rolled back. */
export async function updateSealing(db: Queries, read: Sealing, to: Partial<Sealing>): Promise<boolean> {
  const next = { ...read, ...to };
  const changed = await db.run(
    `UPDATE sealing SET revision = revision + 1, holder = $2, leased_until = $3, size = $4, newest_id = $5,
       recent_id = $6, full_id = $7, full_after = $8 WHERE name = 'audit' AND revision = $1`,
    [
      read.revision,
      next.holder,
      next.leasedUntil,
      next.size,
      next.newestId,
      next.recentId,
      next.fullId,
      next.fullAfter,
    ],
  );
  return changed === 1;
}

/** A range of ids, without its bounds. */
export interface Span {
  after: string;
  before: string;
}

/** The last id of the first `limit` entries in a range; null when there are none. */
export async function sliceEnd(db: Queries, span: Span, limit: number): Promise<string | null> {
  const [row] = await db.all<{ id: string | null }>(
    `SELECT max(id) AS id FROM (
       SELECT id FROM audit_entries WHERE id > $1 AND id < $2 ORDER BY id LIMIT $3) AS slice`,
    [span.after, span.before, limit],
  );
  return row?.id ?? null;
}

/** The entries after an id and up to another that have no place in the tree yet, in the order of their ids. */
export async function unsealedIn(db: Queries, after: string, end: string): Promise<AuditEntry[]> {
  const rows = await db.all<AuditRow>(
    `SELECT ${AUDIT_COLUMNS} FROM audit WHERE id > $1 AND id <= $2
     AND NOT EXISTS (SELECT 1 FROM seals WHERE seals.entry_id = audit.id) ORDER BY id`,
    [after, end],
  );
  return rows.map(withShadow);
}

/** The first entry after an id, or null: the entry that sealing has to read next. */
export async function firstAfter(db: Queries, id: string): Promise<string | null> {
  const [row] = await db.all<{ id: string }>(
    'SELECT id FROM audit_entries WHERE id > $1 ORDER BY id LIMIT 1',
    [id],
  );
  return row?.id ?? null;
}

export interface Seal {
  seq: number;
  entryId: string;
  leafHash: string;
}

const SEALS = into('seals', { seq: 'bigint', entry_id: 'text', leaf_hash: 'text' });

export function insertSeals(tx: Transaction, seals: readonly Seal[]): void {
  tx.insert(
    SEALS,
    seals.flatMap(({ seq, entryId, leafHash }) => [seq, entryId, leafHash]),
  );
}

/** Every eighth level of complete subtrees is stored. */
const KEPT_LEVELS = 8;

export function insertNode(tx: Transaction, { level, index }: Node, hash: Hash): void {
  if (level % KEPT_LEVELS !== 0) return;
  tx.defer('INSERT INTO seal_nodes (level, position, hash) VALUES ($1, $2, $3)', [level, index, text(hash)]);
}

export async function sealOf(db: Queries, entryId: string): Promise<Seal | null> {
  const [row] = await db.all<Seal>(
    'SELECT seq, entry_id AS "entryId", leaf_hash AS "leafHash" FROM seals WHERE entry_id = $1',
    [entryId],
  );
  return row ?? null;
}

/** The entry in a place; null beyond the end of the log. */
export async function entryIdAt(db: Queries, seq: number): Promise<string | null> {
  const [row] = await db.all<{ id: string }>('SELECT entry_id AS id FROM seals WHERE seq = $1', [seq]);
  return row?.id ?? null;
}

/** The number of sealed entries, computed from the seals themselves. */
export async function sealedSize(db: Queries): Promise<number> {
  const [row] = await db.all<{ last: number | null }>('SELECT max(seq) AS last FROM seals');
  return row?.last == null ? 0 : row.last + 1;
}

export async function subtreeHash(db: Queries, subtree: Subtree): Promise<Hash> {
  return joined(await wholeHashes(db, subtree));
}

/** The hashes of the complete subtrees of which a subtree consists. */
export async function wholeHashes(db: Queries, subtree: Subtree): Promise<Hash[]> {
  const hashes: Hash[] = [];
  for (const node of nodesOf(subtree)) hashes.push(await nodeHashOf(db, node));
  return hashes;
}

/** Computes the hash from the nearest stored level below, which takes at most 128 hashes. */
async function nodeHashOf(db: Queries, { level, index }: Node): Promise<Hash> {
  const kept = level - (level % KEPT_LEVELS);
  const count = 2 ** (level - kept);
  const rows = await db.all<{ hash: string }>(
    kept === 0
      ? 'SELECT leaf_hash AS hash FROM seals WHERE seq >= $1 AND seq < $2 ORDER BY seq'
      : `SELECT hash FROM seal_nodes WHERE level = $3 AND position >= $1 AND position < $2 ORDER BY position`,
    kept === 0 ? [index * count, (index + 1) * count] : [index * count, (index + 1) * count, kept],
  );
  if (rows.length !== count) throw new Error('The sealed log is not whole: run toolgate audit verify.');
  return paired(rows.map(row => new Uint8Array(Buffer.from(row.hash, 'base64'))));
}

function text(hash: Hash): string {
  return Buffer.from(hash).toString('base64');
}

interface SealedRow {
  seq: number;
  entryId: string;
  leafHash: string;
  /** Null when the entry is missing. */
  entry: AuditEntry | null;
}

/** The places from `from` on with their entries, in order. */
export async function listSealed(db: Queries, from: number, limit: number): Promise<SealedRow[]> {
  const rows = await db.all<Seal & AuditRow & { id: string | null }>(
    `SELECT seq, entry_id AS "entryId", leaf_hash AS "leafHash", ${ENTRY_COLUMNS} FROM seals
     LEFT JOIN audit_entries e ON e.id = seals.entry_id LEFT JOIN audit_contexts c ON c.id = e.context WHERE seq >= $1 ORDER BY seq LIMIT $2`,
    [from, limit],
  );
  return rows.map(({ seq, entryId, leafHash, ...row }) => ({
    seq,
    entryId,
    leafHash,
    entry: row.id === null ? null : withShadow(row),
  }));
}

/**
 * The entries without a place among the next `limit` of the log, and the id with which those end; null at the end of
 * the log.
 */
export async function listUnsealed(
  db: Queries,
  after: string,
  limit: number,
): Promise<{ ids: string[]; end: string | null }> {
  const end = await sliceEnd(db, { after, before: 'z' }, limit);
  if (end === null) return { ids: [], end };
  return { ids: (await unsealedIn(db, after, end)).map(entry => entry.id), end };
}
