// Reads what a server of others answers, within a limit.

/**
 * The body of an answer; null if it is larger. The bytes are counted as they arrive: the declared length says nothing if
 * there is a transfer encoding.
 */
export async function boundedBody(response: Response, maxBytes: number): Promise<Buffer<ArrayBuffer> | null> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > maxBytes) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
