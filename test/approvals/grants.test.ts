// Grants: what an approval with a duration frees, what it does not, how it ends. Revoking one works at once on
// every replica, under load.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Limits, Rule } from '../../src/core/policy/policy.ts';
import { newPerson, type Person, send } from '../operators/people.ts';
import { until, verdictOf } from '../support/faults.ts';
import { type Answer, startLoad } from '../support/load.ts';
import { need } from '../support/need.ts';
import { engines } from '../support/service.ts';
import { enginesWhenChanged, sized } from '../support/when-changed.ts';
import { startClocked } from './clocked.ts';
import { ASK_ALL, dump, type Gate, openGate } from './gate.ts';

const both = await engines();
const RULES = [{ tool: 'drop_*', action: 'deny' as const }, ...ASK_ALL];
const ROUNDS = sized(5, 5, 2);

/** Where all tests run. Those in which the engine has a part of its own come first, and run on both. */
const whole = await enginesWhenChanged('src/store/**', 'src/guard/check/**', 'src/guard/approvals/**');
for (const engine of both) {
  describe(`grants on ${engine}`, () => {
    let gate: Gate;
    beforeAll(async () => {
      gate = await openGate({ engine });
    });
    afterAll(() => gate.close());

    const decide = async (token: string, server: string, tool: string, more = {}) =>
      (await gate.service.check(token, server, tool, more)).body.decision;

    async function granted(toolName = 'deploy') {
      const made = await gate.service.newKey(RULES);
      const asked = await gate.ask(made.key, toolName);
      await gate.approve(asked.token, '1h');
      return { ...made, ...asked };
    }

    const grantOf = async (referenceId: string) =>
      (await gate.service.admin('GET', '/grants?limit=1000')).body.grants.find(
        (each: { referenceId: string }) => each.referenceId === referenceId,
      );

    test('frees further calls of the key to the tool, whatever the arguments, and says by what', async () => {
      const { key, referenceId } = await granted();
      for (const args of [undefined, {}, { region: 'eu' }]) {
        const { body } = await gate.service.check(key, 'prod', 'deploy', args && { args });
        expect(body.decision).toBe('allow');
        expect(body.reason).toContain(referenceId);
        expect(body.referenceId).toBeUndefined();
        const { entries } = (await gate.service.admin('GET', '/audit?limit=1')).body;
        expect(entries[0]).toMatchObject({ id: body.toolCallId, decision: 'allow', referenceId });
      }
    });

    test('is listed, newest first and in pages, until it is revoked', async () => {
      const first = await granted('one');
      const second = await granted('two');
      const list = async (query = '') => (await gate.service.admin('GET', `/grants${query}`)).body;
      const { grants, nextCursor } = await list('?limit=1');
      expect(grants).toHaveLength(1);
      expect(grants[0]).toEqual({
        id: expect.any(String),
        referenceId: second.referenceId,
        keyId: second.keyId,
        serverName: 'prod',
        toolName: 'two',
        createdAt: expect.any(String),
        expiresAt: expect.any(String),
        openedBy: 'link',
        used: 0,
        only: null,
        sessionId: null,
        same: [],
      });
      expect(Date.parse(grants[0].expiresAt) - Date.parse(grants[0].createdAt)).toBe(3_600_000);
      expect((await list(`?limit=1&cursor=${nextCursor}`)).grants[0].referenceId).toBe(first.referenceId);
      for (let times = 0; times < 2; times++)
        expect((await gate.service.admin('DELETE', `/grants/${grants[0].id}`)).status).toBe(204);
      expect((await list('?limit=1')).grants[0].referenceId).toBe(first.referenceId);
      expect(await decide(second.key, 'prod', 'two')).toBe('pending');
      expect(await decide(first.key, 'prod', 'one')).toBe('allow');
    });

    test('counts the calls that it has freed, and no others', async () => {
      const { key, referenceId } = await granted();
      const decisions = await Promise.all(Array.from({ length: 20 }, () => decide(key, 'prod', 'deploy')));
      expect(new Set(decisions)).toEqual(new Set(['allow']));
      await decide(key, 'prod', 'drop_table');
      await decide(key, 'prod', 'other');
      expect((await grantOf(referenceId)).used).toBe(20);
    });

    test('dies with its key', async () => {
      const { key, keyId } = await granted();
      await gate.service.admin('DELETE', `/keys/${keyId}`);
      expect((await gate.service.check(key, 'prod', 'deploy')).status).toBe(401);
    });

    if (!whole.includes(engine)) return;

    test('frees the sessions of the key, within their scope', async () => {
      const { key } = await granted();
      const session = async (more: object) =>
        (await gate.service.json('POST', '/v1/sessions', key, more)).body.token as string;
      expect(await decide(await session({}), 'prod', 'deploy')).toBe('allow');
      expect(await decide(await session({ scopeTools: ['prod__deploy'] }), 'prod', 'deploy')).toBe('allow');
      expect(await decide(await session({ scopeTools: ['prod__other'] }), 'prod', 'deploy')).toBe('deny');
      expect(await decide(await session({ scopeTools: [] }), 'prod', 'deploy')).toBe('deny');
    });

    test('the approval of a call in a session opens a grant for its key', async () => {
      const { key } = await gate.service.newKey(RULES);
      const { token } = (await gate.service.json('POST', '/v1/sessions', key, {})).body;
      await gate.approve((await gate.ask(token)).token, '1h');
      expect(await decide(key, 'prod', 'deploy')).toBe('allow');
    });

    test('frees no other tool, no other server, no other key', async () => {
      const { key } = await granted();
      for (const [server, tool] of [
        ['prod', 'deploy2'],
        ['prod', 'Deploy'],
        ['staging', 'deploy'],
        ['prod', 'prod__deploy'],
      ] as const)
        expect([server, tool, await decide(key, server, tool)]).toEqual([server, tool, 'pending']);
      expect(await decide(await gate.key(RULES), 'prod', 'deploy')).toBe('pending');
    });

    test('a deny stays a deny, also one that comes later', async () => {
      const { key, policyId } = await granted();
      expect(await decide(key, 'prod', 'drop_table')).toBe('deny');
      const rules = [{ tool: 'deploy', action: 'deny' }, ...RULES];
      expect((await gate.service.admin('PUT', `/policies/${policyId}`, { rules })).status).toBe(200);
      expect(await decide(key, 'prod', 'deploy')).toBe('deny');
    });

    /** A grant for what the first of these rules holds. */
    async function grantedUnder(rules: Rule[], limits: Limits = {}) {
      const policy = await gate.service.admin('POST', '/policies', {
        name: crypto.randomUUID(),
        rules,
        limits,
      });
      const { key } = (await gate.service.admin('POST', '/keys', { name: 'k', policyId: policy.body.id }))
        .body;
      if (Object.keys(limits).length > 0) await decide(key, 'prod', 'deploy');
      await gate.approve((await gate.ask(key)).token, '1h');
      expect(await decide(key, 'prod', 'deploy')).toBe('allow');
      /** What a call gets once these are the rules. */
      return async (changed: Rule[]): Promise<string> => {
        const put = await gate.service.admin('PUT', `/policies/${policy.body.id}`, {
          rules: changed,
          limits,
        });
        expect([put.status, put.text]).toEqual([200, expect.any(String)]);
        return decide(key, 'prod', 'deploy');
      };
    }

    const HELD: Rule = { tool: 'deploy', action: 'require_approval', when: '!has(args.force)' };

    test.each<[string, Rule]>([
      ['another condition', { ...HELD, when: '!has(args.yes)' }],
      ['a further condition', { ...HELD, when: ['!has(args.force)', '!has(args.yes)'] }],
      ['no condition', { tool: 'deploy', action: 'require_approval' }],
      ['another pattern', { ...HELD, tool: 'deplo*' }],
      ['hours', { ...HELD, during: 'mon-sun' }],
      ['approvers', { ...HELD, approvers: { group: 'finance' } }],
    ])('ends when its rule gets %s', async (_, changed) => {
      const decideUnder = await grantedUnder([HELD]);
      expect(await decideUnder([changed])).toBe('pending');
    });

    test('ends when its rule gets another action', async () => {
      const limits: Limits = { one: { calls: 1, within: '1h', beyond: 'require_approval' } };
      const decideUnder = await grantedUnder([{ tool: 'deploy', action: 'allow', limit: 'one' }], limits);
      expect(await decideUnder([{ tool: 'deploy', action: 'require_approval' }])).toBe('pending');
    });

    test('goes on when its rule moves, gets another reason, or says the same in another form', async () => {
      const decideUnder = await grantedUnder([HELD]);
      const other: Rule = { tool: 'other', action: 'deny' };
      for (const rules of [
        [other, HELD],
        [HELD, other],
        [{ ...HELD, reason: 'Ask first.', show: 'all' as const, timeout: '1h' }],
        [{ ...HELD, when: ['!has(args.force)'] }],
      ])
        expect(await decideUnder(rules)).toBe('allow');
    });

    test('an approval without a duration, and a denial, open none', async () => {
      const { key, keyId } = await gate.service.newKey(RULES);
      await gate.approve((await gate.ask(key)).token);
      await gate.answer((await gate.ask(key)).token, { action: 'deny' });
      expect(await decide(key, 'prod', 'deploy')).toBe('pending');
      const { grants } = (await gate.service.admin('GET', '/grants')).body;
      expect(grants.filter((each: { keyId: string }) => each.keyId === keyId)).toEqual([]);
    });

    test('can be bound to the session that asked', async () => {
      const { key } = await gate.service.newKey(RULES);
      const session = async () => (await gate.service.json('POST', '/v1/sessions', key, {})).body;
      const [mine, other] = [await session(), await session()];
      const asked = await gate.ask(mine.token);
      const bind = { action: 'approve', duration: '1h', only: 'session' };
      expect((await gate.answer(asked.token, bind)).status).toBe(200);
      expect(await decide(mine.token, 'prod', 'deploy', { args: { any: 1 } })).toBe('allow');
      for (const token of [other.token, key]) expect(await decide(token, 'prod', 'deploy')).toBe('pending');
      expect(await grantOf(asked.referenceId)).toMatchObject({
        only: 'session',
        sessionId: mine.id,
        same: [],
        used: 1,
      });
      const byKey = await gate.ask(key, 'two');
      const refused = await gate.answer(byKey.token, bind);
      expect([refused.status, refused.body.errors[0].path]).toEqual([400, '/only']);
      expect(await gate.statusOf(byKey.referenceId)).toBe('pending');
    });

    test('can be bound to values of the call, which are not kept', async () => {
      const { key } = await gate.service.newKey(RULES);
      const secret = `c-${crypto.randomUUID()}`;
      const call = (id: string, amount: number) => ({
        args: { [`${id}-name`]: 1, customer: { id }, amount },
      });
      const asked = await gate.ask(key, 'deploy', call(secret, 5));
      const unknown = await gate.answer(asked.token, {
        action: 'approve',
        duration: '1h',
        same: ['amount', 'customer.name'],
      });
      expect([unknown.status, unknown.body.errors]).toEqual([
        400,
        [{ path: '/same/1', message: 'this call has no value there that can be compared' }],
      ]);
      const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
      const body = 'action=approve&duration=1h&only=&note=&same=customer.id&same=&same=customer';
      expect((await gate.answer(asked.token, body, form)).status).toBe(200);
      expect(await decide(key, 'prod', 'deploy', call(secret, 5000))).toBe('allow');
      for (const other of [call('c-2', 5), { args: { amount: 5 } }, {}])
        expect(await decide(key, 'prod', 'deploy', other)).toBe('pending');
      const grant = await grantOf(asked.referenceId);
      expect(grant).toMatchObject({ same: ['customer.id', 'customer'], only: null, used: 1 });
      const rows = Object.values(await dump(gate.service.databaseUrl)).flat();
      expect(rows.filter(row => row.includes(secret))).toEqual([]);
    });

    test.each([
      ['/only', { only: 'session' }],
      ['/same', { same: ['amount'] }],
      ['/only', { duration: '1h', only: 'key' }],
      ['/same', { duration: '1h', same: [] }],
      ['/same', { duration: '1h', same: 'amount' }],
      ['/same', { duration: '1h', same: Array(21).fill('amount') }],
      ['/same/1', { duration: '1h', same: ['amount', 'a..b'] }],
    ])('bounds at %s that are wrong are refused: %j', async (place, body) => {
      const { token, referenceId } = await gate.ask(await gate.key(RULES), 'deploy', { args: { amount: 1 } });
      for (const reply of [
        await gate.answer(token, { action: 'approve', ...body }),
        await gate.service.admin('POST', `/approvals/${referenceId}/resolve`, { action: 'approve', ...body }),
      ])
        expect([reply.status, reply.body.errors?.[0]?.path]).toEqual([400, place]);
      expect(await gate.statusOf(referenceId)).toBe('pending');
    });

    test('approvers end those that they opened, admins end all', async () => {
      const [ann, ben, admin, viewer] = [
        await newPerson(gate.service, 'approver'),
        await newPerson(gate.service, 'approver'),
        await newPerson(gate.service, 'admin'),
        await newPerson(gate.service, 'viewer'),
      ];
      const key = await gate.key(RULES);
      const open = async (who: Person, tool: string) => {
        const { referenceId } = await gate.ask(key, tool);
        const path = `/admin/v1/approvals/${referenceId}/resolve`;
        await send(gate.service, 'POST', path, who, { action: 'approve', duration: '1h' });
        const grant = await grantOf(referenceId);
        expect(grant.openedBy).toBe(`operator:${who.email}`);
        return grant.id;
      };
      const end = async (who: Person, id: string) =>
        (await send(gate.service, 'DELETE', `/admin/v1/grants/${id}`, who)).status;
      const [first, second] = [await open(ann, 'one'), await open(ann, 'two')];
      expect([await end(viewer, first), await end(ben, first)]).toEqual([403, 403]);
      expect(await decide(key, 'prod', 'one')).toBe('allow');
      expect([await end(ann, first), await end(admin, second)]).toEqual([204, 204]);
      for (const tool of ['one', 'two']) expect(await decide(key, 'prod', tool)).toBe('pending');
    });

    test('revoking one that is not there is a 404', async () => {
      expect((await gate.service.admin('DELETE', `/grants/${Bun.randomUUIDv7()}`)).status).toBe(404);
    });
  });
}

