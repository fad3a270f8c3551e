// Reads the public key of a passkey (COSE, RFC 9052) and verifies signatures with it: ES256, RS256 and Ed25519, which are
// the kinds that passkeys have. Only what such a key consists of is read: one map of small integers, integers and bytes.

import { verifyEd25519 } from './ed25519.ts';

type CoseMap = ReadonlyMap<number, number | Uint8Array<ArrayBuffer>>;

/** Whether the signature is valid; null if the key is none that this program knows. */
export async function verifyCose(
  key: Uint8Array,
  signed: Uint8Array<ArrayBuffer>,
  signature: Uint8Array,
): Promise<boolean | null> {
  const map = readMap(key);
  if (map === null) return null;
  const [kind, algorithm, curve] = [map.get(1), map.get(3), map.get(-1)];
  try {
    if (kind === 2 && algorithm === -7 && curve === 1) return await verifyEs256(map, signed, signature);
    if (kind === 1 && algorithm === -8 && curve === 6)
      return await verifyEd25519(bytesAt(map, -2), signed, signature);
    if (kind === 3 && algorithm === -257) return await verifyRs256(map, signed, signature);
  } catch {
    // A point that is not on its curve, for example.
    return null;
  }
  return null;
}

async function verifyEs256(
  map: CoseMap,
  signed: Uint8Array<ArrayBuffer>,
  signature: Uint8Array,
): Promise<boolean> {
  const raw = rawSignature(signature);
  if (raw === null) return false;
  const point = new Uint8Array([4, ...bytesAt(map, -2), ...bytesAt(map, -3)]);
  const named = { name: 'ECDSA', namedCurve: 'P-256' };
  const key = await crypto.subtle.importKey('raw', point, named, false, ['verify']);
  return crypto.subtle.verify({ name: 'ECDSA', hash: 'SHA-256' }, key, raw, signed);
}

async function verifyRs256(
  map: CoseMap,
  signed: Uint8Array<ArrayBuffer>,
  signature: Uint8Array,
): Promise<boolean> {
  const text = (label: number) => Buffer.from(bytesAt(map, label)).toString('base64url');
  const named = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };
  const jwk = { kty: 'RSA', n: text(-1), e: text(-2) };
  const key = await crypto.subtle.importKey('jwk', jwk, named, false, ['verify']);
  return crypto.subtle.verify(named.name, key, new Uint8Array(signature), signed);
}

function bytesAt(map: CoseMap, label: number): Uint8Array<ArrayBuffer> {
  const found = map.get(label);
  if (!(found instanceof Uint8Array)) throw new Error('the key lacks a part');
  return found;
}

const SCALAR = 32;

/** The two numbers of an ECDSA signature, which authenticators send as DER, one after the other. Null if it is no DER. */
function rawSignature(der: Uint8Array): Uint8Array<ArrayBuffer> | null {
  if (der[0] !== 0x30 || der[1] !== der.length - 2 || der.length > 72) return null;
  const raw = new Uint8Array(2 * SCALAR);
  let at = 2;
  for (const end of [SCALAR, 2 * SCALAR]) {
    const length = der[at + 1] ?? 0;
    const number = der.subarray(at + 2, at + 2 + length);
    if (der[at] !== 0x02 || length === 0 || number.length !== length) return null;
    const digits = number[0] === 0 ? number.subarray(1) : number;
    if (digits.length > SCALAR) return null;
    raw.set(digits, end - digits.length);
    at += 2 + length;
  }
  return at === der.length ? raw : null;
}

/** A CBOR map of integers to integers and byte strings; null for anything else. */
function readMap(bytes: Uint8Array): CoseMap | null {
  const map = new Map<number, number | Uint8Array<ArrayBuffer>>();
  let at = 0;
  /** The major type and the number of the next item's head; null if it is cut off, or larger than a key needs. */
  const head = (): [type: number, value: number] | null => {
    const first = bytes[at++];
    if (first === undefined) return null;
    const [type, short] = [first >> 5, first & 31];
    if (short < 24) return [type, short];
    const length = short === 24 ? 1 : short === 25 ? 2 : 0;
    if (length === 0 || at + length > bytes.length) return null;
    let value = 0;
    for (let more = 0; more < length; more++) value = value * 256 + (bytes[at++] as number);
    return [type, value];
  };
  const integer = ([type, value]: [number, number]): number | null =>
    type === 0 ? value : type === 1 ? -1 - value : null;
  const [type, count] = head() ?? [];
  if (type !== 5 || count === undefined || count > 8) return null;
  for (let index = 0; index < count; index++) {
    const [label, item] = [head(), head()];
    if (label === null || item === null) return null;
    const name = integer(label);
    const isBytes = item[0] === 2;
    const value = isBytes ? new Uint8Array(bytes.subarray(at, at + item[1])) : integer(item);
    if (isBytes) at += item[1];
    if (name === null || value === null || at > bytes.length || map.has(name)) return null;
    map.set(name, value);
  }
  return at === bytes.length ? map : null;
}
