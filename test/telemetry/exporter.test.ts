// A collector that is away, slow, refuses, or answers without end: what waits is bounded, what is given up is counted,
// the next batch is sent all the same, and a stop comes to its end.

import { heapStats } from 'bun:jsc';
import { afterEach, describe, expect, test } from 'bun:test';
import { encode } from '../../src/core/otlp/protobuf.ts';
import type { EndedSpan } from '../../src/core/wire/span.ts';
import { Exporter, type ExporterOptions } from '../../src/telemetry/exporter.ts';
import { TRACES, tracesRequest } from '../../src/telemetry/otlp-traces.ts';
import { Collector, canDecode, type Manner } from '../support/collector.ts';

const SPAN: EndedSpan = {
  traceId: '0af7651916cd43dd8448eb211c80319c',
  spanId: 'b7ad6b7169203331',
  parentId: null,
  state: '',
  name: 'x',
  kind: 'server',
  startedAt: 1_794_878_387_123,
  endedAt: 1_794_878_387_124,
  attributes: {},
  failure: null,
};

interface Sent {
  exporter: Exporter<EndedSpan>;
  dropped: () => number;
  failing: (string | null)[];
}

function exporting(url: string, options: Partial<ExporterOptions<EndedSpan>> = {}): Sent {
  let dropped = 0;
  const failing: (string | null)[] = [];
  const exporter = new Exporter<EndedSpan>({
    url: `${url}/v1/traces`,
    headers: { 'content-type': 'application/x-protobuf', authorization: 'Bearer for-the-collector' },
    queueSize: 1000,
    batchSize: 100,
    delayMs: 1,
    timeoutMs: 600_000,
    compress: false,
    encode: spans => encode(TRACES, tracesRequest({ attributes: {}, version: '1' }, spans)),
    dropped: count => {
      dropped += count;
    },
    failing: reason => failing.push(reason),
    ...options,
  });
  return { exporter, dropped: () => dropped, failing };
}

const add = (exporter: Exporter<EndedSpan>, count: number, from = 0) => {
  for (let index = from; index < from + count; index++) exporter.add({ ...SPAN, name: `span ${index}` });
};

const names = (count: number, from = 0) =>
  Array.from({ length: count }, (_, index) => `span ${from + index}`);

let collector: Collector;
const starts = async (answer: Collector['answer'] = () => 200) => {
  collector = await Collector.start(answer);
  return collector;
};
afterEach(() => collector?.close());

