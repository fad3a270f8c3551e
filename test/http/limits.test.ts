// Limits through the administration: what is used of them by whom, in pages, and how an operator resets them.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { LimitUse } from '../../src/guard/check/limit-admin.ts';
import { startService, type TestService } from '../support/service.ts';
import { enginesWhenChanged } from '../support/when-changed.ts';
import { expectProblem } from './problem.ts';

const LIMITS = {
  sends: { calls: 2, within: '1h' },
  refunds: { sum: 'args.amount', unit: 0.01, atMost: 500, each: 'day', zone: 'Europe/Berlin', per: 'policy' },
  runs: { calls: 9, within: '31d', per: 'session' },
};
const RULES = Object.keys(LIMITS).map(limit => ({ tool: `s__${limit}`, action: 'allow', limit }));

for (const engine of await enginesWhenChanged('src/store/**')) {
  describe(engine, () => {
    let service: TestService;
    beforeAll(async () => {
      service = await startService({ engine });
    });
    afterAll(() => service.close());

    let made = 0;
    async function newPolicy(limits: object = LIMITS): Promise<string> {
      const { status, body } = await service.admin('POST', '/policies', {
        name: `p${++made}`,
        rules: RULES,
        limits,
      });
      expect(status).toBe(201);
      return body.id;
    }

    async function newKey(policyId: string): Promise<{ key: string; keyId: string }> {
      const { body } = await service.admin('POST', '/keys', { name: 'agent', policyId });
      return { key: body.key, keyId: body.id };
    }

    const decide = async (token: string, tool: string, args = {}): Promise<string> =>
      (await service.check(token, 's', tool, { args })).body.decision;

    async function listed(
      query: string,
    ): Promise<(Omit<LimitUse, 'windowEndsAt'> & { windowEndsAt: string })[]> {
      const { status, body } = await service.admin('GET', `/limits?${query}`);
      expect(status).toBe(200);
      return body.limits;
    }

    const reset = (policyId: string, name: string, subject: string) =>
      service.admin('POST', '/limits/reset', { policyId, name, subject });

    const changes = async () => (await service.admin('GET', '/changes?limit=1')).body.changes;

    test('shows what is used by each subject, as calls or as an amount, and until when', async () => {
      const policyId = await newPolicy();
      const { key, keyId } = await newKey(policyId);
      const session = (await service.json('POST', '/v1/sessions', key, {})).body;
      const before = Date.now();
      expect(await decide(key, 'sends')).toBe('allow');
      for (const amount of [0.1, 0.2, 12]) expect(await decide(key, 'refunds', { amount })).toBe('allow');
      for (let n = 0; n < 3; n++) expect(await decide(session.token, 'runs')).toBe('allow');
      // Neither a call that is denied nor one without a session counts.
      expect(await decide(key, 'refunds', { amount: 488 })).toBe('deny');
      expect(await decide(key, 'runs')).toBe('deny');

      const shown = await listed(`policyId=${policyId}`);
      const windowEndsAt = expect.stringMatching(/Z$/);
      expect(shown.toSorted((a, b) => a.name.localeCompare(b.name))).toEqual([
        {
          policyId,
          name: 'refunds',
          per: 'policy',
          subject: policyId,
          used: 12.3,
          atMost: 500,
          windowEndsAt,
        },
        { policyId, name: 'runs', per: 'session', subject: session.id, used: 3, atMost: 9, windowEndsAt },
        { policyId, name: 'sends', per: 'key', subject: keyId, used: 1, atMost: 2, windowEndsAt },
      ]);
      const sends = Date.parse(shown.find(({ name }) => name === 'sends')?.windowEndsAt ?? '') - before;
      expect(sends).toBeGreaterThan(3_600_000);
      expect((await listed(`keyId=${keyId}`)).map(({ name }) => name).sort()).toEqual(['runs', 'sends']);
      expect(await listed(`keyId=${keyId}&policyId=${await newPolicy()}`)).toEqual([]);
      expect(await listed(`policyId=${Bun.randomUUIDv7()}`)).toEqual([]);
      const everything = await listed('limit=1000');
      for (const each of shown) expect(everything).toContainEqual(each);
    });

    test('comes in pages', async () => {
      const policyId = await newPolicy();
      const keys = await Promise.all(Array.from({ length: 5 }, () => newKey(policyId)));
      for (const { key } of keys) expect(await decide(key, 'sends')).toBe('allow');
      const found: string[] = [];
      const sizes: number[] = [];
      for (let cursor: string | null = ''; cursor !== null; ) {
        const from: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
        const { body } = await service.admin('GET', `/limits?policyId=${policyId}&limit=2${from}`);
        found.push(...body.limits.map((each: LimitUse) => each.subject));
        sizes.push(body.limits.length);
        cursor = body.nextCursor;
      }
      expect(sizes).toEqual([2, 2, 1]);
      expect(found).toEqual(keys.map(({ keyId }) => keyId).sort());
    });

    test('another allowance keeps what is counted, another window leaves it out, and so does no policy', async () => {
      const policyId = await newPolicy();
      const { key, keyId } = await newKey(policyId);
      expect(await decide(key, 'sends')).toBe('allow');
      const replace = (sends: object) =>
        service.admin('PUT', `/policies/${policyId}`, { rules: RULES, limits: { ...LIMITS, sends } });
      expect((await replace({ calls: 7, within: '60m' })).status).toBe(200);
      expect(await listed(`policyId=${policyId}`)).toMatchObject([{ used: 1, atMost: 7 }]);
      expect((await replace({ calls: 7, within: '2h' })).status).toBe(200);
      expect([await listed(`policyId=${policyId}`), await listed(`keyId=${keyId}`)]).toEqual([[], []]);
      expect(await decide(key, 'sends')).toBe('allow');
      expect(await listed(`keyId=${keyId}`)).toMatchObject([{ used: 1, atMost: 7 }]);
      await service.admin('DELETE', `/keys/${keyId}`);
      expect((await service.admin('DELETE', `/policies/${policyId}`)).status).toBe(204);
      expect([await listed(`policyId=${policyId}`), await listed(`keyId=${keyId}`)]).toEqual([[], []]);
    });

    test('a reset counts anew for one subject, and is in the record of changes once', async () => {
      const policyId = await newPolicy();
      const [one, two] = [await newKey(policyId), await newKey(policyId)];
      for (const { key } of [one, two])
        expect([await decide(key, 'sends'), await decide(key, 'sends'), await decide(key, 'sends')]).toEqual([
          'allow',
          'allow',
          'deny',
        ]);
      expect((await reset(policyId, 'sends', one.keyId)).status).toBe(204);
      expect([await decide(one.key, 'sends'), await decide(two.key, 'sends')]).toEqual(['allow', 'deny']);
      expect(await changes()).toMatchObject([
        {
          actor: 'admin',
          action: 'limit.reset',
          target: policyId,
          detail: { name: 'sends', subject: one.keyId },
        },
      ]);
      const [{ id }] = await changes();
      expect((await reset(policyId, 'sends', 'nobody')).status).toBe(204);
      expect((await changes())[0].id).toBe(id);
    });

    test('what is not there cannot be reset, and every input is checked', async () => {
      const policyId = await newPolicy();
      expectProblem(await reset(Bun.randomUUIDv7(), 'sends', 'x'), 404, 'not_found');
      for (const name of ['other', '__proto__', 'constructor'])
        expectProblem(await reset(policyId, name, 'x'), 404, 'not_found');
      expectProblem(await reset('p', '', ''), 400, 'invalid_input', ['/policyId', '/name', '/subject']);
      for (const query of [
        'cursor=x',
        'cursor=%00.',
        `cursor=.${'x'.repeat(400)}`,
        'keyId=x',
        'policyId=',
        'per=key',
      ])
        expect([query, (await service.admin('GET', `/limits?${query}`)).status]).toEqual([query, 400]);
    });
  });
}
