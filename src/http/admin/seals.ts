// /admin/v1/audit, the part for the sealed log: its public key and size, signed checkpoints, proofs, and the log as a
// stream in the order in which it was sealed.

import { z } from 'zod';
import { GuardError } from '../../core/errors.ts';
import { parseCheckpoint, verifierKeyText } from '../../core/log/checkpoint.ts';
import { sealedEntry } from '../../core/log/entry.ts';
import { proveConsistency, proveInclusion } from '../../guard/log/proofs.ts';
import type { Queries } from '../../store/engine/db.ts';
import type { AuditEntry } from '../../store/log/audit-entry.ts';
import { type CheckpointRecord, listCheckpoints, newestCheckpoint } from '../../store/log/checkpoints.ts';
import { listSealed, readSealing } from '../../store/log/seals.ts';
import { iso, isoTime, list, page, paged } from '../serving/fields.ts';
import { holdOpen, type Route, route } from '../serving/route.ts';
import { stream } from '../serving/stream.ts';
import { entry } from './audit-fields.ts';

const hash = z.string().meta({ description: 'Base64 of 32 bytes.' });
const count = z.int();
const note = z.string().meta({
  description:
    'A C2SP signed note: origin, size, root, time, through, pruned, retention, what was given up, and the signature.',
});

const checkpoint = z.object({
  size: count,
  root: hash,
  createdAt: isoTime,
  sealedThrough: isoTime.meta({
    description: 'It contains every entry that was visible when it was signed and made before this time.',
  }),
  prunedBefore: count.meta({
    description: 'Entries before this sequence number may have been removed by retention.',
  }),
  note,
});

const sealing = z.object({
  publicKey: z.string().meta({ description: 'A C2SP verifier key: name, id and Ed25519 key. Keep a copy.' }),
  size: count,
  checkpoint: checkpoint.nullable().meta({ description: 'The newest one.' }),
});

const proof = z.object({
  seq: count,
  size: count,
  path: z.array(hash),
  entry: entry.nullable(),
  checkpoint: note,
});

const sequence = z
  .string()
  .regex(/^[0-9]{1,15}$/, 'must be a whole number')
  .transform(Number)
  .meta({ type: 'integer', minimum: 0 });

function show(record: CheckpointRecord): z.output<typeof checkpoint> {
  const read = parseCheckpoint(record.note);
  if (read === null) throw new GuardError('internal', 'A stored checkpoint cannot be read.');
  return {
    size: read.size,
    root: read.root,
    createdAt: iso(read.at),
    sealedThrough: iso(read.through),
    prunedBefore: read.pruned,
    note: record.note,
  };
}

export const sealRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/admin/v1/audit/sealing',
    access: 'view',
    tag: 'audit',
    summary: 'Read the sealed log’s public key, size and newest checkpoint',
    answers: { 200: { description: 'The state of the sealed log.', schema: sealing } },
    handle: async ({ services: { deps, checkpointKey } }) => {
      const { size } = await readSealing(deps.db);
      const newest = await newestCheckpoint(deps.db);
      const publicKey = verifierKeyText(checkpointKey);
      return Response.json({ publicKey, size, checkpoint: newest && show(newest) });
    },
  }),
  route({
    method: 'GET',
    path: '/admin/v1/audit/checkpoints',
    access: 'view',
    tag: 'audit',
    summary: 'List signed checkpoints, newest first',
    query: z.strictObject({ limit: page.limit, cursor: sequence.optional() }),
    answers: { 200: { description: 'Checkpoints.', schema: list('checkpoints', checkpoint) } },
    handle: async ({ services, query }) => {
      const before = query.cursor ?? Number.MAX_SAFE_INTEGER;
      const rows = await listCheckpoints(services.deps.db, query.limit + 1, before);
      return Response.json(paged('checkpoints', rows, query.limit, row => String(row.number), show));
    },
  }),
  route({
    method: 'GET',
    path: '/admin/v1/audit/consistency',
    access: 'view',
    tag: 'audit',
    summary: 'Prove that the sealed log only grew between two sizes',
    query: z.strictObject({ from: sequence, to: sequence }),
    answers: {
      200: {
        description: 'A consistency proof (RFC 6962).',
        schema: z.object({ from: count, to: count, path: z.array(hash) }),
      },
      409: { description: 'The log does not have that many entries.' },
    },
    handle: async ({ services, query: { from, to } }) =>
      Response.json({ from, to, path: await proveConsistency(services.deps, from, to) }),
  }),
  route({
    method: 'GET',
    path: '/admin/v1/audit/:id/proof',
    access: 'view',
    tag: 'audit',
    summary: 'Prove that an entry is in the newest checkpoint',
    answers: {
      200: { description: 'An inclusion proof (RFC 6962); the clients verify it.', schema: proof },
      409: { description: 'No checkpoint contains the entry yet.' },
    },
    handle: async ({ services, params }) => {
      const found = await proveInclusion(services.deps, params['id'] ?? '');
      return Response.json({ ...found, entry: found.entry && showSealed(found.entry) });
    },
  }),
  route({
    method: 'GET',
    path: '/admin/v1/audit/sealed',
    access: 'view',
    tag: 'audit',
    summary: 'Stream the sealed log, oldest first',
    description:
      'One line per sequence number: `{ seq, leafHash, entry }`; `entry` is null where retention removed it.',
    query: z.strictObject({ from: sequence.optional() }),
    answers: { 200: { description: 'One sequence number per line.', type: 'application/jsonl' } },
    handle: incoming => {
      holdOpen(incoming);
      const { services, query } = incoming;
      return new Response(stream(incoming, lines(services.deps.db, query.from ?? 0)), {
        headers: {
          'Content-Type': 'application/jsonl',
          'Content-Disposition': 'attachment; filename="toolgate-sealed.jsonl"',
          'Cache-Control': 'no-store',
        },
      });
    },
  }),
];

/** An entry with exactly the fields that were sealed, so that a verifier can hash it as it is. */
const showSealed = (row: AuditEntry): z.output<typeof entry> => sealedEntry(row);

const PAGE = 1000;

async function* lines(db: Queries, from: number): AsyncGenerator<string> {
  for (let at = from; ; at += PAGE) {
    const rows = await listSealed(db, at, PAGE);
    const texts = rows.map(
      ({ seq, leafHash, entry }) =>
        `${JSON.stringify({ seq, leafHash, entry: entry && showSealed(entry) })}\n`,
    );
    if (texts.length > 0) yield texts.join('');
    if (rows.length < PAGE) return;
  }
}
