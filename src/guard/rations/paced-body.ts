// A large answer, handed out in pieces as fast as its client reads them. As a text it would be copied into the memory of
// the server and stay there until it is read; the bytes of this one count for their caller until then.

import type { Part } from './shares.ts';

const PIECE_BYTES = 64 * 1024;

/** `part` has the bytes already, and is given back once they are read or the client has gone. */
export function pacedBody(bytes: Uint8Array, part: Part): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream<Uint8Array>(
    {
      pull: controller => {
        controller.enqueue(bytes.subarray(at, at + PIECE_BYTES));
        at += PIECE_BYTES;
        if (at < bytes.length) return;
        controller.close();
        part.free();
      },
      cancel: () => part.free(),
    },
    new ByteLengthQueuingStrategy({ highWaterMark: 1 }),
  );
}
