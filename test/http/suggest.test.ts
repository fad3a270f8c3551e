// A suggested policy through the administration: made from checks that were answered, and applied to the same checks.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Rule } from '../../src/core/policy/policy.ts';
import { parsePolicy } from '../../src/core/policy-file/policy-file.ts';
import { startService, type TestService } from '../support/service.ts';
import { enginesWhenChanged } from '../support/when-changed.ts';
import { expectProblem } from './problem.ts';

const RULES: Rule[] = [
  { tool: 'github__delete_*', action: 'deny', reason: 'Nobody deletes.' },
  { tool: 'pay__*', action: 'allow', when: 'args.amount <= 50' },
  { tool: 'pay__*', action: 'require_approval', show: ['amount'] },
  { tool: 'github__*', action: 'allow' },
  { tool: 'slack__*', action: 'allow' },
];

const CALLS: [server: string, tool: string, args?: object][] = [
  ['pay', 'refund', { amount: 10 }],
  ['pay', 'refund', { amount: 99 }],
  ['github', 'list_issues'],
  ['github', 'list_issues'],
  ['github', 'delete_repo'],
  ['shell', 'run'],
];

for (const engine of await enginesWhenChanged('src/store/**')) {
  describe(engine, () => {
    let service: TestService;
    beforeAll(async () => {
      service = await startService({ engine });
    });
    afterAll(() => service.close());

    const suggest = (keyId: string, body: object = {}) =>
      service.admin('POST', `/keys/${keyId}/suggest`, body);
    const makeCalls = async (key: string) => {
      const decisions: string[] = [];
      for (const [server, tool, args = {}] of CALLS)
        decisions.push((await service.check(key, server, tool, { args })).body.decision);
      return decisions;
    };

    test('covers what the key did and decides it as before', async () => {
      const { key, keyId, policyName } = await service.newKey(RULES);
      const before = await makeCalls(key);
      expect(before).toEqual(['allow', 'pending', 'allow', 'allow', 'deny', 'deny']);
      const { status, body } = await suggest(keyId);
      expect([status, Object.keys(body)]).toEqual([200, ['text']]);
      const { policy, problems } = parsePolicy(body.text);
      expect(problems).toEqual([]);
      expect(policy?.rules).toEqual([
        { tool: 'github__delete_repo', action: 'deny', reason: 'Nobody deletes.' },
        { tool: 'github__list_issues', action: 'allow' },
        { tool: 'pay__refund', action: 'allow', when: 'args.amount <= 50' },
        { tool: 'pay__refund', action: 'require_approval', show: ['amount'] },
      ]);
      expect(body.text).toContain(`policy "${policyName}", version 1`);
      expect(body.text).toContain('# 2 calls: 1 allowed, 1 asked.');
      expect(body.text).toContain('#   "shell__run" (1 call)');
      expect(body.text).toContain('#   rule 4: { tool: "slack__*", action: allow }');

      const made = await service.admin('POST', '/policies', { name: `s-${keyId}`, text: body.text });
      expect(made.status).toBe(201);
      await service.admin('PATCH', `/keys/${keyId}`, { policyId: made.body.id });
      expect(await makeCalls(key)).toEqual(before);
      expect((await service.check(key, 'github', 'create_issue')).body.decision).toBe('deny');
    });

    test('looks at calls since a time, and changes nothing', async () => {
      const { key, keyId } = await service.newKey(RULES);
      await makeCalls(key);
      const later = new Date(Date.now() + 86_400_000).toISOString();
      const { text } = (await suggest(keyId, { from: later })).body;
      expect(parsePolicy(text).policy?.rules).toEqual([{ tool: '*', action: 'deny' }]);
      const { changes } = (await service.admin('GET', '/changes?limit=1')).body;
      expect(changes[0].action).toBe('key.create');
    });

    test('needs a key that there is, and a time', async () => {
      const { keyId } = await service.newKey(RULES);
      expectProblem(await suggest(Bun.randomUUIDv7()), 404, 'not_found');
      expectProblem(await suggest(keyId, { from: 'yesterday' }), 400, 'invalid_input', ['/from']);
      expectProblem(await suggest(keyId, { to: 'now' }), 400, 'invalid_input', ['/to']);
    });
  });
}
