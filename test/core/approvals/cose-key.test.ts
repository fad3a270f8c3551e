// Signatures of passkeys by ES256, which authenticators send as DER: only one form of each counts.

import { expect, test } from 'bun:test';
import { generateKeyPairSync, sign } from 'node:crypto';
import { verifyCose } from '../../../src/core/approvals/cose-key.ts';
import { cbor } from '../../support/authenticator.ts';

const SIGNED = new TextEncoder().encode('this very answer');
const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
const part = (text: string) => Buffer.from(text, 'base64url');
const COSE = cbor(
  new Map<number, number | Buffer>([
    [1, 2],
    [3, -7],
    [-1, 1],
    [-2, part(x)],
    [-3, part(y)],
  ]),
);
const DER = sign('sha256', SIGNED, privateKey);

const verify = (signature: Uint8Array) => verifyCose(COSE, SIGNED, signature);
const changed = (at: number, by: number) => DER.map((byte, index) => (index === at ? byte + by : byte));

test('a signature counts as it was made', async () => {
  expect(await verify(DER)).toBe(true);
});

test.each([
  ['another kind of value', changed(0, 1)],
  ['a length that is too large', changed(1, 1)],
  ['a length that is too small', changed(1, -1)],
  ['a byte behind its end', Buffer.concat([DER, Buffer.alloc(1)])],
  ['another kind of number', changed(2, 1)],
  ['no bytes', Buffer.alloc(0)],
])('one with %s does not, though its numbers are right', async (_, signature) => {
  expect(await verify(signature)).toBe(false);
});
