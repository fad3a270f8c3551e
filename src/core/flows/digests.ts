// Digests of what a run knows. They are keyed with a key of the run's own: whoever reads the store cannot try values, and
// the same value has another digest in another run. With all 65,536 values that a run can know, a value that it does not
// know has the digest of one of them with a probability of 2^-48.

import { type SipKey, sipHash } from './sip-hash.ts';

/** The key for the values of one run. */
export type DigestKey = SipKey;

/** Takes 16 bytes, and leaves further ones out. */
export function digestKey(bytes: Uint8Array): DigestKey {
  const view = new DataView(bytes.buffer, bytes.byteOffset, 16);
  return [
    view.getUint32(0, true),
    view.getUint32(4, true),
    view.getUint32(8, true),
    view.getUint32(12, true),
  ];
}

/** 64 bits, in 12 characters. */
export function digestOf(key: DigestKey, comparable: string): string {
  const [upper, lower] = sipHash(key, comparable);
  return written(upper) + written(lower);
}

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

function written(bits: number): string {
  let text = '';
  for (let shift = 30; shift >= 0; shift -= 6) text += DIGITS.charAt((bits >>> shift) & 63);
  return text;
}
