// Shipping by HTTP: what stands in the body in each shape, what counts as confirmed, and what is told of a refusal.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { HTTP_SHAPES, type HttpTarget, SCHEMAS } from '../../../../src/core/log/shipping.ts';
import { httpTarget } from '../../../../src/guard/outgoing/shipping/http.ts';
import { BatchRefused } from '../../../../src/guard/outgoing/shipping/target.ts';
import { refusal } from '../../../support/refusal.ts';
import { batchOf } from './entries.ts';

const BATCH = batchOf(3, '2026-11-17T05:03:00.250Z', 7);
const NATIVE = BATCH.map(({ seq, entry }) => ({ seq, ...entry }));

interface Arrived {
  headers: http.IncomingHttpHeaders;
  path: string;
  body: Buffer;
}

let server: http.Server;
let url: string;
let arrived: Arrived[];
let answer: { status: number; body: string };

beforeAll(async () => {
  server = http.createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    arrived.push({ headers: request.headers, path: request.url ?? '', body: Buffer.concat(chunks) });
    response.writeHead(answer.status, { location: '/elsewhere' }).end(answer.body);
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/in`;
});
afterAll(() => server.close());
beforeEach(() => {
  arrived = [];
  answer = { status: 200, body: '' };
});

function target(more: Partial<HttpTarget> = {}) {
  const settings: HttpTarget = {
    type: 'http',
    url,
    headers: { Authorization: 'Splunk canary' },
    shape: 'ndjson',
    compress: false,
    schema: 'native',
    ...more,
  };
  return httpTarget(settings, { allowPrivate: true });
}

const sent = (): Arrived => arrived[0] as Arrived;
const lines = (text: string) => {
  expect(text.endsWith('\n')).toBe(true);
  return text
    .slice(0, -1)
    .split('\n')
    .map(line => JSON.parse(line));
};

describe('ndjson', () => {
  test('one line for each entry, with its place and the headers of the server file', async () => {
    await target().send(BATCH);
    const { headers, path, body } = sent();
    expect(lines(body.toString())).toEqual(NATIVE);
    expect([headers['content-type'], headers.authorization, headers['content-encoding'], path]).toEqual([
      'application/x-ndjson',
      'Splunk canary',
      undefined,
      '/in',
    ]);
  });

  test('compressed on request', async () => {
    await target({ compress: true }).send(BATCH);
    expect(sent().headers['content-encoding']).toBe('gzip');
    expect(lines(gunzipSync(sent().body).toString())).toEqual(NATIVE);
  });

  test('as events of OCSF on request', async () => {
    await target({ schema: 'ocsf' }).send(BATCH);
    const events = lines(sent().body.toString());
    expect(events.map(each => each.metadata.uid)).toEqual(BATCH.map(({ entry }) => entry.id));
  });

  test.each([200, 201, 202, 204])('%p confirms', async status => {
    answer.status = status;
    await target().send(BATCH);
    expect(arrived.length).toBe(1);
  });

  test.each([301, 307, 400, 401, 404, 429, 500, 503])('%p does not, and is not followed', async status => {
    answer.status = status;
    expect(await refusal(target().send(BATCH))).toMatchObject({ message: `the receiver answered ${status}` });
    expect(arrived.length).toBe(1);
  });

  test('413 asks for less', async () => {
    answer.status = 413;
    expect(await refusal(target().send(BATCH))).toBeInstanceOf(BatchRefused);
  });
});

test('an entry stays one line of valid JSON, whatever its texts contain', async () => {
  const odd = 'a\u2028b\u2029c\u0085d\ne\r\u001ef\u007f\ud800"}\n{"seq":1}';
  const [first] = BATCH;
  const batch = [{ seq: 7, entry: { ...first!.entry, toolName: odd, reason: odd } }];
  for (const shape of HTTP_SHAPES) {
    answer.body = shape === 'elastic' ? '{"errors":false}' : '';
    for (const schema of SCHEMAS) await target({ shape, schema }).send(batch);
  }
  for (const { body } of arrived) {
    const text = body.toString();
    // As Python and others divide a text into lines.
    const parts = text.split(/[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/).filter(part => part !== '');
    expect(parts.length).toBe(text.startsWith('{"create"') ? 2 : 1);
    expect(JSON.stringify(JSON.parse(parts.at(-1) as string))).toContain(JSON.stringify(odd));
  }
  expect(arrived.length).toBe(6);
});

test('splunk: a page to sign in is no confirmation, although its status is 200', async () => {
  for (const body of ['<!DOCTYPE html><title>Sign in</title>', '\n<html lang="en">']) {
    answer.body = body;
    expect(await refusal(target({ shape: 'splunk' }).send(BATCH))).toMatchObject({
      message: 'a web page was the answer: something before the receiver gave it',
    });
  }
  answer.body = '{"text":"Success","code":0}';
  await target({ shape: 'splunk' }).send(BATCH);
});

test('splunk: an envelope with the time of the entry around each event', async () => {
  await target({ shape: 'splunk' }).send(BATCH);
  const time = Date.parse('2026-11-17T05:03:00.250Z') / 1000;
  expect(lines(sent().body.toString())).toEqual(
    NATIVE.map(event => ({ time, source: 'toolgate', sourcetype: 'toolgate:audit', event })),
  );
});

describe('elastic', () => {
  const bulk = (...items: object[]) =>
    JSON.stringify({ errors: items.length > 0, items: items.map(create => ({ create })) });

  test('each document has the id of its entry, and the answer is asked to be short', async () => {
    answer.body = bulk();
    await target({ shape: 'elastic' }).send(BATCH);
    expect(sent().path).toBe('/in?filter_path=errors,items.create.status,items.create.error.type');
    expect(lines(sent().body.toString())).toEqual(
      NATIVE.flatMap(event => [{ create: { _id: event.id } }, { '@timestamp': event.at, ...event }]),
    );
    await target({ shape: 'elastic', url: `${url}?pipeline=p` }).send(BATCH);
    expect(arrived[1]?.path).toStartWith('/in?pipeline=p&filter_path=');
  });

  test('a conflict is a repeat, and counts as confirmed', async () => {
    answer.body = bulk(
      { status: 200 },
      { status: 409, error: { type: 'version_conflict_engine_exception' } },
      { status: 299 },
    );
    await target({ shape: 'elastic' }).send(BATCH);
    expect(arrived.length).toBe(1);
  });

  const CASES: [what: string, body: string, message: string][] = [
    [
      'an entry that was refused',
      bulk({ status: 201 }, { status: 429, error: { type: 'es_rejected_execution_exception' } }, {}),
      'the receiver refused the entry at place 8 with 429: es_rejected_execution_exception',
    ],
    [
      'an error of another form',
      bulk({ status: 400, error: { type: '<script>' } }, {}, {}),
      'the receiver refused the entry at place 7 with 400',
    ],
    ['no item at all', '{"errors":true,"items":[]}', 'the receiver gave no answer of the bulk API'],
    [
      'fewer items than entries',
      bulk({ status: 201 }, { status: 201 }),
      'the receiver gave no answer of the bulk API',
    ],
    [
      'a status past success',
      bulk({ status: 201 }, { status: 201 }, { status: 300 }),
      'the receiver refused the entry at place 9 with 300',
    ],
    ['an item without a status', bulk({}, {}, {}), 'the receiver gave no answer of the bulk API'],
    ['a login page', '<html>', 'the receiver gave no answer of the bulk API'],
    ['nothing', '', 'the receiver gave no answer of the bulk API'],
    ['null', 'null', 'the receiver gave no answer of the bulk API'],
  ];
  test.each(CASES)('%s inside a 200 is a failure', async (_, body, message) => {
    answer.body = body;
    expect(await refusal(target({ shape: 'elastic' }).send(BATCH))).toMatchObject({ message });
  });
});

test('a batch ends where it becomes too large for most receivers', () => {
  const { portion, most } = target();
  expect(portion?.(BATCH, 0)).toEqual({ count: 3 });
  const large = batchOf(most, '2026-11-17T05:03:00.000Z').map(({ seq, entry }) => ({
    seq,
    entry: { ...entry, reason: 'x'.repeat(10_000) },
  }));
  const found = portion?.(large, 0);
  const count = found && 'count' in found ? found.count : 0;
  expect(JSON.stringify(large.slice(0, count)).length).toBeLessThan(600_000);
  expect(count).toBeGreaterThan(40);
});
