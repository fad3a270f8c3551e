// Writes messages of protocol buffers: an object and the description of its fields become bytes. The object has the
// shape of the message in JSON, so that one object serves both encodings of OTLP. Only the types that OTLP uses are here.
// It writes from the end to the beginning: the length of a part stands before it, and is known once the part is written.

export type FieldType =
  | 'string'
  | 'bool'
  | 'uint32'
  | 'int64'
  | 'double'
  | 'fixed64'
  /** Bytes, which OTLP writes as hexadecimal digits in JSON. */
  | 'hex'
  | 'packedFixed64'
  | 'packedDouble'
  | Message;

/** A message: the number and the type of each field. It may contain itself, as the value of a list. */
export interface Message {
  readonly [name: string]: readonly [number: number, type: FieldType] | undefined;
}

export function encode(message: Message, value: object): Uint8Array<ArrayBuffer> {
  const writer = new Writer();
  writer.message(message, value as Record<string, unknown>);
  return writer.bytes();
}

/** How a value is laid out, which stands beside the number of its field. */
const VARINT = 0;
const EIGHT_BYTES = 1;
const WITH_LENGTH = 2;

const FIRST_SIZE = 16 * 1024;
const SHORT_TEXT = 64;

class Writer {
  #buffer = Buffer.allocUnsafe(FIRST_SIZE);
  /** How many bytes are written, at the end of the buffer. */
  #written = 0;

  bytes(): Uint8Array<ArrayBuffer> {
    return this.#buffer.subarray(this.#buffer.length - this.#written);
  }

  message(message: Message, value: Record<string, unknown>): void {
    const names = Object.keys(value);
    for (let index = names.length - 1; index >= 0; index--) {
      const name = names[index] as string;
      const [number, type] = message[name] ?? [];
      if (number === undefined || type === undefined) throw new Error(`no field is named ${name}`);
      const given = value[name];
      if (given === undefined) continue;
      if (!Array.isArray(given) || typeof type === 'string') this.#field(number, type, given);
      else for (let item = given.length - 1; item >= 0; item--) this.#field(number, type, given[item]);
    }
  }

  #field(number: number, type: FieldType, value: unknown): void {
    const before = this.#written;
    const layout = this.#value(type, value);
    if (layout === WITH_LENGTH) this.#varint(this.#written - before);
    this.#varint(number * 8 + layout);
  }

  /** Writes a value, and returns how it is laid out. */
  #value(type: FieldType, value: unknown): number {
    if (typeof type !== 'string') {
      this.message(type, value as Record<string, unknown>);
      return WITH_LENGTH;
    }
    switch (type) {
      case 'string':
        this.#text(value as string, 'utf8');
        return WITH_LENGTH;
      case 'hex':
        this.#text(value as string, 'hex');
        return WITH_LENGTH;
      case 'packedFixed64':
      case 'packedDouble': {
        const items = value as (string | number)[];
        for (let item = items.length - 1; item >= 0; item--) this.#eight(type, items[item] as string);
        return WITH_LENGTH;
      }
      case 'bool':
      case 'uint32':
        this.#varint(Number(value));
        return VARINT;
      case 'int64':
        this.#varint(wholeNumber(value as string));
        return VARINT;
      case 'double':
      case 'fixed64':
        this.#eight(type, value as string);
        return EIGHT_BYTES;
    }
  }

  #eight(type: FieldType, value: string | number): void {
    const at = this.#room(8);
    if (type === 'double' || type === 'packedDouble') this.#buffer.writeDoubleLE(Number(value), at);
    else this.#buffer.writeBigUInt64LE(BigInt.asUintN(64, BigInt(value)), at);
  }

  /** Short texts of ASCII, which most are, are written here: calls of the runtime would take three times as long. */
  #text(text: string, encoding: 'utf8' | 'hex'): void {
    if (encoding === 'utf8' && text.length <= SHORT_TEXT && this.#ascii(text)) return;
    const size = Buffer.byteLength(text, encoding);
    const at = this.#room(size);
    this.#buffer.write(text, at, size, encoding);
  }

  #ascii(text: string): boolean {
    const at = this.#room(text.length);
    const buffer = this.#buffer;
    for (let index = 0; index < text.length; index++) {
      const code = text.charCodeAt(index);
      if (code > 0x7f) {
        this.#written -= text.length;
        return false;
      }
      buffer[at + index] = code;
    }
    return true;
  }

  /** Seven bits in each byte; the highest bit says that another byte follows. Almost all fit into one or two bytes. */
  #varint(value: number | bigint): void {
    if (typeof value === 'number' && value < 0x80) {
      const at = this.#room(1);
      this.#buffer[at] = value;
      return;
    }
    if (typeof value === 'number' && value < 0x4000) {
      const at = this.#room(2);
      this.#buffer[at] = (value & 0x7f) | 0x80;
      this.#buffer[at + 1] = value >> 7;
      return;
    }
    const bytes: number[] = [];
    let rest = BigInt(value);
    for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
    bytes.push(Number(rest));
    const at = this.#room(bytes.length);
    this.#buffer.set(bytes, at);
  }

  /** The position of the next `size` bytes, in front of what is written. It may replace the buffer with a larger one. */
  #room(size: number): number {
    this.#written += size;
    if (this.#written > this.#buffer.length) {
      const larger = Buffer.allocUnsafe(Math.max(2 * this.#buffer.length, this.#written));
      const kept = this.#written - size;
      this.#buffer.copy(larger, larger.length - kept, this.#buffer.length - kept);
      this.#buffer = larger;
    }
    return this.#buffer.length - this.#written;
  }
}

/** Small numbers need no BigInt; a negative one has all 64 bits. */
function wholeNumber(text: string): number | bigint {
  const value = Number(text);
  return value >= 0 && Number.isSafeInteger(value) ? value : BigInt.asUintN(64, BigInt(text));
}
