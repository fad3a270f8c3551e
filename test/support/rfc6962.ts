// The Merkle tree of RFC 6962 by its own recursive definitions: slow, and the oracle for what is quick.

import { createHash } from 'node:crypto';

const sha256 = (...parts: (Uint8Array | string)[]): Buffer => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
};

/** MTH, PATH and PROOF, word for word as in section 2.1. */
const split = (n: number) => 2 ** Math.floor(Math.log2(n - 1));
export function mth(leaves: string[]): Buffer {
  if (leaves.length === 0) return sha256('');
  if (leaves.length === 1) return sha256('\0', leaves[0] as string);
  const k = split(leaves.length);
  return sha256('\x01', mth(leaves.slice(0, k)), mth(leaves.slice(k)));
}
export function pathOf(m: number, leaves: string[]): Buffer[] {
  if (leaves.length === 1) return [];
  const k = split(leaves.length);
  return m < k
    ? [...pathOf(m, leaves.slice(0, k)), mth(leaves.slice(k))]
    : [...pathOf(m - k, leaves.slice(k)), mth(leaves.slice(0, k))];
}
export function subproof(m: number, leaves: string[], whole: boolean): Buffer[] {
  if (m === leaves.length) return whole ? [] : [mth(leaves)];
  const k = split(leaves.length);
  return m <= k
    ? [...subproof(m, leaves.slice(0, k), whole), mth(leaves.slice(k))]
    : [...subproof(m - k, leaves.slice(k), false), mth(leaves.slice(0, k))];
}
