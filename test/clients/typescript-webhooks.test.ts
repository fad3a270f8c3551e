// Webhooks as the TypeScript client receives them, signed by the official package of Standard Webhooks: only
// what is genuine, recent and readable is believed.

import { describe, expect, test } from 'bun:test';
import { Webhook } from 'standardwebhooks';
import {
  ApprovalListener,
  InvalidConfiguration,
  type PendingVerdict,
  ToolCallDenied,
  verifyWebhook,
  type WebhookRejected,
} from '../../clients/typescript/src/index.ts';
import { newWebhookSecret } from '../../src/guard/outgoing/sign.ts';

const secret = newWebhookSecret();

const DATA = {
  referenceId: 'ref-1',
  toolCallId: 'call-1',
  policyId: 'policy-1',
  keyId: 'key-1',
  sessionId: null,
  surface: 'check',
  serverName: 'prod',
  toolName: 'déploy ☕',
  status: 'approved',
  reason: 'Rule 0.',
  createdAt: '2026-01-01T00:00:00.000Z',
  expiresAt: '2026-01-01T01:00:00.000Z',
  resolvedAt: '2026-01-01T00:01:00.000Z',
  resolvedBy: 'link',
  note: 'Fine, for once.',
  approverGroup: 'finance',
  votes: { needed: 2, approved: [{ by: 'operator:ann@example.com', at: '2026-01-01T00:00:30.000Z' }] },
  grantExpiresAt: null,
};

function eventText(change: object = {}, type = 'approval.resolved'): string {
  return JSON.stringify({ type, timestamp: DATA.createdAt, data: { ...DATA, ...change } });
}

function signed(body: string, by = secret, at = new Date(), id = 'msg_1'): Record<string, string> {
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': new Webhook(by).sign(id, at, body),
  };
}

const faultOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'believed',
    error => (error as WebhookRejected).code,
  );

const minutes = (count: number) => new Date(Date.now() + count * 60_000);

describe('a delivery is believed', () => {
  test('as text or bytes, with Headers or an object of any case', async () => {
    const body = eventText();
    const headers = signed(body);
    const shouted = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]),
    );
    const bytes = new TextEncoder().encode(body);
    for (const given of [headers, new Headers(headers), shouted]) {
      for (const as of [body, bytes, bytes.buffer]) {
        expect(await verifyWebhook(given, as, secret)).toEqual(JSON.parse(body));
      }
    }
  });

  test('without a note and votes, from an older service', async () => {
    const body = eventText({ note: undefined, approverGroup: undefined, votes: undefined });
    const data = { note: null, approverGroup: null, votes: { needed: 1, approved: [] } };
    expect(await verifyWebhook(signed(body), body, secret)).toMatchObject({ data });
  });

  test('under any of several secrets and signatures', async () => {
    const body = eventText();
    const other = newWebhookSecret();
    expect(await faultOf(verifyWebhook(signed(body), body, [other, secret]))).toBe('believed');
    const headers = signed(body);
    const foreign = signed(body, other)['webhook-signature'];
    headers['webhook-signature'] = `v1a,xyz ${foreign} ${headers['webhook-signature']}`;
    expect(await faultOf(verifyWebhook(headers, body, secret))).toBe('believed');
  });

  test('within five minutes, either way', async () => {
    const body = eventText();
    for (const [apart, want] of [
      [4.9, 'believed'],
      [-4.9, 'believed'],
      [5.1, 'webhook_timestamp'],
      [-5.1, 'webhook_timestamp'],
    ] as const) {
      expect(await faultOf(verifyWebhook(signed(body, secret, minutes(apart)), body, secret))).toBe(want);
    }
  });

  test('the published vector', async () => {
    const headers = {
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    };
    const verified = verifyWebhook(
      headers,
      '{"test": 2432232314}',
      'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
      {
        now: 1614265330_000,
      },
    );
    // Genuine, though no event of ours.
    expect(await faultOf(verified)).toBe('webhook_body');
  });
});

