// A stored checkpoint is ours only if our key signed it and the store says the same beside it: nothing less is built on.

import { expect, test } from 'bun:test';
import {
  type Checkpoint,
  checkpointText,
  signedNote,
  verifierKey,
} from '../../../src/core/log/checkpoint.ts';
import { requireSigned } from '../../../src/guard/log/signed-checkpoints.ts';
import { Vault } from '../../../src/guard/secrets.ts';

const vault = new Vault(new Uint8Array(32).fill(7));
const stranger = new Vault(new Uint8Array(32).fill(8));
const key = await verifierKey('toolgate/log', vault.checkpointPublicKey);
const said: Checkpoint = {
  origin: key.name,
  size: 3,
  root: Buffer.alloc(32).toString('base64'),
  at: 2000,
  through: 1000,
  retention: 'forever',
  pruned: 0,
  givenUp: null,
};
const text = checkpointText(said);
const record = { number: 4, at: 2000, size: 3, note: signedNote(text, key, vault.signCheckpoint(text)) };

test('what we signed is taken at its word', async () => {
  expect(await requireSigned(record, key)).toEqual({ ...said, number: 4 });
});

const FORGED: Record<string, Partial<typeof record>> = {
  'another time beside it': { at: 2001 },
  'another size beside it': { size: 4 },
  'no note': { note: '' },
  'a note that a stranger signed': { note: signedNote(text, key, stranger.signCheckpoint(text)) },
  'a note whose size was changed, and the store with it': {
    note: signedNote(checkpointText({ ...said, size: 4 }), key, vault.signCheckpoint(text)),
    size: 4,
  },
};
for (const [what, change] of Object.entries(FORGED)) {
  test(`${what}: refused`, async () => {
    await expect(requireSigned({ ...record, ...change }, key)).rejects.toThrow(
      'Checkpoint 4 in the store is not what this service signed',
    );
  });
}
