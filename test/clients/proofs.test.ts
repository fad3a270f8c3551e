// Inclusion proofs as the service makes them, kept as vectors, and verified by both clients: what is right holds, and
// one thing wrong anywhere is refused for that reason. TOOLGATE_TEST_RECORD=1 writes the vectors anew.

import { describe, expect, test } from 'bun:test';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { verifyEd25519 as clientVerifies } from '../../clients/typescript/src/ed25519.ts';
import { type InclusionProof, ProofRejected, verifyInclusion } from '../../clients/typescript/src/index.ts';
import { verifyEd25519 as serviceVerifies } from '../../src/core/approvals/ed25519.ts';
import { verifierKey, verifierKeyText } from '../../src/core/log/checkpoint.ts';
import { shownEntry } from '../../src/core/log/entry.ts';
import { proveInclusion } from '../../src/guard/log/proofs.ts';
import { logKey } from '../../src/guard/log/sealed-log.ts';
import { keepSetting } from '../../src/store/settings.ts';
import { Clock, entries, MINUTE, sealedLog, sealerOn, write } from '../guard/log/sealing.ts';
import { auditEntry, idAt, NOW, openStore } from '../store/stores.ts';
import { need } from '../support/need.ts';
import { onPath, ROOT } from '../support/service.ts';

const FILE = join(ROOT, 'test/vectors/inclusion-proofs.json');
const SIZES = [1, 2, 7, 300];
const ODD = 'say "hi" \\ \u0000\u001f\u007f\u2028 é 😀 \ue000 \t\n/';

interface Vectors {
  publicKey: string;
  holds: InclusionProof[];
  refused: { why: string; code: string; publicKey: string; proof: unknown }[];
}

/** Proofs of the first, a middle and the last entry in logs of several sizes; always the same ones. */
async function makeVectors(): Promise<Vectors> {
  const store = await openStore('sqlite');
  const clock = new Clock();
  await keepSetting(store.db, 'log_id', 'vectors');
  const one = await sealerOn(store.db, clock);
  const holds: InclusionProof[] = [];
  let count = 0;
  for (const size of SIZES) {
    const odd = auditEntry({
      id: idAt(clock.now + 999, count),
      at: clock.now + 999,
      reason: ODD,
      ruleIndex: null,
    });
    await write(store.db, [...entries(size - count - 1, clock.now), odd]);
    clock.now += 2 * MINUTE;
    await one.settle();
    count = size;
    const { ids } = await sealedLog(store.db, one.deps);
    for (const at of new Set([0, size >> 1, size - 1])) {
      const proof = await proveInclusion(one.deps, ids[at] as string);
      holds.push({ ...proof, entry: proof.entry && shownEntry(proof.entry) });
    }
  }
  // The trace of a call is shown with its entry, and not sealed.
  const newest = holds.at(-1) as InclusionProof;
  const traced = { ...newest, entry: { ...newest.entry, traceId: 'a'.repeat(32) } };
  const publicKey = verifierKeyText(await logKey(one.deps));
  await store.close();
  return { publicKey, holds: [...holds, traced], refused: spoil(publicKey, holds) };
}

/** The proof of a middle entry of 300, with one thing wrong each. */
function spoil(publicKey: string, holds: readonly InclusionProof[]): Vectors['refused'] {
  const proof = holds.at(-2) as InclusionProof;
  const other = holds.at(-1) as InclusionProof;
  const older = holds[3] as InclusionProof;
  const entry = proof.entry as Record<string, unknown>;
  const [first = '', ...rest] = proof.path;
  const { seq, ...noSeq } = proof;
  const cases: [why: string, code: string, proof: unknown][] = [
    ['the decision is another', 'proof_entry', { ...proof, entry: { ...entry, decision: 'deny' } }],
    ['a field more', 'proof_entry', { ...proof, entry: { ...entry, more: null } }],
    ['a number that is no whole one', 'proof_entry', { ...proof, entry: { ...entry, latencyMs: 1.5 } }],
    ['another entry', 'proof_entry', { ...proof, entry: other.entry }],
    ['another place', 'proof_entry', { ...proof, seq: seq + 1 }],
    ['a place beyond the log', 'proof_entry', { ...proof, seq: 300 }],
    ['a path that is too short', 'proof_entry', { ...proof, path: rest }],
    ['a path that is too long', 'proof_entry', { ...proof, path: [...proof.path, first] }],
    ['a path in another order', 'proof_entry', { ...proof, path: [...rest, first] }],
    ['an older checkpoint', 'proof_checkpoint', { ...proof, checkpoint: older.checkpoint }],
    [
      'a checkpoint with another size',
      'proof_checkpoint',
      { ...proof, size: 301, checkpoint: proof.checkpoint.replace('\n300\n', '\n301\n') },
    ],
    [
      'a checkpoint with another time',
      'proof_checkpoint',
      { ...proof, checkpoint: proof.checkpoint.replace('time 20', 'time 19') },
    ],
    [
      'a checkpoint without a signature',
      'proof_checkpoint',
      { ...proof, checkpoint: proof.checkpoint.split('—')[0] },
    ],
    [
      'a signature over another text',
      'proof_checkpoint',
      {
        ...proof,
        checkpoint:
          (proof.checkpoint.split('\n\n')[0] as string) +
          older.checkpoint.slice(older.checkpoint.indexOf('\n\n')),
      },
    ],
    ['no entry', 'proof_shape', { ...proof, entry: null }],
    ['no place', 'proof_shape', noSeq],
    ['an invalid hash', 'proof_shape', { ...proof, path: ['AAAA', ...rest] }],
    ['no object', 'proof_shape', [proof]],
  ];
  return cases.map(([why, code, spoilt]) => ({ why, code, publicKey, proof: spoilt }));
}