describe('a delivery is not believed', () => {
  const body = eventText();
  const good = signed(body);

  test.each<[string, Record<string, string>, string, string]>([
    ['another body', good, `${body} `, 'webhook_signature'],
    ['another id', { ...good, 'webhook-id': 'msg_2' }, body, 'webhook_signature'],
    ['another secret', signed(body, newWebhookSecret()), body, 'webhook_signature'],
    ['an empty signature', { ...good, 'webhook-signature': 'v1,' }, body, 'webhook_signature'],
    [
      'another version',
      { ...good, 'webhook-signature': good['webhook-signature']!.replace('v1', 'v2') },
      body,
      'webhook_signature',
    ],
    ['no signature', { ...good, 'webhook-signature': '' }, body, 'webhook_headers'],
    ['no headers', {}, body, 'webhook_headers'],
    ['an invalid time', { ...good, 'webhook-timestamp': 'now' }, body, 'webhook_timestamp'],
    ['a time in another spelling', { ...good, 'webhook-timestamp': '0x1' }, body, 'webhook_timestamp'],
    ['the same header twice', { ...good, 'Webhook-Id': 'msg_1' }, body, 'webhook_headers'],
  ])('%s', async (_, headers, text, want) => {
    expect(await faultOf(verifyWebhook(headers, text, secret))).toBe(want);
  });

  test.each<[string, string, string]>([
    ['no JSON', 'approved', 'webhook_body'],
    ['no data', '{"type":"approval.resolved","timestamp":"t"}', 'webhook_body'],
    ['a note that is no text', eventText({ note: 1 }), 'webhook_body'],
    ['votes that are no list', eventText({ votes: { needed: 1, approved: {} } }), 'webhook_body'],
    ['an unknown outcome', eventText({ status: 'allowed' }), 'webhook_body'],
    ['resolved, yet pending', eventText({ status: 'pending' }), 'webhook_body'],
    ['created, yet approved', eventText({}, 'approval.created'), 'webhook_body'],
    ['an unknown type', eventText({}, 'approval.more'), 'webhook_unknown_event'],
    ['no referenceId', eventText({ referenceId: 1 }), 'webhook_body'],
  ])('genuine but unreadable: %s', async (_, text, want) => {
    expect(await faultOf(verifyWebhook(signed(text), text, secret))).toBe(want);
  });

  test.each(['', 'whsec_', 'whsec_!!!', 'tg_key_abc'])('an invalid secret: %p', async wrong => {
    expect(await faultOf(verifyWebhook(good, body, wrong))).toBe('invalid_configuration');
    expect(() => new ApprovalListener({ secret: wrong })).toThrow(InvalidConfiguration);
    expect(() => new ApprovalListener({ secret: [] })).toThrow(InvalidConfiguration);
  });
});

describe('the listener', () => {
  const post = (listener: ApprovalListener, body: string, headers = signed(body)) =>
    listener.handle(new Request('http://receiver/', { method: 'POST', body, headers }));

  test('answers each delivery as it deserves', async () => {
    const listener = new ApprovalListener({ secret });
    const test = '{"type":"webhook.test","timestamp":"t","data":{"webhookId":"w"}}';
    const statuses = [];
    for (const body of [eventText(), eventText(), test, eventText({}, 'approval.more'), 'nonsense'])
      statuses.push((await post(listener, body)).status);
    statuses.push((await post(listener, eventText(), signed('another'))).status);
    statuses.push((await post(listener, ' '.repeat(2_000_000))).status);
    statuses.push((await listener.handle(new Request('http://receiver/'))).status);
    expect(statuses).toEqual([204, 204, 204, 204, 400, 401, 413, 405]);
  });

  test('the first outcome stands, whatever comes after', async () => {
    const listener = new ApprovalListener({ secret });
    await post(listener, eventText({ status: 'denied' }));
    await post(listener, eventText({ status: 'approved' }));
    expect((await listener.outcome('ref-1')).status).toBe('denied');
  });

  test('a forged outcome reaches nobody who waits; the true one reaches all of them', async () => {
    const listener = new ApprovalListener({ secret });
    const waiting = [listener.outcome('ref-1'), listener.outcome('ref-1')];
    const forged = eventText();
    await post(listener, forged, signed(forged, newWebhookSecret()));
    await post(listener, eventText({ status: 'timed_out', resolvedBy: null }));
    expect((await Promise.all(waiting)).map(each => each.status)).toEqual(['timed_out', 'timed_out']);
  });

  test('the agent took its call back before anybody answered', async () => {
    const listener = new ApprovalListener({ secret });
    await post(listener, eventText({ status: 'withdrawn', resolvedBy: null, note: null }));
    const approval = await listener.outcome('ref-1');
    expect(approval.status).toBe('withdrawn');
    const asked = { decision: 'pending', referenceId: 'ref-1' } as PendingVerdict;
    expect(new ToolCallDenied(asked, approval).message).toBe(
      'The call was withdrawn before anybody answered.',
    );
  });

  test('keeps only so many, the newest', async () => {
    const listener = new ApprovalListener({ secret, remember: 2 });
    for (const referenceId of ['a', 'b', 'c']) await post(listener, eventText({ referenceId }));
    expect((await listener.outcome('b')).referenceId).toBe('b');
    expect((await listener.outcome('c')).referenceId).toBe('c');
    expect(await faultOf(listener.outcome('a', { timeoutMs: 20 }))).toBe('timed_out');
  });

  test('a wait can be given up, and another goes on', async () => {
    const listener = new ApprovalListener({ secret });
    const controller = new AbortController();
    const [one, two] = [listener.outcome('ref-1', { signal: controller.signal }), listener.outcome('ref-1')];
    controller.abort();
    expect(await faultOf(one)).toBe('aborted');
    await post(listener, eventText());
    expect((await two).status).toBe('approved');
  });
});
