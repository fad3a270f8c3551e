// Reads the targets of shipping of the server file. Nothing in them is ignored: a target that was declared wrongly would
// get nothing, and nobody would notice. Addresses, headers and keys may be secrets, so no message quotes them.

import { isChannelName } from './core/channel.ts';
import { suggestion } from './core/condition/fault.ts';
import { isObject } from './core/json.ts';
import {
  HTTP_SHAPES,
  MAX_TARGETS,
  SCHEMAS,
  SHIPPING_TYPES,
  type ShippingTarget,
  type ShippingTargets,
  type ShippingType,
} from './core/shipping.ts';
import { type Complain, type Fields, headers, url } from './request-settings.ts';
import { ConfigError } from './server-file.ts';

/** The fields of each type besides `type`. */
const FIELDS: Record<ShippingType, readonly string[]> = {
  http: ['url', 'headers', 'shape', 'compress', 'schema'],
};

/** `file` is the server file's path, for messages. */
export function readShipping(file: string | null, value: unknown): ShippingTargets {
  const wrong = (what: string) => new ConfigError(`${file}: shipping${what}`);
  if (!isObject(value)) throw wrong(' must be an object: { <name>: { type, url, … } }.');
  const names = Object.keys(value);
  if (names.length > MAX_TARGETS)
    throw wrong(` has ${names.length} targets: at most ${MAX_TARGETS} are possible.`);
  const targets: Record<string, ShippingTarget> = Object.create(null);
  for (const name of names) {
    if (!isChannelName(name))
      throw wrong(
        `: ${JSON.stringify(name.slice(0, 100))} is no name: use 1 to 64 letters, digits, "-", "_" or ".", a letter or digit first.`,
      );
    targets[name] = readTarget(value[name], what => wrong(`.${name}${what}`));
  }
  return targets;
}

function readTarget(value: unknown, wrong: Complain): ShippingTarget {
  if (!isObject(value)) throw wrong(' must be an object: { type, url, … }.');
  const { type: given, ...fields } = value;
  if (given === undefined) throw wrong(` needs "type": one of ${SHIPPING_TYPES.join(', ')}.`);
  const type = oneOf({ type: given }, 'type', SHIPPING_TYPES, 'http', wrong);
  const odd = Object.keys(fields).find(each => !FIELDS[type].includes(each));
  if (odd !== undefined) {
    const known = ['type', ...FIELDS[type]];
    throw wrong(
      ` has the unknown field "${odd}"; known with type ${type}: ${known.join(', ')}.${suggestion(odd, known)}`,
    );
  }
  switch (type) {
    case 'http':
      return {
        type,
        url: url(fields, 'url', 'the address that gets the entries', wrong),
        headers: headers(fields, wrong).headers ?? {},
        shape: oneOf(fields, 'shape', HTTP_SHAPES, 'ndjson', wrong),
        compress: flag(fields, 'compress', wrong),
        schema: oneOf(fields, 'schema', SCHEMAS, 'native', wrong),
      };
  }
}

/** One of the given words, or `fallback` if the field is not there. */
function oneOf<Word extends string>(
  fields: Fields,
  name: string,
  words: readonly Word[],
  fallback: Word,
  wrong: Complain,
): Word {
  const given = fields[name];
  if (given === undefined) return fallback;
  const found = words.find(each => each === given);
  if (found !== undefined) return found;
  const meant = typeof given === 'string' ? suggestion(given, words) : '';
  throw wrong(`.${name} is ${JSON.stringify(given)}: it must be one of ${words.join(', ')}.${meant}`);
}

function flag(fields: Fields, name: string, wrong: Complain): boolean {
  const given = fields[name] ?? false;
  if (typeof given !== 'boolean') throw wrong(`.${name} must be true or false.`);
  return given;
}
