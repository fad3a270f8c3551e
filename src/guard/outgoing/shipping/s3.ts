// Ships the audit log to an S3 bucket or a compatible service: compressed objects of JSON lines, in folders by hour.
// An object has consecutive places of the log whose entries are of the same hour, and is named after them, so that a
// batch that is sent again replaces its own object. An entry that is sealed late still goes into the hour of its time.

import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { S3Target, Schema } from '../../../core/log/shipping.ts';
import type { TargetRules } from '../addresses.ts';
import { SendError, sendBody } from '../send.ts';
import { type S3Key, signS3 } from '../sign-s3.ts';
import { shippedLine } from './line.ts';
import { type Portion, refusePage, type Shipped, type Target } from './target.ts';

const MOST_ENTRIES = 5000;
const HOUR_MS = 60 * 60_000;
/** How much later than its time an entry is usually sealed at most; later ones get an object of their own. */
const SEALING_MS = 5000;
/** An object may have some megabytes. */
const UPLOAD_MS = 60_000;
/** Lines are written in slices, so that checks are not kept waiting meanwhile. */
const SLICE = 250;

const compressed = promisify(gzip);

export function s3Target(settings: S3Target, rules: TargetRules, now: () => number): Target {
  const { url, key, prefix, everyMs, schema } = settings;
  return {
    most: MOST_ENTRIES,
    portion: patient(everyMs),
    send: async batch => {
      const body = await compressed(await lines(batch, schema));
      await put(`${url}/${objectName(prefix, batch)}`, body, key, rules, now());
    },
  };
}

/**
 * Like `portion`, but no entry waits much longer than a stretch lasts. The time of an entry may be far ahead if it was
 * made by a replica with a wrong clock, and everything after it would wait with it.
 */
export function patient(everyMs: number): (next: readonly Shipped[], now: number) => Portion {
  let waiting = { seq: -1, since: 0 };
  return (next, now) => {
    const found = portion(next, now, everyMs);
    if ('count' in found) return found;
    const { seq } = next[0] as Shipped;
    if (waiting.seq !== seq) waiting = { seq, since: now };
    const latest = waiting.since + everyMs + SEALING_MS;
    if (now >= latest || now < waiting.since) return { count: next.length };
    return { waitUntil: Math.min(found.waitUntil, latest) };
  };
}

/**
 * The entries up to the end of a stretch of time, once it is over. Stretches are parts of the hour by the entries' own
 * times, so that a restart does not change where an object ends.
 */
export function portion(next: readonly Shipped[], now: number, everyMs: number): Portion {
  const end = stretchEnd(next[0] as Shipped, everyMs);
  const other = next.findIndex(each => stretchEnd(each, everyMs) !== end);
  if (other !== -1) return { count: other };
  const waitUntil = end + SEALING_MS;
  return next.length >= MOST_ENTRIES || now >= waitUntil ? { count: next.length } : { waitUntil };
}

function stretchEnd({ entry }: Shipped, everyMs: number): number {
  const at = Date.parse(entry.at);
  const hour = at - (at % HOUR_MS);
  return Math.min(hour + HOUR_MS, at - ((at - hour) % everyMs) + everyMs);
}

/** Names sort in the order of the log, also across hours if the folders are left out. */
export function objectName(prefix: string, batch: readonly Shipped[]): string {
  const first = batch[0] as Shipped;
  const last = batch.at(-1) as Shipped;
  const hour = first.entry.at.slice(0, 13).replace(/[-T]/g, '/');
  return `${prefix === '' ? '' : `${prefix}/`}${hour}/${padded(first.seq)}-${padded(last.seq)}.jsonl.gz`;
}

function padded(seq: number): string {
  return String(seq).padStart(12, '0');
}

async function lines(batch: readonly Shipped[], schema: Schema): Promise<string> {
  let text = '';
  for (let from = 0; from < batch.length; from += SLICE) {
    for (const each of batch.slice(from, from + SLICE)) text += `${shippedLine(each, schema)}\n`;
    await new Promise(setImmediate);
  }
  return text;
}

async function put(url: string, body: Buffer, key: S3Key, rules: TargetRules, now: number): Promise<void> {
  const checksum = { 'x-amz-checksum-sha256': createHash('sha256').update(body).digest('base64') };
  // Buckets with object lock require a digest, and services that do not know the checksum compare this one.
  const md5 = { 'content-md5': createHash('md5').update(body).digest('base64') };
  const { status, response, bytes } = await sendBody({
    url,
    method: 'PUT',
    headers: { ...md5, ...signS3('PUT', url, body, key, now, checksum) },
    body,
    contentType: 'application/gzip',
    timeoutMs: UPLOAD_MS,
    rules,
  });
  if (status >= 200 && status <= 299) return refusePage(bytes);
  const code = /<Code>([A-Za-z0-9]{1,64})<\/Code>/.exec(response)?.[1];
  throw new SendError(`the bucket answered ${status}${code === undefined ? '' : ` (${code})`}`);
}
