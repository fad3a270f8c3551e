// The audit log at an OpenTelemetry collector: the protocol's own definitions read the records, the receiver of the real
// collector takes them, and records that a collector rejects do not count as received.

import { afterAll, describe, expect, test } from 'bun:test';
import type { OtlpTarget } from '../../../../src/core/log/shipping.ts';
import { encode, type Message } from '../../../../src/core/otlp/protobuf.ts';
import { rejectedItems } from '../../../../src/core/otlp/rejected.ts';
import { otlpTarget } from '../../../../src/guard/outgoing/shipping/otlp.ts';
import { BatchRefused, type Shipped } from '../../../../src/guard/outgoing/shipping/target.ts';
import { Collector, canDecode } from '../../../support/collector.ts';
import { until } from '../../../support/faults.ts';
import { freePort } from '../../../support/port.ts';
import { refusal } from '../../../support/refusal.ts';
import { hasTool, tool } from '../../../support/tools.ts';
import { batchOf } from './entries.ts';

const AT = '2026-11-17T05:03:00.021Z';
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';

const target = (url: string, more: Partial<OtlpTarget> = {}) =>
  otlpTarget(
    { type: 'otlp', url, headers: {}, compress: false, schema: 'native', ...more },
    { allowPrivate: true },
  );

function batch(): Shipped[] {
  const [allowed, denied] = batchOf(2, AT, 40) as [Shipped, Shipped];
  const reason = 'x'.repeat(10_000);
  return [
    allowed,
    { seq: 41, entry: { ...denied.entry, decision: 'deny', ruleIndex: null, reason, traceId: TRACE } },
  ];
}

describe.skipIf(!canDecode)('the protocol’s own definitions', () => {
  test('find the entries in the records, whole and in order', async () => {
    const collector = await Collector.start();
    const sent = batch();
    await target(`${collector.url}/v1/logs`, { headers: { 'x-tenant': 'one' }, compress: true }).send(sent);
    const [request] = collector.requests;
    expect([
      request?.headers['content-type'],
      request?.headers['x-tenant'],
      request?.headers['content-encoding'],
    ]).toEqual(['application/x-protobuf', 'one', 'gzip']);
    const [first, second] = collector.logRecords;
    expect(collector.logRecords.map(each => JSON.parse(each.body.stringValue))).toEqual(
      sent.map(({ seq, entry }) => ({ seq, ...entry })),
    );
    expect(first).toMatchObject({
      timeUnixNano: `${Date.parse(AT)}000000`,
      severityNumber: 'SEVERITY_NUMBER_INFO',
      severityText: 'INFO',
    });
    expect(second).toMatchObject({ severityText: 'WARN', traceId: TRACE });
    const attributes = Object.fromEntries(
      first.attributes.map(({ key, value }: { key: string; value: object }) => [
        key,
        Object.values(value)[0],
      ]),
    );
    expect(attributes).toEqual({
      'log.record.uid': sent[0]?.entry.id,
      'toolgate.seq': '40',
      'toolgate.decision': 'allow',
      'toolgate.surface': 'check',
      'toolgate.server_name': 'github',
      'gen_ai.tool.name': 'get_issue',
      'toolgate.policy_id': 'policy-1',
      'toolgate.policy_version': '1',
      'toolgate.rule_index': '0',
    });
    await collector.close();
  });

  test('the body may be in the schema OCSF', async () => {
    const collector = await Collector.start();
    await target(`${collector.url}/v1/logs`, { schema: 'ocsf' }).send(batch());
    const bodies = collector.logRecords.map(each => JSON.parse(each.body.stringValue));
    expect(bodies.map(each => [each.class_uid, each.metadata.sequence, each.trace?.uid])).toEqual([
      [6003, 40, undefined],
      [6003, 41, TRACE],
    ]);
    await collector.close();
  });
});

const ANSWER: Message = {
  partialSuccess: [1, { rejectedLogRecords: [1, 'int64'], errorMessage: [2, 'string'] }],
};
const rejecting = (count: number) =>
  encode(ANSWER, { partialSuccess: { rejectedLogRecords: String(count), errorMessage: 'too old' } });

describe('what a collector answers', () => {
  let answer: () => Response = () => new Response();
  const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => answer() });
  afterAll(() => server.stop(true));
  const sending = (given: () => Response) => {
    answer = given;
    return target(`http://127.0.0.1:${server.port}/v1/logs`).send(batch());
  };

  test('records that it rejects are not received; a warning alone is no failure', async () => {
    const error = await refusal(sending(() => new Response(rejecting(1))));
    expect(String(error)).toBe('Error: the collector rejected 1 of 2 records');
    const json = { partialSuccess: { rejectedLogRecords: '2' } };
    expect(String(await refusal(sending(() => Response.json(json))))).toContain('rejected 2 of 2');
    await sending(() => new Response(rejecting(0)));
    await sending(() => Response.json({}));
    await sending(() => new Response('ok'));
    await sending(() => new Response());
  });

  test('a page to sign in is no confirmation, although its status is 200', async () => {
    const page = '<!doctype html><title>Sign in</title>';
    expect(String(await refusal(sending(() => new Response(page))))).toContain('a web page was the answer');
  });

  test('other statuses are failures, and 413 asks for less', async () => {
    for (const status of [301, 400, 401, 429, 503])
      expect(String(await refusal(sending(() => new Response(null, { status }))))).toContain(
        `answered ${status}`,
      );
    expect(await refusal(sending(() => new Response(null, { status: 413 })))).toBeInstanceOf(BatchRefused);
  });

  test('an answer of any bytes is read to its end or not at all', () => {
    const whole = rejecting(3);
    expect(rejectedItems(whole, 'rejectedLogRecords')).toBe(3);
    for (let end = 1; end < whole.length; end++)
      expect(rejectedItems(whole.subarray(0, end), 'rejectedLogRecords')).toBe(0);
    for (const text of [
      '{',
      '{"partialSuccess":null}',
      '[]',
      '\u0000\u0000',
      '{"partialSuccess":{"rejectedLogRecords":{}}}',
    ])
      expect(rejectedItems(Buffer.from(text), 'rejectedLogRecords')).toBe(0);
  });
});

describe.skipIf(!hasTool('otelcol'))('the receiver of the OpenTelemetry Collector', () => {
  test('takes the records', async () => {
    const port = await freePort();
    const child = Bun.spawn([tool('otelcol') as string, `127.0.0.1:${port}`], {
      stdout: 'pipe',
      stderr: 'inherit',
    });
    let printed = '';
    const reading = (async () => {
      for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) printed += chunk;
    })();
    await until('it is ready', () => printed.includes('ready'));
    const sent = batch();
    await target(`http://127.0.0.1:${port}/v1/logs`, { compress: true }).send(sent);
    await until('it has printed them', () => printed.includes(`${sent[1]?.entry.id}`));
    expect(printed).toContain('log.record.uid');
    child.kill();
    await reading;
  });
});
