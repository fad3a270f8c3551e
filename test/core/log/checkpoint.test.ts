// Checkpoints as text: written, signed, read back, and every way in which one is not what it should be.

import { expect, test } from 'bun:test';
import {
  type Checkpoint,
  checkpointText,
  isSignedBy,
  parseCheckpoint,
  parseVerifierKey,
  signedNote,
  verifierKey,
  verifierKeyText,
} from '../../../src/core/log/checkpoint.ts';
import { notesIn } from '../../../src/core/log/checkpoint-file.ts';

const DAY = 86_400_000;

const CHECKPOINT: Checkpoint = {
  origin: 'toolgate/log',
  size: 42,
  root: Buffer.alloc(32, 5).toString('base64'),
  at: Date.UTC(2030, 0, 1),
  through: Date.UTC(2029, 11, 31),
  pruned: 7,
  retention: 90 * DAY,
  givenUp: {
    at: Date.UTC(2029, 11, 30),
    retention: 30 * DAY,
    root: Buffer.alloc(32, 6).toString('base64'),
    signedAt: Date.UTC(2029, 10, 29),
  },
};
const TEXT = checkpointText(CHECKPOINT);

const { publicKey, privateKey } = (await crypto.subtle.generateKey('Ed25519', true, [
  'sign',
  'verify',
])) as CryptoKeyPair;
const raw = new Uint8Array(await crypto.subtle.exportKey('raw', publicKey));
const KEY = verifierKey('toolgate/log', raw);
const signed = async (text: string, key = KEY) =>
  signedNote(
    text,
    key,
    new Uint8Array(await crypto.subtle.sign('Ed25519', privateKey, new TextEncoder().encode(text))),
  );
const NOTE = await signed(TEXT);

test('is written line by line and read back the same', () => {
  expect(NOTE.split('\n').slice(0, 9)).toEqual([
    'toolgate/log',
    '42',
    'BQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQU=',
    'time 2030-01-01T00:00:00.000Z',
    'through 2029-12-31T00:00:00.000Z',
    'pruned 7',
    'retention 90d',
    'given-up 2029-12-30T00:00:00.000Z 30d BgYGBgYGBgYGBgYGBgYGBgYGBgYGBgYGBgYGBgYGBgY= 2029-11-29T00:00:00.000Z',
    '',
  ]);
  expect(parseCheckpoint(NOTE)).toEqual(CHECKPOINT);
});

test('a checkpoint says if everything is kept, and has to say for how long', () => {
  const forever: Checkpoint = { ...CHECKPOINT, pruned: 0, retention: 'forever', givenUp: null };
  expect(checkpointText(forever)).toEndWith('\npruned 0\nretention forever\n');
  expect(parseCheckpoint(checkpointText(forever))).toEqual(forever);
  for (const [find, replace] of [
    ['retention 90d', 'retention 90'],
    ['retention 90d\n', ''],
    ['given-up 2029', 'given-up x'],
    [' 30d ', ' 0d '],
    [' BgYG', ' BgY'],
    ['pruned 7', 'pruned 0'],
  ] as const) {
    expect(parseCheckpoint(TEXT.replace(find, replace))).toBeNull();
  }
});

test('what lacks a part is no checkpoint', () => {
  const lines = TEXT.split('\n').slice(0, -1);
  for (let left = 0; left < lines.length; left++) {
    const without = lines.filter((_, at) => at !== left);
    expect(parseCheckpoint(`${without.join('\n')}\n`)).toBeNull();
  }
  for (const size of ['-1', '042', '1e3', '9'.repeat(16), '']) {
    expect(parseCheckpoint(TEXT.replace('\n42\n', `\n${size}\n`))).toBeNull();
  }
});

test('its signature holds for this text and this key', async () => {
  expect(await isSignedBy(NOTE, KEY)).toBe(true);
  for (const [find, replace] of [
    ['\n42\n', '\n43\n'],
    ['pruned 7', 'pruned 8'],
    ['BQUF', 'BQUE'],
    ['— toolgate/log', '— toolgate/lag'],
    ['\n\n—', '\nmore 1\n\n—'],
    ['— ', '- '],
  ] as const) {
    expect(NOTE.replace(find, replace)).not.toBe(NOTE);
    expect(await isSignedBy(NOTE.replace(find, replace), KEY)).toBe(false);
  }
  expect(await isSignedBy(TEXT, KEY)).toBe(false);
  expect(await isSignedBy('', KEY)).toBe(false);
  const other = verifierKey('toolgate/log', crypto.getRandomValues(new Uint8Array(32)));
  expect(await isSignedBy(NOTE, other).catch(() => false)).toBe(false);
});

