// The limits of open approvals per session and per key: never more than the limit open, on any number of
// replicas; beyond, calls are denied with that reason and audited; what ended makes room.

import { describe, expect, test } from 'bun:test';
import { until } from '../support/faults.ts';
import { engines, type Reply } from '../support/service.ts';
import { type Gate, openGate } from './gate.ts';

const PER_SESSION = 3;
const PER_KEY = 7;
const LIMITS = {
  TOOLGATE_MAX_OPEN_APPROVALS_PER_SESSION: String(PER_SESSION),
  TOOLGATE_MAX_OPEN_APPROVALS_PER_KEY: String(PER_KEY),
};

async function withGate(options: Parameters<typeof openGate>[0], work: (gate: Gate) => Promise<void>) {
  const gate = await openGate(options);
  try {
    await work(gate);
  } finally {
    await gate.close();
  }
}

const session = async (gate: Gate, key: string): Promise<string> =>
  (await gate.service.json('POST', '/v1/sessions', key, {})).body.token;

const count = (replies: Reply[], decision: string): number =>
  replies.filter(reply => reply.body.decision === decision).length;

/** Many at once, taking turns over tokens and replicas. */
function flood(gate: Gate, tokens: string[], times: number): Promise<Reply[]> {
  return Promise.all(
    Array.from({ length: times }, (_, index) => {
      const service = gate.services[index % gate.services.length] ?? gate.service;
      return service.check(tokens[index % tokens.length] ?? '', 'prod', 'deploy');
    }),
  );
}

for (const engine of await engines()) {
  const replicas = engine === 'postgres' ? 2 : 1;
  describe(`floods on ${engine}`, () => {
    test('a session never has more open than its limit', () =>
      withGate({ engine, replicas, env: LIMITS }, async gate => {
        const token = await session(gate, await gate.key());
        const replies = await flood(gate, [token], 40);
        expect([count(replies, 'pending'), count(replies, 'deny')]).toEqual([PER_SESSION, 40 - PER_SESSION]);
        const denied = replies.find(reply => reply.body.decision === 'deny')?.body;
        expect(denied.reason).toContain(`${PER_SESSION} open approvals`);
        expect(denied.referenceId).toBeUndefined();
        const { entries } = (await gate.service.admin('GET', '/audit?decision=deny&limit=100')).body;
        expect(entries).toHaveLength(40 - PER_SESSION);
        expect(entries[0]).toMatchObject({ reason: denied.reason, referenceId: null });
        const { full } = (await gate.service.admin('GET', '/waiting')).body;
        const queue = { sessionId: expect.any(String), open: PER_SESSION, atMost: PER_SESSION };
        expect(full).toEqual([{ keyId: expect.any(String), keyName: expect.any(String), ...queue }]);
        const { checks } = (await gate.service.admin('GET', '/doctor')).body;
        const { message } = checks.find(({ name }: { name: string }) => name === 'approvals');
        expect(message).toContain(`has ${PER_SESSION} open approvals (at most ${PER_SESSION})`);
      }));

    test('a key never has more open than its limit, its sessions together', () =>
      withGate({ engine, replicas, env: LIMITS }, async gate => {
        const key = await gate.key();
        const tokens = [key, ...(await Promise.all([1, 2, 3, 4].map(() => session(gate, key))))];
        const replies = await flood(gate, tokens, 60);
        expect([count(replies, 'pending'), count(replies, 'deny')]).toEqual([PER_KEY, 60 - PER_KEY]);
        const [open] = await gate.rows<{ open: number }>(
          `SELECT count(*) AS open FROM approvals WHERE status = 'pending'`,
        );
        expect(Number(open?.open)).toBe(PER_KEY);
        const events = await gate.rows(`SELECT id FROM events WHERE type = 'approval.created'`);
        expect(events).toHaveLength(PER_KEY);
        const { full } = (await gate.service.admin('GET', '/waiting')).body;
        const queue = { sessionId: null, open: PER_KEY, atMost: PER_KEY };
        expect(full).toContainEqual({ keyId: expect.any(String), keyName: expect.any(String), ...queue });
        const other = await gate.service.check(await gate.key(), 'prod', 'deploy');
        expect(other.body.decision).toBe('pending');
      }));

    test('an answered one makes room for one', () =>
      withGate({ engine, env: LIMITS }, async gate => {
        const token = await session(gate, await gate.key());
        const held = (await flood(gate, [token], 10)).filter(reply => reply.body.decision === 'pending');
        const answers = ['approve', 'deny'];
        for (const [index, action] of answers.entries()) {
          const asked = await gate.link(held[index]?.body.referenceId);
          expect((await gate.answer(asked.token, { action })).status).toBe(200);
          expect(count(await flood(gate, [token], 5), 'pending')).toBe(1);
        }
      }));

    test('lapsed ones make room for as many', () =>
      withGate({ engine, env: LIMITS }, async gate => {
        const token = await session(gate, await gate.key());
        const held = (await flood(gate, [token], 10)).filter(reply => reply.body.decision === 'pending');
        expect(held).toHaveLength(PER_SESSION);
        await gate.lapse();
        await until('they lapsed', async () => {
          const statuses = await Promise.all(held.map(reply => gate.statusOf(reply.body.referenceId)));
          return statuses.every(status => status === 'timed_out');
        });
        expect((await gate.service.check(token, 'prod', 'deploy')).body.decision).toBe('pending');
      }));

    test('at the limit, grants and approvals still free their calls', () =>
      withGate({ engine, env: LIMITS }, async gate => {
        const key = await gate.key();
        const once = await gate.ask(key, 'once');
        await gate.approve(once.token);
        await gate.approve((await gate.ask(key, 'lasting')).token, '1h');
        expect(count(await flood(gate, [key], 10), 'pending')).toBe(PER_KEY);
        expect((await gate.service.check(key, 'prod', 'lasting')).body.decision).toBe('allow');
        const { referenceId } = once;
        expect((await gate.service.check(key, 'prod', 'once', { referenceId })).body.decision).toBe('allow');
      }));
  });
}
