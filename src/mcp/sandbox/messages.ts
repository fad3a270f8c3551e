// Messages between the processes that start a confined command: lines of JSON, and a message to the supervisor that can
// carry a descriptor.

import { readSync } from 'node:fs';
import { addressOf, libc } from './libc.ts';

const NEWLINE = 0x0a;
const SOL_SOCKET = 1;
const SCM_RIGHTS = 1;
const CONTROL_BYTES = 24;
const CONTROL_USED = 20;
const MSG_CMSG_CLOEXEC = 0x40000000;
const MSG_NOSIGNAL = 0x4000;
const MOST_BYTES = 16 * 1024;

/** Waits for a whole line. What follows it is not kept, and nothing does. */
export function readLine(descriptor: number): string {
  const chunks: Buffer[] = [];
  for (;;) {
    const chunk = Buffer.alloc(64 * 1024);
    const bytes = readSome(descriptor, chunk);
    if (bytes === 0) process.exit(1);
    chunks.push(chunk.subarray(0, bytes));
    if (chunk[bytes - 1] === NEWLINE) return Buffer.concat(chunks).toString('utf8');
  }
}

function readSome(descriptor: number, into: Buffer): number {
  for (;;) {
    waitFor([descriptor], -1);
    try {
      return readSync(descriptor, into);
    } catch (error) {
      if ((error as { code?: string }).code !== 'EAGAIN') throw error;
    }
  }
}

/** Which of these descriptors have something to read, or are closed on the other side; -1 is passed over. */
export function waitFor(descriptors: readonly number[], timeoutMs: number): boolean[] {
  const view = new DataView(new ArrayBuffer(8 * descriptors.length));
  descriptors.forEach((each, index) => {
    view.setInt32(8 * index, each, true);
    view.setInt16(8 * index + 4, 1, true);
  });
  const bytes = new Uint8Array(view.buffer);
  libc.poll(bytes, descriptors.length, timeoutMs);
  return descriptors.map((_, index) => view.getInt16(8 * index + 6, true) !== 0);
}

export function send(socket: number, text: string, descriptor: number | null): void {
  const message = new Message(Buffer.from(text), descriptor !== null);
  if (descriptor !== null) message.putDescriptor(descriptor);
  libc.sendmsg(socket, message.header, MSG_NOSIGNAL);
}

/** The text is empty when the other side has closed the socket. */
export function receive(socket: number): { text: string; descriptor: number | null } {
  const message = new Message(Buffer.alloc(MOST_BYTES), true);
  const bytes = Number(libc.recvmsg(socket, message.header, MSG_CMSG_CLOEXEC));
  return { text: message.text.toString('utf8', 0, Math.max(0, bytes)), descriptor: message.descriptor() };
}

/** `struct msghdr` with one part and, perhaps, one descriptor. */
class Message {
  readonly text: Buffer;
  readonly header: Uint8Array;
  readonly #part: BigUint64Array;
  readonly #control = new DataView(new ArrayBuffer(CONTROL_BYTES));

  constructor(text: Buffer, carries: boolean) {
    this.text = text;
    this.#part = new BigUint64Array([BigInt(addressOf(text)), BigInt(text.length)]);
    const control = new Uint8Array(this.#control.buffer);
    const header = new BigUint64Array(7);
    header[2] = BigInt(addressOf(this.#part));
    header[3] = 1n;
    header[4] = carries ? BigInt(addressOf(control)) : 0n;
    header[5] = carries ? BigInt(CONTROL_BYTES) : 0n;
    this.header = new Uint8Array(header.buffer);
  }

  putDescriptor(descriptor: number): void {
    this.#control.setBigUint64(0, BigInt(CONTROL_USED), true);
    this.#control.setInt32(8, SOL_SOCKET, true);
    this.#control.setInt32(12, SCM_RIGHTS, true);
    this.#control.setInt32(16, descriptor, true);
  }

  descriptor(): number | null {
    const isThere =
      this.#control.getInt32(8, true) === SOL_SOCKET && this.#control.getInt32(12, true) === SCM_RIGHTS;
    return isThere ? this.#control.getInt32(16, true) : null;
  }
}
