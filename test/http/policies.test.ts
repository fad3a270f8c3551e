// Policies through the administration: versions, conflicts, and that a change decides from its answer on.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { MAX_RULES } from '../../src/core/policy.ts';
import { engines, startService, type TestService } from '../support/service.ts';
import { expectProblem } from './problem.ts';

for (const engine of await engines()) {
  describe(engine, () => {
    let service: TestService;
    beforeAll(async () => {
      service = await startService({ engine });
    });
    afterAll(() => service.close());

    const allow = [{ tool: '*', action: 'allow' as const }];
    const deny = [{ tool: '*', action: 'deny' as const, reason: 'Closed.' }];
    const unique = () => `policy ${crypto.randomUUID()}`;
    const create = async (name: string, rules: object[] = allow) =>
      (await service.admin('POST', '/policies', { name, rules })).body;

    test('is created at version 1 and read back', async () => {
      const name = unique();
      const made = await service.admin('POST', '/policies', { name, description: 'For é.', rules: deny });
      expect(made.status).toBe(201);
      expect(made.body).toMatchObject({ name, description: 'For é.', version: 1, rules: deny });
      expect((await service.admin('GET', `/policies/${made.body.id}`)).body).toEqual(made.body);
    });

    test('as many rules as a policy may have, with every field, are taken; one more is not', async () => {
      const rules = Array.from({ length: MAX_RULES }, (_, n) => ({
        tool: `s__${n}`,
        action: 'deny',
        reason: 'No.',
      }));
      const { id } = await create(unique());
      const name = unique();
      const whole = { name, description: 'Large.', rules, version: 1 };
      const replaced = await service.admin('PUT', `/policies/${id}`, whole);
      expect([replaced.status, replaced.body.version]).toEqual([200, 2]);
      expect((await service.admin('POST', '/policies', { name: unique(), rules })).status).toBe(201);
      const beyond = [...rules, { tool: '*', action: 'allow' }];
      expectProblem(
        await service.admin('POST', '/policies', { name: unique(), rules: beyond }),
        400,
        'invalid_input',
      );
    });

    test('a rule is checked like every input', async () => {
      const wrong: [unknown, string][] = [
        [{ tool: 'a' }, '/rules/1/action'],
        [{ action: 'allow' }, '/rules/1/tool'],
        [{ tool: 'a', action: 'Allow' }, '/rules/1/action'],
        [{ tool: '', action: 'allow' }, '/rules/1/tool'],
        [{ tool: 'a\tb', action: 'allow' }, '/rules/1/tool'],
        [{ tool: 'a', action: 'allow', reason: null }, '/rules/1/reason'],
        [{ tool: 'a', action: 'allow', when: 'now' }, '/rules/1/when'],
        ['allow', '/rules/1'],
      ];
      for (const [rule, path] of wrong) {
        const reply = await service.admin('POST', '/policies', { name: unique(), rules: [...allow, rule] });
        expectProblem(reply, 400, 'invalid_input', [path]);
      }
      expectProblem(await service.admin('POST', '/policies', { name: unique() }), 400, 'invalid_input', [
        '/rules',
      ]);
      expectProblem(await service.admin('POST', '/policies', { name: '', rules: [] }), 400, 'invalid_input', [
        '/name',
      ]);
    });

    test('a name is taken once; a deleted policy gives it back', async () => {
      const name = unique();
      const { id } = await create(name);
      expectProblem(await service.admin('POST', '/policies', { name, rules: [] }), 409, 'conflict');
      const other = await create(unique());
      expectProblem(
        await service.admin('PUT', `/policies/${other.id}`, { name, rules: [] }),
        409,
        'conflict',
      );
      expect((await service.admin('GET', `/policies/${other.id}`)).body.version).toBe(1);
      expect((await service.admin('DELETE', `/policies/${id}`)).status).toBe(204);
      expectProblem(await service.admin('DELETE', `/policies/${id}`), 404, 'not_found');
      expect((await service.admin('POST', '/policies', { name, rules: [] })).status).toBe(201);
    });

    test('of many who take a name at once, one gets it', async () => {
      const name = unique();
      const replies = await Promise.all(
        Array.from({ length: 8 }, () => service.admin('POST', '/policies', { name, rules: [] })),
      );
      expect(replies.map(reply => reply.status).sort()).toEqual([201, ...Array(7).fill(409)]);
    });

    test('a replacement decides from its answer on, and every version is kept', async () => {
      const { key, keyId, policyId } = await service.newKey(allow);
      const verdict = async () => (await service.check(key, 's', 't')).body;
      for (let version = 2; version < 8; version++) {
        const closed = version % 2 === 0;
        const reply = await service.admin('PUT', `/policies/${policyId}`, { rules: closed ? deny : allow });
        expect([reply.status, reply.body.version]).toEqual([200, version]);
        expect((await verdict()).decision).toBe(closed ? 'deny' : 'allow');
      }
      const { entries } = (await service.admin('GET', `/audit?keyId=${keyId}`)).body;
      expect(entries.map((entry: { policyVersion: number }) => entry.policyVersion)).toEqual([
        7, 6, 5, 4, 3, 2,
      ]);

      const path = `/policies/${policyId}/versions`;
      const first = (await service.admin('GET', `${path}?limit=4`)).body;
      const second = (await service.admin('GET', `${path}?limit=4&cursor=${first.nextCursor}`)).body;
      const versions = [...first.versions, ...second.versions];
      expect(versions.map(each => each.version)).toEqual([7, 6, 5, 4, 3, 2, 1]);
      expect(second.nextCursor).toBeNull();
      expect(versions[5]).toMatchObject({ rules: deny, createdBy: 'admin' });
    });

    test('of many who replace one version at once, one does, and the others are told', async () => {
      const { policyId } = await service.newKey(allow);
      const replace = (version: number) =>
        service.admin('PUT', `/policies/${policyId}`, { rules: deny, version });
      const replies = await Promise.all(Array.from({ length: 8 }, () => replace(1)));
      expect(replies.map(reply => reply.status).sort()).toEqual([200, ...Array(7).fill(409)]);
      expectProblem(await replace(3), 409, 'conflict');
      expect((await replace(2)).body.version).toBe(3);
    });

    test('a new name appears in reasons at once', async () => {
      const { key, policyId } = await service.newKey(allow);
      const name = unique();
      await service.admin('PUT', `/policies/${policyId}`, { name, description: 'd', rules: allow });
      expect((await service.check(key, 's', 't')).body.reason).toBe(
        `Rule 0 of policy "${name}" allows s__t.`,
      );
    });

    test('cannot be deleted while a key uses it', async () => {
      const { keyId, policyId, key } = await service.newKey(allow);
      expectProblem(await service.admin('DELETE', `/policies/${policyId}`), 409, 'conflict');
      expect((await service.check(key, 's', 't')).status).toBe(200);
      await service.admin('DELETE', `/keys/${keyId}`);
      expect((await service.admin('DELETE', `/policies/${policyId}`)).status).toBe(204);
      expectProblem(await service.admin('GET', `/policies/${policyId}`), 404, 'not_found');
    });

    test('a key moved to another policy is decided by it at once', async () => {
      const { key, keyId } = await service.newKey(allow);
      const closed = await create(unique(), deny);
      expect((await service.check(key, 's', 't')).body.decision).toBe('allow');
      await service.admin('PATCH', `/keys/${keyId}`, { policyId: closed.id });
      expect((await service.check(key, 's', 't')).body).toMatchObject({
        decision: 'deny',
        policyId: closed.id,
      });
      const nowhere = await service.admin('PATCH', `/keys/${keyId}`, { policyId: Bun.randomUUIDv7() });
      expectProblem(nowhere, 400, 'invalid_input', ['/policyId']);
    });
  });
}
