// CRC-32 as zlib computes it (ISO 3309), of a text of ASCII characters. Tokens of several issuers end in it.

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let rest = byte;
  for (let bit = 0; bit < 8; bit++) rest = rest & 1 ? (rest >>> 1) ^ 0xedb88320 : rest >>> 1;
  return rest;
});

export function crc32(text: string): number {
  let rest = 0xffffffff;
  for (let at = 0; at < text.length; at++)
    rest = (rest >>> 8) ^ (TABLE[(rest ^ text.charCodeAt(at)) & 0xff] as number);
  return (rest ^ 0xffffffff) >>> 0;
}
