// Reads what a caller sent: with a size limit, within the caller's ration, parsed strictly and checked against a schema. A
// body that is too large is refused by its declared length, or at the first byte past the limit. Texts that cannot be
// stored are refused too.

import type { z } from 'zod';
import { GuardError, type InputFault, invalidInput } from '../../core/errors.ts';
import { type Json, parseJsonBytes } from '../../core/wire/json.ts';
import { type RequestRation, SMALL_BYTES } from '../../guard/rations/rations.ts';
import { faultsOf, plainFault, pointerPart } from './plain-faults.ts';

/** The largest size of a body, and the ration that it counts for. */
export interface Bounds {
  limit: number;
  ration: RequestRation;
}

/** The bytes of the body, once it is the caller's turn to have them worked on. */
export function readBytes(request: Request, { limit, ration }: Bounds): Promise<Uint8Array> {
  const declared = request.headers.get('content-length');
  if (declared === null) return inTurn(readChunks(request, limit, ration), ration);
  const length = Number(declared);
  if (length > limit) throw tooLarge(limit);
  if (length <= SMALL_BYTES) return request.bytes().catch(gone);
  ration.grow(length);
  return inTurn(request.bytes().catch(gone), ration);
}

async function inTurn(body: Promise<Uint8Array>, ration: RequestRation): Promise<Uint8Array> {
  const bytes = await body;
  if (bytes.length > SMALL_BYTES) await ration.turn();
  return bytes;
}

/**
 * Reads what has come since the last turn of the event loop in one piece. A body that was sent in chunks of one byte was
 * otherwise read byte by byte, which took twenty times as long as the same body in one chunk.
 */
async function readChunks(request: Request, limit: number, ration: RequestRation): Promise<Uint8Array> {
  if (request.body === null) return new Uint8Array();
  const reader = request.body.getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return Buffer.concat(chunks);
      size += value.length;
      if (size > limit) throw tooLarge(limit);
      ration.grow(value.length);
      chunks.push(value);
      await new Promise(setImmediate);
    }
  } catch (error) {
    reader.cancel().catch(() => {});
    gone(error);
  }
}

/**
 * Throws `client_gone` if the client closed the connection or timed out within the body, and any other error as it is.
 */
export function gone(error: unknown): never {
  if (!(error instanceof Error) || error.name !== 'AbortError') throw error;
  throw new GuardError('client_gone', 'The connection was closed before the whole body was here.', {
    cause: error,
  });
}

function tooLarge(limit: number): GuardError {
  return new GuardError('too_large', `The body is larger than ${limit} bytes.`);
}

const JSON_TYPE = /^application\/json\s*(?:;\s*charset="?utf-8"?\s*)?$/i;

const FORM_TYPE = /^application\/x-www-form-urlencoded\s*(?:;|$)/i;

/** Whether the body is encoded like a browser's form. */
export function isForm(request: Request): boolean {
  return FORM_TYPE.test(request.headers.get('content-type') ?? '');
}

export function requireForm(request: Request): void {
  if (isForm(request)) return;
  throw new GuardError('unsupported_media_type', 'Send the body as application/x-www-form-urlencoded.');
}

export async function readForm(
  request: Request,
  bounds: Bounds,
  read: (params: URLSearchParams) => Record<string, unknown>,
): Promise<Record<string, unknown>> {
  const bytes = await readBytes(request, bounds);
  return read(new URLSearchParams(new TextDecoder().decode(bytes)));
}

/** Every name may appear once, because a repeated one is ambiguous. */
export function fields(params: URLSearchParams): Record<string, string> {
  const found: Record<string, string> = Object.create(null);
  for (const [name, value] of params) {
    if (name in found)
      throw new GuardError('invalid_input', `The field ${JSON.stringify(name)} is repeated.`);
    found[name] = value;
  }
  return found;
}

export function isJson(request: Request): boolean {
  return JSON_TYPE.test(request.headers.get('content-type') ?? '');
}

/**
 * The JSON body, not yet checked. An empty one counts as `{}` if the route allows leaving it out. `seen` gets its bytes
 * before they are parsed.
 */
export async function readJson(
  request: Request,
  bounds: Bounds,
  {
    mayBeEmpty,
    maxValues,
    seen,
  }: { mayBeEmpty: boolean; maxValues: number | undefined; seen?: (bytes: Uint8Array) => void },
): Promise<Json> {
  const type = request.headers.get('content-type');
  if (type !== null && !JSON_TYPE.test(type)) throw wrongType();
  const bytes = await readBytes(request, bounds);
  seen?.(bytes);
  if (bytes.length === 0 && mayBeEmpty) return {};
  if (type === null) throw wrongType();
  return parseJsonBytes(bytes, maxValues);
}

function wrongType(): GuardError {
  return new GuardError('unsupported_media_type', 'Send the body as application/json, in UTF-8.');
}

/** Checks a value against a schema. Faults name a JSON Pointer and never quote the value. */
export function fit<T extends z.ZodType>(schema: T, value: unknown): z.output<T> {
  const parsed = schema.safeParse(value, { error: plainFault });
  if (parsed.success) return parsed.data;
  throw invalidInput(parsed.error.issues.flatMap(issue => faultsOf(issue, schema)));
}

/**
 * Refuses texts that PostgreSQL does not accept (U+0000) or would change (halves of a surrogate pair). This is done
 * here for every route whose texts may reach the store, so that no single place can forget it.
 */
export function requireStorable(value: unknown): void {
  const fault = unstorable(value);
  if (fault !== null) throw invalidInput([fault]);
}

/** The first text that cannot be stored. Paths are made only where one is found: they took most of the time. */
function unstorable(value: unknown): InputFault | null {
  if (typeof value === 'string') {
    const message = textFault(value);
    return message === null ? null : { path: '', message };
  }
  if (typeof value !== 'object' || value === null) return null;
  for (const name of Array.isArray(value) ? value.keys() : Object.keys(value)) {
    const message = typeof name === 'string' ? textFault(name) : null;
    if (message !== null) return { path: '', message };
    const fault = unstorable((value as Record<string | number, unknown>)[name]);
    if (fault !== null) return { ...fault, path: pointerPart(name) + fault.path };
  }
  return null;
}

function textFault(text: string): string | null {
  if (text.includes('\0')) return 'must not contain the character U+0000';
  return text.isWellFormed() ? null : 'must be valid Unicode, without lone surrogates';
}
