// A large answer, handed out in pieces as fast as its client reads them. As a text it would be copied into the memory of
// the server and stay there until it is read; the bytes of this one count for their caller until then.

const PIECE_BYTES = 64 * 1024;

/** A part of the body. `free` is called once it is read. */
export interface Paced {
  bytes: Uint8Array;
  free: () => void;
}

interface PacedBody {
  /** The next part; null at the end. */
  next: () => Paced | null | Promise<Paced | null>;
  /** Called before the next part is awaited: until then the client has nothing to read. */
  waiting: () => void;
  /** Called whenever there is a piece to read: from now on the client's time to read it counts. */
  reading: () => void;
  /** Called if the client goes before it has read everything. */
  gone: () => void;
}

export function pacedBody({ next, waiting, reading, gone }: PacedBody): ReadableStream<Uint8Array> {
  let part: Paced | null = null;
  let at = 0;
  return new ReadableStream<Uint8Array>(
    {
      pull: async controller => {
        if (part === null) {
          waiting();
          part = await next();
        }
        if (part === null) return controller.close();
        reading();
        controller.enqueue(part.bytes.subarray(at, at + PIECE_BYTES));
        at += PIECE_BYTES;
        if (at < part.bytes.length) return;
        part.free();
        part = null;
        at = 0;
      },
      cancel: gone,
    },
    new ByteLengthQueuingStrategy({ highWaterMark: 1 }),
  );
}

/** One answer as a whole. `free` is called once it is read, or its client has gone. */
export function pacedAnswer(
  bytes: Uint8Array,
  free: () => void,
  reading: () => void,
): ReadableStream<Uint8Array> {
  const parts = [{ bytes, free }];
  return pacedBody({ next: () => parts.pop() ?? null, waiting: () => {}, reading, gone: free });
}
