// The shadow of a key through the administration: how it is set, refused, promoted and ended, and what it keeps alive.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { startService, type TestService } from '../support/service.ts';
import { enginesWhenChanged } from '../support/when-changed.ts';
import { expectProblem } from './problem.ts';

const DENIED = { serverName: 's', from: 'allow', to: 'deny' };

for (const engine of await enginesWhenChanged('src/store/**')) {
  describe(engine, () => {
    let service: TestService;
    let policyId: string;
    let strict: string;
    let other: string;

    beforeAll(async () => {
      service = await startService({ engine });
      const made = async (name: string, action: string) =>
        (await service.admin('POST', '/policies', { name, rules: [{ tool: '*', action }] })).body.id;
      policyId = await made('open', 'allow');
      strict = await made('strict', 'deny');
      other = await made('other', 'deny');
    });
    afterAll(() => service.close());

    const newKey = async (more: object = {}) =>
      (await service.admin('POST', '/keys', { name: 'k', policyId, ...more })).body;
    const patch = (id: string, body: object) => service.admin('PATCH', `/keys/${id}`, body);
    const detail = async () => (await service.admin('GET', '/changes?limit=1')).body.changes[0];

    test('a key is made with a shadow, or gets one, another and none', async () => {
      const made = await newKey({ shadowPolicyId: strict });
      expect(made.shadowPolicyId).toBe(strict);
      expect((await detail()).detail).toEqual({ name: 'k', policyId, shadowPolicyId: strict });
      for (const shadowPolicyId of [other, null, strict]) {
        expect((await patch(made.id, { shadowPolicyId })).body).toMatchObject({ shadowPolicyId, policyId });
        expect(await detail()).toMatchObject({
          action: 'key.update',
          target: made.id,
          detail: { changed: ['shadowPolicyId'], shadowPolicyId },
        });
      }
      expect((await patch(made.id, { name: 'renamed' })).body).toMatchObject({ shadowPolicyId: strict });
      expect((await detail()).detail).toEqual({ changed: ['name'] });
    });

    test('an unknown policy, and the policy of the key itself, are refused', async () => {
      const { id } = await newKey();
      const refused = async (body: object, message: string) => {
        const reply = await patch(id, body);
        expectProblem(reply, 400, 'invalid_input', ['/shadowPolicyId']);
        expect(reply.body.detail).toContain(message);
      };
      await refused({ shadowPolicyId: Bun.randomUUIDv7() }, 'there is no policy with this id');
      await refused({ shadowPolicyId: 'strict' }, '/shadowPolicyId');
      await refused({ shadowPolicyId: policyId }, 'the key uses this policy already');
      await refused({ policyId: other, shadowPolicyId: other }, 'the key uses this policy already');
      const made = await service.admin('POST', '/keys', { name: 'k', policyId, shadowPolicyId: policyId });
      expectProblem(made, 400, 'invalid_input', ['/shadowPolicyId']);
    });

    test.each([{ shadowPolicyId: null }, {}])(
      'a shadow becomes the policy of its key in one request (%p)',
      async more => {
        const { id } = await newKey({ shadowPolicyId: strict });
        expect((await patch(id, { policyId: strict, ...more })).body).toMatchObject({
          policyId: strict,
          shadowPolicyId: null,
        });
        expect((await detail()).detail).toEqual({
          changed: ['policyId', ...Object.keys(more)],
          shadowPolicyId: null,
        });
      },
    );

    test('with another policy the key keeps its shadow', async () => {
      const { id } = await newKey({ shadowPolicyId: strict });
      expect((await patch(id, { policyId: other })).body).toMatchObject({
        policyId: other,
        shadowPolicyId: strict,
      });
    });

    test('the report compares the calls that this shadow judged', async () => {
      const { id, key } = await newKey({ shadowPolicyId: strict });
      const report = async (query = '') => (await service.admin('GET', `/keys/${id}/shadow${query}`)).body;
      expect(await report()).toMatchObject({ policyId: strict, calls: 0, agreements: 0, differences: [] });
      const made: string[] = [];
      for (const tool of ['a', 'a', 'b']) made.push((await service.check(key, 's', tool)).body.toolCallId);
      await patch(id, { policyId: other });
      await service.check(key, 's', 'a');
      const found = await report('?from=2020-01-01T00:00:00Z');
      expect(found).toEqual({
        policyId: strict,
        policyVersion: 1,
        from: expect.stringMatching(/:00\.000Z$/),
        to: expect.stringMatching(/:00\.000Z$/),
        calls: 4,
        agreements: 1,
        differences: [
          { ...DENIED, toolName: 'a', calls: 2, examples: [made[1], made[0]] },
          { ...DENIED, toolName: 'b', calls: 1, examples: [made[2]] },
        ],
      });
      // Calls that another shadow judged, or none, do not count.
      await patch(id, { shadowPolicyId: policyId });
      await service.check(key, 's', 'c');
      expect(await report()).toMatchObject({ policyId, calls: 1, agreements: 0 });
      await patch(id, { shadowPolicyId: null });
      expectProblem(await service.admin('GET', `/keys/${id}/shadow`), 409, 'conflict');
      const unknown = await service.admin('GET', `/keys/${Bun.randomUUIDv7()}/shadow`);
      expectProblem(unknown, 404, 'not_found');
      const wrong = await service.admin('GET', `/keys/${id}/shadow?from=yesterday`);
      expectProblem(wrong, 400, 'invalid_input', ['/from']);
    });

    test('what a shadow said is in the entry, in both exports and in the filters', async () => {
      const { id, key } = await newKey({ shadowPolicyId: strict });
      const { toolCallId } = (await service.check(key, 's', 'x')).body;
      const shadow = { policyId: strict, policyVersion: 1, decision: 'deny', ruleIndex: 0 };
      expect((await service.admin('GET', `/audit/${toolCallId}`)).body.shadow).toEqual(shadow);
      const list = async (filter: string) =>
        (await service.admin('GET', `/audit?keyId=${id}&shadow=${filter}`)).body.entries;
      for (const filter of ['deny', 'differs'])
        expect(await list(filter)).toMatchObject([{ id: toolCallId, shadow }]);
      for (const filter of ['allow', 'pending']) expect(await list(filter)).toEqual([]);
      const csv = (await service.admin('GET', `/audit/export?format=csv&keyId=${id}`)).text;
      expect(csv).toEndWith(`,${strict},1,deny,0,,,\r\n`);
      const line = (await service.admin('GET', `/audit/export?keyId=${id}&shadow=differs`)).text;
      expect(JSON.parse(line).shadow).toEqual(shadow);
      expectProblem(await service.admin('GET', '/audit?shadow=maybe'), 400, 'invalid_input', ['/shadow']);
    });

    test('a policy that is a shadow of live keys cannot be deleted', async () => {
      const shadow = (await service.admin('POST', '/policies', { name: 'shade', rules: [] })).body.id;
      const ids: string[] = [];
      for (const name of ['one', 'two', 'three', 'four'])
        ids.push((await newKey({ name, shadowPolicyId: shadow })).id);
      const [one = '', two = '', three = '', four = ''] = ids;
      const refused = await service.admin('DELETE', `/policies/${shadow}`);
      expectProblem(refused, 409, 'conflict');
      expect(refused.body.detail).toContain('"one", "two", "three" and others');
      await patch(one, { shadowPolicyId: null });
      await patch(two, { shadowPolicyId: strict });
      await service.admin('DELETE', `/keys/${three}`);
      const last = await service.admin('DELETE', `/policies/${shadow}`);
      expect(last.body.detail).toContain('these keys: "four".');
      await patch(four, { policyId: shadow });
      expectProblem(await service.admin('DELETE', `/policies/${shadow}`), 409, 'conflict');
      await service.admin('DELETE', `/keys/${four}`);
      expect((await service.admin('DELETE', `/policies/${shadow}`)).status).toBe(204);
    });
  });
}