describe.skipIf(!canDecode)('the exporter', () => {
  test('sends everything in order, in batches, the rest at the stop', async () => {
    const { url } = await starts();
    const { exporter, dropped } = exporting(url, { delayMs: 600_000 });
    add(exporter, 250);
    await collector.until(() => collector.spans.length === 200);
    await exporter.stop();
    expect(collector.requests.map(({ json }) => json.resourceSpans[0].scopeSpans[0].spans.length)).toEqual([
      100, 100, 50,
    ]);
    expect(collector.spans.map(span => span.name)).toEqual(names(250));
    expect(collector.requests[0]?.headers['authorization']).toBe('Bearer for-the-collector');
    expect(dropped()).toBe(0);
  });

  test('sends what is there after a while, also if it is little', async () => {
    const { url } = await starts();
    const { exporter } = exporting(url);
    add(exporter, 1);
    await collector.until(() => collector.spans.length === 1);
    add(exporter, 1, 1);
    await collector.until(() => collector.spans.length === 2);
    await exporter.stop();
  });

  test('compresses if it is told to', async () => {
    const { url } = await starts();
    const headers = { 'content-type': 'application/x-protobuf', 'content-encoding': 'gzip' };
    const { exporter } = exporting(url, { compress: true, headers });
    add(exporter, 100);
    await exporter.stop();
    expect(collector.spans.map(span => span.name)).toEqual(names(100));
    const [request] = collector.requests;
    expect(request?.bytes.length).toBeLessThan((request?.plain.length ?? 0) / 2);
  });

  test.each([400, 401, 404, 500])(
    'gives a batch up that is answered with %d, and sends the next',
    async status => {
      const { url } = await starts((_, earlier) => (earlier === 0 ? status : 200));
      const { exporter, dropped, failing } = exporting(url);
      add(exporter, 200);
      await collector.until(() => collector.requests.length === 2);
      await exporter.stop();
      expect(collector.requests.length).toBe(2);
      expect(dropped()).toBe(100);
      expect(failing).toEqual([`it answered ${status}`, null]);
    },
  );

  test('does not follow a redirect: the credential is for the address that the operator named', async () => {
    const { url } = await starts(() => 'redirect');
    const { exporter, dropped } = exporting(url);
    add(exporter, 100);
    await exporter.stop();
    expect(collector.requests.length).toBe(1);
    expect(dropped()).toBe(100);
  });

  test.each([429, 502, 503, 504])(
    'sends the same batch again after %d, when it is asked to',
    async status => {
      const busy = { status, retryAfter: '0' };
      const { url } = await starts((_, earlier) => (earlier < 2 ? busy : 200));
      const { exporter, dropped, failing } = exporting(url);
      add(exporter, 100);
      await collector.until(() => collector.requests.length === 3);
      await exporter.stop();
      const [first, ...others] = collector.requests.map(({ bytes }) => bytes.toString('hex'));
      expect(others).toEqual([first, first] as string[]);
      expect(dropped()).toBe(0);
      expect(failing).toEqual([`it answered ${status}`, null]);
    },
  );

  test('gives a batch up after several attempts, so that it does not hold up the others', async () => {
    const busy = { status: 503, retryAfter: '0' };
    const { url } = await starts((_, earlier) => (earlier < 6 ? busy : 200));
    const { exporter, dropped } = exporting(url);
    add(exporter, 200);
    await collector.until(() => collector.requests.length === 7);
    await exporter.stop();
    expect(collector.spans.at(-1)?.name).toBe('span 199');
    expect(dropped()).toBe(100);
  });

  test('does not read an answer without end', async () => {
    const { url } = await starts(() => 'endless');
    const { exporter, dropped } = exporting(url);
    add(exporter, 300);
    await collector.until(() => collector.requests.length === 3);
    await exporter.stop();
    expect(dropped()).toBe(0);
  });

  test('does not decompress an answer', async () => {
    const { url } = await starts(() => 'bomb');
    const { exporter, dropped } = exporting(url);
    add(exporter, 100);
    await collector.until(() => collector.requests.length === 1);
    Bun.gc(true);
    const before = process.memoryUsage.rss();
    let most = before;
    const watch = setInterval(() => {
      most = Math.max(most, process.memoryUsage.rss());
    }, 1);
    add(exporter, 300, 100);
    await collector.until(() => collector.requests.length === 4);
    await exporter.stop();
    clearInterval(watch);
    expect(most - before).toBeLessThan(64 * 1024 * 1024);
    expect(dropped()).toBe(0);
  });

  test('waits no longer for an answer than it may', async () => {
    const { url } = await starts(() => 'hang');
    const { exporter, dropped, failing } = exporting(url, { timeoutMs: 50 });
    add(exporter, 100);
    await collector.until(() => collector.requests.length === 2);
    expect(failing).toEqual(['it did not answer in time']);
    await exporter.stop();
    expect(dropped()).toBe(100);
  });
});

/** An unbounded queue would keep some hundred bytes of each span. */
const MANY = 300_000;
const MOST_BYTES = 30_000_000;

describe.skipIf(!canDecode)('memory and the end, while the collector', () => {
  async function expectBounded(url: string): Promise<void> {
    const { exporter, dropped } = exporting(url);
    Bun.gc(true);
    const before = heapStats().heapSize;
    for (let round = 0; round < 30; round++) {
      add(exporter, MANY / 30, round * (MANY / 30));
      // Lets the exporter work, and what it sends arrive.
      await new Promise(resolve => setTimeout(resolve));
    }
    Bun.gc(true);
    expect(heapStats().heapSize - before).toBeLessThan(MOST_BYTES);
    expect(dropped()).toBeGreaterThanOrEqual(MANY - 1000 - 100);
    await exporter.stop();
    expect(dropped()).toBe(MANY);
    // What comes after the stop is counted too.
    add(exporter, 1);
    expect(dropped()).toBe(MANY + 1);
  }

  const hanging: Manner = 'hang';

  test('never answers', async () => expectBounded((await starts(() => hanging)).url));

  test('is away', async () => {
    const { url } = await starts();
    await collector.close();
    await expectBounded(url);
  });

  test('is busy, and asks for a long pause', async () => {
    const { url } = await starts(() => ({ status: 503, retryAfter: '86400' }));
    await expectBounded(url);
  });
});
