// Reading a body up to a limit. The limit counts what comes out of decompression, so that a small answer
// cannot grow large in memory.

export class BodyTooLarge extends Error {}

/** Throws for what is not UTF-8. */
export function utf8(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
}

export async function readBytes(
  message: Request | Response,
  limit: number,
): Promise<Uint8Array<ArrayBuffer>> {
  if (message.body === null) return new Uint8Array();
  const reader = (message.body as ReadableStream<Uint8Array>).getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    size += next.value.length;
    if (size > limit) {
      void reader.cancel().catch(() => {});
      throw new BodyTooLarge(`larger than ${limit} bytes`);
    }
    chunks.push(next.value);
  }
  return joined(chunks, size);
}

export function joined(chunks: readonly Uint8Array[], size: number): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}