test('a checkpoint of another log under the same master key is not of this one, whatever name stands beside it', async () => {
  const other = await signed(
    checkpointText({ ...CHECKPOINT, origin: 'toolgate/lag' }),
    verifierKey('toolgate/lag', raw),
  );
  expect(await isSignedBy(other, verifierKey('toolgate/lag', raw))).toBe(true);
  const renamed = signedNote(
    other.slice(0, other.indexOf('\n\n') + 1),
    KEY,
    new Uint8Array(Buffer.from(other.trimEnd().split(' ').at(-1) ?? '', 'base64')).subarray(4),
  );
  expect(renamed).toContain('— toolgate/log ');
  expect(await isSignedBy(renamed, KEY)).toBe(false);
});

test('a signature by somebody else beside ours, as a witness adds it, is passed over', async () => {
  const witness = `— witness.example ${Buffer.alloc(76, 1).toString('base64')}`;
  expect(await isSignedBy(`${NOTE}${witness}\n`, KEY)).toBe(true);
  expect(await isSignedBy(NOTE.replace('\n\n', `\n\n${witness}\n`), KEY)).toBe(true);
});

test('the public key is one word that names its owner, and a damaged one is refused', () => {
  const text = verifierKeyText(KEY);
  expect(text).toMatch(/^toolgate\/log\+[0-9a-f]{8}\+A/);
  expect(parseVerifierKey(`${text}\n`)).toEqual(KEY);
  for (const bad of [
    '',
    'x',
    text.slice(0, -4),
    text.replace('log', 'lag'),
    text.replace(/A(.{43})$/, 'B$1'),
  ]) {
    expect(parseVerifierKey(bad)).toBeNull();
  }
  // The example key of the Go checksum database, in the same format by another hand.
  const sumdb = 'sum.golang.org+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8';
  expect(parseVerifierKey(sumdb)).toMatchObject({ name: 'sum.golang.org', id: '033de0ae' });
});

test('a file of notes falls into its notes, also where one was cut short', async () => {
  const later = await signed(checkpointText({ ...CHECKPOINT, size: 50 }));
  const read = (text: string) => notesIn(text, KEY.name);
  const whole = (text: string) => read(text).map(({ note, state }) => (state === 'whole' ? note : state));
  expect(whole(`${NOTE}\n${later}\n`)).toEqual([NOTE, later]);
  expect(whole(`\n${NOTE}\n\n${later}\n`)).toEqual([NOTE, later]);
  expect(whole(`\ufeff${NOTE}\n${later}`.replaceAll('\n', '\r\n'))).toEqual([NOTE, later]);
  expect(whole('')).toEqual([]);
  for (let length = 1; length < NOTE.length - 1; length++) {
    expect(whole(`${NOTE.slice(0, length)}\n\n${later}\n`)).toEqual(['cut short', later]);
  }
});

test('what is no checkpoint in a file is told by its lines', () => {
  const read = (text: string) => notesIn(text, KEY.name).map(({ from, to, state }) => [from, to, state]);
  expect(read('garbage')).toEqual([[1, 1, 'unreadable']]);
  expect(read(`\n${NOTE}\none\ntwo\n\n${NOTE}`)).toEqual([
    [2, 11, 'whole'],
    [13, 14, 'unreadable'],
    [16, 25, 'whole'],
  ]);
  const signature = NOTE.slice(NOTE.indexOf('—'));
  const others: Record<string, string> = {
    'another log’s beginning': TEXT.replace('toolgate/log', 'toolgate/lag'),
    'an invalid size': `${TEXT.replace('\n42\n', '\nx\n')}`,
    'a signature without a text': signature,
    'a signed text that is not a checkpoint': `some\nwords\n\n${signature}`,
    'a beginning of this log under a signature': `${TEXT.split('\n').slice(0, 3).join('\n')}\n\n${signature}`,
    'a page of the web': '<html>\n<body>404</body>\n</html>',
  };
  for (const [what, text] of Object.entries(others)) {
    expect(
      read(text).map(([, , state]) => state),
      what,
    ).toEqual(['unreadable']);
  }
});
