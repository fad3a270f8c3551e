// Sends entries in the body of a POST: as lines of JSON, or in the forms that Splunk and Elasticsearch read. The receiver
// confirms a batch with a status of 2xx. Elasticsearch names the entries that it refused inside such an answer.

import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { HttpShape, HttpTarget } from '../../../core/log/shipping.ts';
import type { TargetRules } from '../addresses.ts';
import { ATTEMPT_MS, SendError, sendBody } from '../send.ts';
import { inOneLine, shippedValue } from './line.ts';
import { type Portion, refusePage, requireTaken, type Shipped, type Target } from './target.ts';

const MOST_ENTRIES = 500;
/** A batch is cut after the entry that exceeds this size, so that a request stays below the limits of most receivers. */
const MOST_BYTES = 512 * 1024;
/** An answer of Elasticsearch has a few dozen bytes for each entry that it refused. */
const ANSWER_BYTES = 256 * 1024;

const compressed = promisify(gzip);

export function httpTarget(settings: HttpTarget, rules: TargetRules): Target {
  const { url, shape, compress, schema } = settings;
  const { contentType, line, confirm } = SHAPES[shape];
  return {
    most: MOST_ENTRIES,
    portion: next => withinBytes(next),
    async send(batch) {
      const text = batch.map(each => line(each, shippedValue(each, schema))).join('');
      const body = compress ? await compressed(text) : text;
      const encoding = compress ? { 'content-encoding': 'gzip' } : {};
      const { status, bytes } = await sendBody({
        url: shape === 'elastic' ? withFilter(url) : url,
        method: 'POST',
        headers: { ...settings.headers, ...encoding },
        body,
        contentType,
        timeoutMs: ATTEMPT_MS,
        maxResponseBytes: ANSWER_BYTES,
        rules,
      });
      requireTaken('receiver', status);
      confirm(bytes, batch);
    },
  };
}

function withinBytes(next: readonly Shipped[]): Portion {
  let bytes = 0;
  const end = next.findIndex(({ entry }) => {
    bytes += JSON.stringify(entry).length;
    return bytes > MOST_BYTES;
  });
  return { count: end === -1 ? next.length : end + 1 };
}

interface Shape {
  contentType: string;
  /** What stands in the body for one entry, with its line break. */
  line(shipped: Shipped, event: object): string;
  /** Throws unless an answer of status 2xx confirms every entry. */
  confirm(answer: Uint8Array, batch: readonly Shipped[]): void;
}

const nothing = () => {};

const SHAPES: Record<HttpShape, Shape> = {
  ndjson: {
    contentType: 'application/x-ndjson',
    line: (_, event) => `${inOneLine(event)}\n`,
    confirm: nothing,
  },
  splunk: {
    contentType: 'application/json',
    line: ({ entry }, event) => {
      const envelope = {
        time: Date.parse(entry.at) / 1000,
        source: 'toolgate',
        sourcetype: 'toolgate:audit',
      };
      return `${inOneLine({ ...envelope, event })}\n`;
    },
    confirm: refusePage,
  },
  elastic: {
    contentType: 'application/x-ndjson',
    // The id of the entry is that of the document, so a repeat is refused as a conflict and changes nothing.
    line: ({ entry }, event) =>
      `{"create":{"_id":${JSON.stringify(entry.id)}}}\n${inOneLine({ '@timestamp': entry.at, ...event })}\n`,
    confirm: confirmBulk,
  },
};

/** Asks Elasticsearch to answer only with what was refused. */
function withFilter(url: string): string {
  const filter = 'filter_path=errors,items.create.status,items.create.error.type';
  return `${url}${url.includes('?') ? '&' : '?'}${filter}`;
}

const CONFLICT = 409;
const ERROR_TYPE = /^[a-z_]{1,80}$/;

const NO_ANSWER = 'the receiver gave no answer of the bulk API';

function confirmBulk(answer: Uint8Array, batch: readonly Shipped[]): void {
  const { errors, items } = bulkAnswer(new TextDecoder().decode(answer));
  if (errors === false) return;
  // There is one item for each entry, in their order.
  if (errors !== true || !Array.isArray(items) || items.length !== batch.length)
    throw new SendError(NO_ANSWER);
  for (const [index, item] of items.entries()) {
    const { status, error } = item?.create ?? {};
    if (typeof status !== 'number') throw new SendError(NO_ANSWER);
    if ((status >= 200 && status <= 299) || status === CONFLICT) continue;
    const type = ERROR_TYPE.test(error?.type ?? '') ? `: ${error?.type}` : '';
    throw new SendError(`the receiver refused the entry at place ${batch[index]?.seq} with ${status}${type}`);
  }
}

interface BulkAnswer {
  errors?: unknown;
  items?: ({ create?: { status?: unknown; error?: { type?: string } } } | null)[];
}

function bulkAnswer(text: string): BulkAnswer {
  try {
    return (JSON.parse(text) as BulkAnswer | null) ?? {};
  } catch {
    return {};
  }
}