test('ends when its time is over', async () => {
  const clocked = await startClocked();
  try {
    const { key } = await clocked.newKey(RULES);
    const held = await clocked.check(key, 'prod', 'deploy');
    const resolve = `/approvals/${held.body.referenceId}/resolve`;
    await clocked.admin('POST', resolve, { action: 'approve', duration: '30m' });
    clocked.advance(30 * 60_000 - 1);
    expect((await clocked.check(key, 'prod', 'deploy')).body.decision).toBe('allow');
    clocked.advance(1);
    expect((await clocked.check(key, 'prod', 'deploy')).body.decision).toBe('pending');
    expect((await clocked.admin('GET', '/grants')).body.grants).toEqual([]);
  } finally {
    await clocked.close();
  }
});

const two = need(both.includes('postgres'), 'PostgreSQL, for two replicas');
test.skipIf(!two)(
  'revoked on one replica, it frees nothing on another from then on, under load',
  async () => {
    const gate = await openGate({
      engine: 'postgres',
      replicas: 2,
      env: { TOOLGATE_MAX_OPEN_APPROVALS_PER_KEY: '1' },
    });
    try {
      let late = 0;
      for (let round = 0; round < ROUNDS; round++) late += await revokeUnderLoad(gate);
      expect(late).toBe(0);
    } finally {
      await gate.close();
    }
  },
);

/** Allows of requests that were sent after the revocation was answered. */
async function revokeUnderLoad(gate: Gate): Promise<number> {
  const { key } = await gate.service.newKey(RULES);
  const { token, referenceId } = await gate.ask(key);
  await gate.approve(token, '1h');
  const { grants } = (await gate.service.admin('GET', '/grants')).body;
  const { id } = grants.find((each: { referenceId: string }) => each.referenceId === referenceId);
  const answers: Answer[] = [];
  const load = startLoad({
    connections: 8,
    url: () => gate.services[1]?.url ?? '',
    next: () => ({ token: key, body: JSON.stringify({ serverName: 'prod', toolName: 'deploy' }) }),
    answered: answer => answers.push(answer),
  });
  const allowed = (list: Answer[]) => list.filter(each => verdictOf(each)?.decision === 'allow').length;
  await until('allows by the grant', () => allowed(answers) > 50);
  expect((await gate.service.admin('DELETE', `/grants/${id}`)).status).toBe(204);
  const endedAt = performance.now();
  const after = () => answers.filter(each => each.sentAt > endedAt);
  await until('answers after the revocation', () => after().length > 50);
  await load.stop();
  return allowed(after());
}
