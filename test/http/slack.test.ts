// The door for Slack: only what Slack has signed a short while ago is read, and whatever it holds, it is acknowledged or
// refused as the sender's fault. What a press of a button does is tested in approvals/slack.test.ts.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createHmac } from 'node:crypto';
import { startClocked } from '../approvals/clocked.ts';
import type { TestService } from '../support/service.ts';
import { FakeSlack } from '../support/slack.ts';

const PATH = '/v1/slack/interactions';
const slack = new FakeSlack();
let service: TestService;
let without: TestService;
beforeAll(async () => {
  service = await startClocked(slack.env);
  without = await startClocked();
});
afterAll(async () => {
  await Promise.all([service.close(), without.close()]);
  await slack.stop();
});

interface Sent {
  body?: string | Uint8Array;
  secret?: string;
  age?: number;
  headers?: Record<string, string>;
}

/** A request as Slack makes it, but for what is said. */
function send(
  { body = 'payload=%7B%7D', secret = slack.signingSecret, age = 0, headers = {} }: Sent,
  at = service,
) {
  const timestamp = String(Math.floor(Date.now() / 1000) - age);
  const signature = createHmac('sha256', secret).update(`v0:${timestamp}:`).update(body).digest('hex');
  return at.request('POST', PATH, {
    headers: {
      'Content-Type': 'application/x-www-form-urlencoded',
      'X-Slack-Request-Timestamp': timestamp,
      'X-Slack-Signature': `v0=${signature}`,
      ...headers,
    },
    body,
  });
}

test('what Slack has signed is acknowledged, whatever browsers would say about its origin', async () => {
  const reply = await send({});
  expect([reply.status, reply.text]).toEqual([200, '']);
  const foreign = { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site', Host: 'gate.example' };
  expect((await send({ headers: foreign })).status).toBe(200);
});

test('what is forged, too old, too new or not signed at all is refused alike', async () => {
  const refused = [
    await send({ secret: 'another' }),
    await send({ age: 400 }),
    await send({ age: -400 }),
    await send({ headers: { 'X-Slack-Signature': '' } }),
    await send({ headers: { 'X-Slack-Signature': `v0=${'0'.repeat(64)}` } }),
    await send({ headers: { 'X-Slack-Request-Timestamp': 'NaN' } }),
    await send({ headers: { 'X-Slack-Request-Timestamp': String(Math.floor(Date.now() / 1000) - 1) } }),
    await service.request('POST', PATH),
    await service.json('POST', PATH, null, { payload: '{}' }),
  ];
  for (const reply of refused) {
    expect(reply.status).toBe(401);
    expect(reply.body.detail).toBe('This request is not signed by Slack, or it is too old.');
  }
});

test('a body beyond the bound is refused, and one at the bound is read', async () => {
  expect((await send({ body: 'x'.repeat(128 * 1024) })).status).toBe(200);
  expect((await send({ body: 'x'.repeat(128 * 1024 + 1) })).status).toBe(413);
});

test('signed nonsense is acknowledged and does nothing', async () => {
  const press = {
    type: 'block_actions',
    user: { id: 'U1' },
    container: { channel_id: 'C1', message_ts: '1.1' },
    actions: [{ action_id: 'toolgate_approve', value: '01980000-0000-7000-8000-000000000000' }],
    response_url: `${slack.origin}/actions/x`,
  };
  const odd = [
    null,
    [],
    { type: 'view_submission' },
    { ...press, user: { id: 'U1\0' } },
    { ...press, container: { channel_id: '\ud800', message_ts: '1.1' } },
    { ...press, container: { channel_id: 'C1', message_ts: '../1' } },
    { ...press, actions: [] },
    { ...press, actions: [{ action_id: 'toolgate_open' }] },
    { ...press, actions: [{ action_id: 'toString', value: press.actions[0]?.value }] },
    { ...press, actions: [{ action_id: 'toolgate_approve', value: 'x\0' }] },
    { ...press, response_url: 'https://slack.com/'.repeat(200) },
  ];
  const bodies = [
    '',
    'payload',
    'payload=%00',
    'payload=%7B',
    `payload=${'%5B'.repeat(30_000)}`,
    new Uint8Array([0xff, 0xfe, 0, 1]),
    ...odd.map(each => new URLSearchParams({ payload: JSON.stringify(each) }).toString()),
  ];
  for (const body of bodies)
    expect([String(body).slice(0, 300), (await send({ body })).status]).toEqual([
      String(body).slice(0, 300),
      200,
    ]);
  expect(slack.calls).toEqual([]);
});

test('without a Slack app there is nothing here', async () => {
  const reply = await send({}, without);
  expect([reply.status, reply.body.code]).toEqual([404, 'not_found']);
});
