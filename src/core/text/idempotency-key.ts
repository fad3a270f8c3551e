// The key by which a client says that a call is the same one as before, made again because its answer was lost.

import { type InputFault, invalidInput } from '../errors.ts';
import type { Json } from '../wire/json.ts';

export const IDEMPOTENCY_HEADER = 'Idempotency-Key';
/** Every check looks for it, and the runtime takes twice as long for a name with capitals. */
const LOOKED_UP = IDEMPOTENCY_HEADER.toLowerCase();
/** The field of `_meta` that may carry it instead of the header. */
export const IDEMPOTENCY_META = 'dev.toolgate/idempotency-key';

const KEY = /^[\x21-\x7e]{1,128}$/;
const FAULT = 'must have 1 to 128 visible ASCII characters, without blanks';
const DIFFER = `is not the key that the header ${IDEMPOTENCY_HEADER} has: send one of them, or the same in both`;
const IN_META = `/_meta/${IDEMPOTENCY_META.replace('/', '~1')}`;

/**
 * The key that a call carries, in its header or in its `_meta`; undefined if it has none. It throws if one of them is no key,
 * or if they differ.
 */
export function idempotencyKeyIn(headers: Headers, meta?: Json): string | undefined {
  const header = headers.get(LOOKED_UP);
  return header === null && meta === undefined ? undefined : oneOf(header, meta);
}

function oneOf(header: string | null, meta: Json | undefined): string {
  if (header !== null && !KEY.test(header)) throw fault(`/${IDEMPOTENCY_HEADER}`, FAULT);
  if (meta === undefined) return header as string;
  if (typeof meta !== 'string' || !KEY.test(meta)) throw fault(IN_META, FAULT);
  if (header !== null && header !== meta) throw fault(IN_META, DIFFER);
  return meta;
}

function fault(path: string, message: string) {
  const faults: InputFault[] = [{ path, message }];
  return invalidInput(faults);
}
