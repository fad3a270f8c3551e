// Signatures as the Standard Webhooks package, an implementation that is not ours, verifies them.

import { expect, test } from 'bun:test';
import { Webhook } from 'standardwebhooks';
import { newWebhookSecret, sign } from '../../../src/guard/outgoing/sign.ts';

const now = () => Math.floor(Date.now() / 1000);
const body = JSON.stringify({ type: 'approval.created', data: { toolName: 'café ☕' } });

test('a secret is whsec_ and the base64 of 32 random bytes', () => {
  const secrets = new Set(Array.from({ length: 100 }, newWebhookSecret));
  expect(secrets.size).toBe(100);
  for (const secret of secrets) {
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(Buffer.from(secret.slice(6), 'base64')).toHaveLength(32);
  }
});

test('the published vector', () => {
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
  expect(sign([secret], 'msg_p5jXN8AQM9LWM0D4loKWxJek', 1614265330, '{"test": 2432232314}')).toEqual({
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  });
});

test('the official package verifies what we sign', () => {
  const secret = newWebhookSecret();
  const headers = { ...sign([secret], 'msg_1', now(), body) };
  expect(new Webhook(secret).verify(body, headers)).toEqual(JSON.parse(body));
});

test('during a rotation either secret verifies, and no other does', () => {
  const [older, newer, other] = [newWebhookSecret(), newWebhookSecret(), newWebhookSecret()];
  const headers = { ...sign([newer, older], 'msg_1', now(), body) };
  expect(headers['webhook-signature'].split(' ')).toHaveLength(2);
  expect(new Webhook(older).verify(body, headers)).toBeDefined();
  expect(new Webhook(newer).verify(body, headers)).toBeDefined();
  expect(() => new Webhook(other).verify(body, headers)).toThrow();
});

test('another body, id or time does not verify', () => {
  const secret = newWebhookSecret();
  const headers = { ...sign([secret], 'msg_1', now(), body) };
  const verifier = new Webhook(secret);
  expect(() => verifier.verify(`${body} `, headers)).toThrow();
  expect(() => verifier.verify(body, { ...headers, 'webhook-id': 'msg_2' })).toThrow();
  expect(() => verifier.verify(body, { ...headers, 'webhook-timestamp': String(now() + 1) })).toThrow();
});
