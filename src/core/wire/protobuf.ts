// The wire format of Protocol Buffers, as far as a few messages of others need it: fields are read one after the other,
// and a field of text or bytes is written. Groups, which no current message has, are refused. otlp/protobuf.ts writes
// whole messages.

export class Malformed extends Error {}

/** A field of a message: its bytes, if it is a text, bytes or a message; its value, if it is a whole number of varying size. */
export interface Field {
  number: number;
  bytes: Uint8Array | null;
  value: number | null;
}

const MAX_VARINT = 10;
/**
 * In one message: each header of a request is one. A message of 1.2 MB with 100,000 headers would take two minutes, because
 * the runtime looks through all headers for each one that is set, and it takes no key to send one.
 */
const MAX_FIELDS = 1000;

export function* fieldsOf(message: Uint8Array): Generator<Field> {
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let read = 0; read < MAX_VARINT; read++) {
      const byte = message[at++];
      if (byte === undefined) throw new Malformed();
      value += (byte & 0x7f) * 2 ** (7 * read);
      if (byte < 0x80) return value;
    }
    throw new Malformed();
  };
  const skip = (length: number): Uint8Array => {
    if (length > message.length - at) throw new Malformed();
    at += length;
    return message.subarray(at - length, at);
  };
  for (let read = 0; at < message.length; read++) {
    if (read === MAX_FIELDS) throw new Malformed();
    const tag = varint();
    const number = Math.floor(tag / 8);
    switch (tag % 8) {
      case 0:
        yield { number, bytes: null, value: varint() };
        break;
      case 1:
        skip(8);
        yield { number, bytes: null, value: null };
        break;
      case 2:
        yield { number, bytes: skip(varint()), value: null };
        break;
      case 5:
        skip(4);
        yield { number, bytes: null, value: null };
        break;
      default:
        throw new Malformed();
    }
  }
}

/** The whole number in a field; 0 if it is not there, as the format has it. */
export function numberAt(message: Uint8Array, number: number): number {
  let found = 0;
  for (const field of fieldsOf(message)) if (field.number === number) found = field.value ?? 0;
  return found;
}

/** The message at a path of field numbers; empty if it is not there. Of a field that is repeated, the last one counts. */
export function messageAt(message: Uint8Array, ...path: number[]): Uint8Array {
  let found = message;
  for (const number of path) {
    let inner: Uint8Array = new Uint8Array();
    for (const field of fieldsOf(found))
      if (field.number === number && field.bytes !== null) inner = field.bytes;
    found = inner;
  }
  return found;
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export function textOf(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw new Malformed();
  }
}

/** A map of texts, which is a repeated message of key and value. */
export function mapAt(message: Uint8Array, number: number): [string, string][] {
  const entries: [string, string][] = [];
  for (const field of fieldsOf(message)) {
    if (field.number === number && field.bytes !== null)
      entries.push([textOf(messageAt(field.bytes, 1)), textOf(messageAt(field.bytes, 2))]);
  }
  return entries;
}

function varint(value: number): number[] {
  const bytes: number[] = [];
  for (let left = value; ; left = Math.floor(left / 128)) {
    if (left < 128) return [...bytes, left];
    bytes.push((left % 128) + 128);
  }
}

/** A field with a number, or with text or a message. */
export function field(number: number, value: number | string | Uint8Array): Uint8Array {
  if (typeof value === 'number') return Uint8Array.from([...varint(number * 8), ...varint(value)]);
  const bytes = typeof value === 'string' ? new TextEncoder().encode(value) : value;
  return join(Uint8Array.from([...varint(number * 8 + 2), ...varint(bytes.length)]), bytes);
}

export function join(...parts: Uint8Array[]): Uint8Array {
  return Buffer.concat(parts);
}
