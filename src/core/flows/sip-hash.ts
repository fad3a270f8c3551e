// SipHash-2-4 (Aumasson and Bernstein, 2012): a keyed hash of 64 bits for short texts, which nobody without the key can tell
// from chance. A check that asks for known values computes one for each, and an HMAC of the runtime takes ten times as long.
//
// A number of 64 bits is two of 32 here, `…h` and `…l`. A text is hashed in its UTF-16 units, the lower byte of each first.

/** A key of 16 bytes, as four numbers of 32 bits, the lowest first. */
export type SipKey = readonly [number, number, number, number];

/** Returns the upper and the lower 32 bits. */
export function sipHash([k0l, k0h, k1l, k1h]: SipKey, text: string): [number, number] {
  let v0h = k0h ^ 0x736f6d65;
  let v0l = k0l ^ 0x70736575;
  let v1h = k1h ^ 0x646f7261;
  let v1l = k1l ^ 0x6e646f6d;
  let v2h = k0h ^ 0x6c796765;
  let v2l = k0l ^ 0x6e657261;
  let v3h = k1h ^ 0x74656462;
  let v3l = k1l ^ 0x79746573;
  const units = text.length;
  /** The last block has what is left, and the length in bytes at its top; after it comes the end. */
  const last = units >>> 2;
  for (let block = 0; block <= last + 1; block++) {
    const at = block << 2;
    const isEnd = block > last;
    const isLast = block === last;
    // Behind the end of the text charCodeAt gives NaN, which counts as 0.
    const ml = isEnd ? 0 : text.charCodeAt(at) | (text.charCodeAt(at + 1) << 16);
    const mh = isEnd
      ? 0
      : isLast
        ? (text.charCodeAt(at + 2) & 0xffff) | ((units << 25) & 0xff000000)
        : text.charCodeAt(at + 2) | (text.charCodeAt(at + 3) << 16);
    v3h ^= mh;
    v3l ^= ml;
    if (isEnd) v2l ^= 0xff;
    for (let round = isEnd ? 4 : 2; round > 0; round--) {
      let sum = (v0l >>> 0) + (v1l >>> 0);
      v0l = sum | 0;
      v0h = (v0h + v1h + (sum > 0xffffffff ? 1 : 0)) | 0;
      let turned = ((v1h << 13) | (v1l >>> 19)) ^ v0h;
      v1l = ((v1l << 13) | (v1h >>> 19)) ^ v0l;
      v1h = turned;
      turned = v0h;
      v0h = v0l;
      v0l = turned;

      sum = (v2l >>> 0) + (v3l >>> 0);
      v2l = sum | 0;
      v2h = (v2h + v3h + (sum > 0xffffffff ? 1 : 0)) | 0;
      turned = ((v3h << 16) | (v3l >>> 16)) ^ v2h;
      v3l = ((v3l << 16) | (v3h >>> 16)) ^ v2l;
      v3h = turned;

      sum = (v0l >>> 0) + (v3l >>> 0);
      v0l = sum | 0;
      v0h = (v0h + v3h + (sum > 0xffffffff ? 1 : 0)) | 0;
      turned = ((v3h << 21) | (v3l >>> 11)) ^ v0h;
      v3l = ((v3l << 21) | (v3h >>> 11)) ^ v0l;
      v3h = turned;

      sum = (v2l >>> 0) + (v1l >>> 0);
      v2l = sum | 0;
      v2h = (v2h + v1h + (sum > 0xffffffff ? 1 : 0)) | 0;
      turned = ((v1h << 17) | (v1l >>> 15)) ^ v2h;
      v1l = ((v1l << 17) | (v1h >>> 15)) ^ v2l;
      v1h = turned;
      turned = v2h;
      v2h = v2l;
      v2l = turned;
    }
    v0h ^= mh;
    v0l ^= ml;
  }
  return [v0h ^ v1h ^ v2h ^ v3h, v0l ^ v1l ^ v2l ^ v3l];
}
