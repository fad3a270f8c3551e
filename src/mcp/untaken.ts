// What an upstream that reads slowly has not taken of the messages to it, by the key that they count for: a key that sends
// more than the upstream takes is refused, and the others that share the channel are not.

const MAX_BYTES = 16 * 1024 * 1024;
/**
 * How many messages of one key may wait. On the older HTTP transport each of them has a socket, even after its call was
 * cancelled and has given its slot back.
 */
const MAX_MESSAGES = 1000;

export class Untaken {
  readonly #callers = new Map<string, { messages: number; bytes: number }>();

  /** Whether one more message may be sent, however large. */
  hasRoom(caller: string): boolean {
    const untaken = this.#callers.get(caller);
    return untaken === undefined || (untaken.messages < MAX_MESSAGES && untaken.bytes <= MAX_BYTES);
  }

  /** Counts a message. Returns the function that says that it was taken. */
  add(caller: string, bytes: number): () => void {
    const untaken = this.#callers.get(caller) ?? { messages: 0, bytes: 0 };
    this.#callers.set(caller, untaken);
    untaken.messages++;
    untaken.bytes += bytes;
    return () => {
      untaken.messages--;
      untaken.bytes -= bytes;
      if (untaken.messages === 0) this.#callers.delete(caller);
    };
  }
}