const made = await makeVectors();
if (process.env['TOOLGATE_TEST_RECORD'] === '1' || !existsSync(FILE)) {
  writeFileSync(FILE, `${JSON.stringify(made, null, 2)}\n`);
}
const vectors: Vectors = JSON.parse(readFileSync(FILE, 'utf8'));
const read = (name: string) => JSON.parse(readFileSync(join(ROOT, 'test/vectors', name), 'utf8'));
/** Made when checkpoints did not state the retention yet. */
const older: Pick<Vectors, 'publicKey' | 'holds'> = read('inclusion-proofs-older.json');
const signatures: { why: string; holds: boolean; publicKey: string; message: string; signature: string }[] =
  read('ed25519.json');

test('the vectors are what the service makes', () => {
  expect(JSON.parse(JSON.stringify(made))).toEqual(vectors);
});

describe('the TypeScript client', () => {
  test('believes every right proof, parsed or as text', async () => {
    for (const proof of vectors.holds) {
      const { entry, seq, size } = proof;
      const want = { entry, seq, size, origin: 'toolgate/vectors' };
      expect(await verifyInclusion(proof, vectors.publicKey)).toMatchObject(want as object);
      expect(await verifyInclusion(JSON.stringify(proof, null, 2), `${vectors.publicKey}\n`)).toMatchObject({
        seq,
      });
    }
    const { signedAt } = await verifyInclusion(vectors.holds[0] as InclusionProof, vectors.publicKey);
    expect(signedAt).toBe(new Date(NOW + 2 * MINUTE).toISOString());
  });

  test('believes proofs under checkpoints of older versions', async () => {
    expect(older.holds.length).toBeGreaterThan(1);
    for (const proof of older.holds) {
      expect(await verifyInclusion(proof, older.publicKey)).toMatchObject({ entry: proof.entry as object });
    }
  });

  for (const { why, code, publicKey, proof } of vectors.refused) {
    test(`refuses ${why}`, async () => {
      const refusal = await verifyInclusion(proof as InclusionProof, publicKey).catch(error => error);
      expect(refusal).toBeInstanceOf(ProofRejected);
      expect(refusal.code).toBe(code);
    });
  }

  test('refuses every key but the log’s', async () => {
    const [proof] = vectors.holds as [InclusionProof];
    for (const key of ['', 'x', vectors.publicKey.slice(1), vectors.publicKey.replace('+A', '+B')]) {
      await expect(verifyInclusion(proof, key)).rejects.toMatchObject({ code: 'invalid_configuration' });
    }
    // Of the same name, and whole: the key of another log.
    const other = await crypto.subtle.generateKey('Ed25519', true, ['sign', 'verify']);
    const raw = new Uint8Array(await crypto.subtle.exportKey('raw', (other as CryptoKeyPair).publicKey));
    const stranger = verifierKeyText(verifierKey('toolgate/vectors', raw));
    await expect(verifyInclusion(proof, stranger)).rejects.toMatchObject({ code: 'proof_checkpoint' });
  });
});

const bytes = (hex: string) => new Uint8Array(Buffer.from(hex, 'hex'));

describe.each([
  ['the client', clientVerifies],
  ['the service', serviceVerifies],
])('signatures, by %s', (_, verifies) => {
  for (const { why, holds, publicKey, message, signature } of signatures) {
    test(`${holds ? 'believes' : 'refuses'}: ${why}`, async () => {
      expect(await verifies(bytes(publicKey), bytes(message), bytes(signature))).toBe(holds);
    });
  }
});

describe.if(need(onPath('python3'), 'python3 (for the Python client)'))('the Python client', () => {
  test('believes and refuses the same', async () => {
    const child = Bun.spawn(['python3', '-W', 'error', '-m', 'unittest', 'tests.test_proofs'], {
      cwd: join(ROOT, 'clients/python'),
      env: { PATH: process.env['PATH'] ?? '', PYTHONDONTWRITEBYTECODE: '1' },
      stderr: 'pipe',
    });
    const [said, status] = await Promise.all([new Response(child.stderr).text(), child.exited]);
    expect(status, said).toBe(0);
    expect(said).not.toContain('skipped');
  });
});
