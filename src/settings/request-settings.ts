// Reads what channels and shipping have in common in the server file: the addresses, headers and keys of the requests that
// they send. They may be secrets, so no message quotes them.

import { isObject } from '../core/wire/json.ts';
import type { ConfigError } from './server-file.ts';
import { webUrl } from './setting-readers.ts';

export type Fields = Record<string, unknown>;
/** Makes the error for a fault; `what` follows the name of the channel or target. */
export type Complain = (what: string) => ConfigError;

const MAX_HEADERS = 20;
const MAX_HEADER_CHARS = 8192;
const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/;
const HEADER_VALUE = /^[\t\x20-\x7e]*$/;
/** The service itself sets these for every request. */
const OWN_HEADERS = new Set(['host', 'content-type', 'content-length', 'transfer-encoding', 'connection']);

/** The address is used unchanged: a slash at its end may belong to a signature. */
export function url(fields: Fields, name: string, what: string, wrong: Complain): string {
  const value = fields[name];
  if (value === undefined || value === null) throw wrong(` needs "${name}", ${what}.`);
  try {
    if (typeof value === 'string' && webUrl(value) !== '') return value;
  } catch {}
  throw wrong(`.${name} must be an http:// or https:// address, without a user name or password in it.`);
}

/** A text of this form, which may be a secret. */
export function text(fields: Fields, name: string, form: RegExp, what: string, wrong: Complain): string {
  const given = fields[name];
  if (given === undefined || given === null) throw wrong(` needs "${name}", ${what}.`);
  if (typeof given === 'string' && form.test(given)) return given;
  throw wrong(`.${name} must be ${what}, as a text.`);
}

export function headers({ headers: given }: Fields, wrong: Complain): { headers?: Record<string, string> } {
  if (given === undefined) return {};
  if (!isObject(given)) throw wrong('.headers must be an object: { <name>: <text> }.');
  const names = Object.keys(given);
  if (names.length > MAX_HEADERS)
    throw wrong(`.headers has ${names.length} headers: at most ${MAX_HEADERS} are possible.`);
  for (const name of names) {
    if (!HEADER_NAME.test(name))
      throw wrong(`.headers has ${JSON.stringify(name.slice(0, 100))}, which is no name of a header.`);
    if (OWN_HEADERS.has(name.toLowerCase()))
      throw wrong(`.headers has "${name}", which the service sets itself.`);
    const text = given[name];
    if (typeof text !== 'string' || text.length > MAX_HEADER_CHARS || !HEADER_VALUE.test(text))
      throw wrong(
        `.headers.${name} must be a text of printable ASCII characters, at most ${MAX_HEADER_CHARS}.`,
      );
  }
  return { headers: given as Record<string, string> };
}
