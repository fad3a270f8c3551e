// Reads the targets of shipping of the server file. Nothing in them is ignored: a target that was declared wrongly would
// get nothing, and nobody would notice. Addresses, headers and keys may be secrets, so no message quotes them.

import {
  HTTP_SHAPES,
  MAX_TARGETS,
  type S3Target,
  SCHEMAS,
  SHIPPING_TYPES,
  type ShippingTarget,
  type ShippingTargets,
  type ShippingType,
  type SyslogTarget,
} from '../core/log/shipping.ts';
import { isChannelName } from '../core/policy/channel.ts';
import { didYouMean } from '../core/text/did-you-mean.ts';
import { parseDuration } from '../core/time/duration.ts';
import { isObject } from '../core/wire/json.ts';
import { type Complain, type Fields, headers, text, url } from './request-settings.ts';
import { ConfigError } from './server-file.ts';

/** The fields of each type besides `type`. */
const FIELDS: Record<ShippingType, readonly string[]> = {
  http: ['url', 'headers', 'shape', 'compress', 'schema'],
  s3: ['url', 'region', 'keyId', 'secret', 'prefix', 'every', 'schema'],
  otlp: ['url', 'headers', 'compress', 'schema'],
  syslog: ['url', 'caFile', 'schema'],
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
      ` has the unknown field "${odd}"; known with type ${type}: ${known.join(', ')}.${didYouMean(odd, known)}`,
    );
  }
  const schema = oneOf(fields, 'schema', SCHEMAS, 'native', wrong);
  switch (type) {
    case 's3':
      return { type, ...bucket(fields, wrong), schema };
    case 'otlp':
      return {
        type,
        url: logsUrl(url(fields, 'url', 'the address of the collector', wrong)),
        headers: headers(fields, wrong).headers ?? {},
        compress: flag(fields, 'compress', wrong),
        schema,
      };
    case 'syslog':
      return { type, ...syslogServer(fields, wrong), schema };
    case 'http':
      return {
        type,
        url: url(fields, 'url', 'the address that gets the entries', wrong),
        headers: headers(fields, wrong).headers ?? {},
        shape: oneOf(fields, 'shape', HTTP_SHAPES, 'ndjson', wrong),
        compress: flag(fields, 'compress', wrong),
        schema,
      };
  }
}

const REGION = /^[a-z0-9-]{1,64}$/;
const KEY_ID = /^[\x21-\x2b\x2d\x2e\x30-\x7e]{1,128}$/;
const SECRET = /^[\x21-\x7e]{1,256}$/;
/** Letters that every service takes in the name of an object, and that stand in a URL as they are. */
const PREFIX = /^(?:[A-Za-z0-9._~-]{1,100}\/){0,10}[A-Za-z0-9._~-]{1,100}$/;
const LONGEST_EVERY = 60 * 60_000;

function bucket(fields: Fields, wrong: Complain): Omit<S3Target, 'type' | 'schema'> {
  const address = url(fields, 'url', 'the address of the bucket', wrong).replace(/\/+$/, '');
  if (/[?#]/.test(address)) throw wrong('.url must end with the bucket, without "?" or "#".');
  const key = {
    id: text(fields, 'keyId', KEY_ID, 'the id of the access key', wrong),
    secret: text(fields, 'secret', SECRET, 'the secret of the access key', wrong),
    region: text(fields, 'region', REGION, 'the region of the bucket, such as eu-central-1', wrong),
  };
  const prefix = fields['prefix'] ?? '';
  const inOrder = typeof prefix === 'string' && (prefix === '' || PREFIX.test(prefix));
  if (!inOrder || /(?:^|\/)\.{1,2}(?:\/|$)/.test(prefix))
    throw wrong(
      '.prefix must be names of letters, digits, ".", "_", "~" or "-" with "/" between them, such as logs/toolgate.',
    );
  return { url: address, key, prefix, everyMs: every(fields, wrong) };
}

function every({ every: given = '5m' }: Fields, wrong: Complain): number {
  const ms = typeof given === 'string' ? parseDuration(given) : null;
  if (ms === null || ms > LONGEST_EVERY) throw wrong('.every must be a duration from 1s to 1h, such as 5m.');
  return ms;
}

/** An address without a path is that of the collector, which takes log records at the path that the protocol names. */
function logsUrl(address: string): string {
  return new URL(address).pathname === '/' ? new URL('/v1/logs', address).href : address;
}

/** The port that is registered for syslog over TLS. */
const SYSLOG_PORT = 6514;

function syslogServer(
  { url: given, caFile = null }: Fields,
  wrong: Complain,
): Omit<SyslogTarget, 'type' | 'schema'> {
  if (given === undefined || given === null) throw wrong(' needs "url", the address of the server.');
  const form = '.url must be tls://<host> or syslog+tls://<host>, with a port if it is not 6514.';
  // As an address of the web, the host is read and checked like all others.
  const web = typeof given === 'string' ? given.replace(/^(?:syslog\+)?tls:\/\//, 'https://') : '';
  if (!/^https:\/\/[^/?#@]+\/?$/.test(web) || web === given || !URL.canParse(web)) throw wrong(form);
  const { hostname, port } = new URL(web);
  // A URL leaves out the usual port of its scheme.
  const isUsual = port === '' && /:0*443\/?$/.test(web);
  if (port === '0') throw wrong(form);
  if (caFile !== null && (typeof caFile !== 'string' || caFile === ''))
    throw wrong('.caFile must be the path of a file with certificates.');
  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: isUsual ? 443 : Number(port || SYSLOG_PORT),
    caFile,
  };
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
  const meant = typeof given === 'string' ? didYouMean(given, words) : '';
  throw wrong(`.${name} is ${JSON.stringify(given)}: it must be one of ${words.join(', ')}.${meant}`);
}

function flag(fields: Fields, name: string, wrong: Complain): boolean {
  const given = fields[name] ?? false;
  if (typeof given !== 'boolean') throw wrong(`.${name} must be true or false.`);
  return given;
}
