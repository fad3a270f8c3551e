// Verifies Ed25519 signatures with the runtime's verifier, and refuses two things that it accepts. For a public key or
// a commitment of small order (the neutral element, for example) anybody can make signatures; and a point that is not
// encoded canonically would give a second valid signature for the same text. The Python client refuses the same;
// test/vectors/ed25519.json has the cases.

const BYTES = 32;
/** The y coordinates of the eight points whose order divides 8, as bytes in hexadecimal. */
const SMALL_ORDER = new Set([
  '0100000000000000000000000000000000000000000000000000000000000000',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  '0000000000000000000000000000000000000000000000000000000000000000',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
]);

export async function verifyEd25519(
  publicKey: Uint8Array,
  message: Uint8Array,
  signature: Uint8Array,
): Promise<boolean> {
  if (!isSound(publicKey) || !isSound(signature.subarray(0, BYTES))) return false;
  const key = await crypto.subtle.importKey('raw', new Uint8Array(publicKey), 'Ed25519', false, ['verify']);
  return crypto.subtle.verify('Ed25519', key, new Uint8Array(signature), new Uint8Array(message));
}

/** Whether a point is encoded canonically and is not of small order. */
function isSound(point: Uint8Array): boolean {
  if (point.length !== BYTES) return false;
  // The highest bit is the sign of x; the rest is y in little-endian order, which must be below 2^255 - 19.
  const y = point.map((byte, at) => (at === BYTES - 1 ? byte & 0x7f : byte));
  const high = y.subarray(1).every((byte, at) => byte === (at === BYTES - 2 ? 0x7f : 0xff));
  if (high && (y[0] as number) >= 0xed) return false;
  return !SMALL_ORDER.has(Array.from(y, byte => byte.toString(16).padStart(2, '0')).join(''));
}
