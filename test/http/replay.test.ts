// Replay through the administration: drafts as text, rules or a version, what is refused, and what calls come to. The
// sums are compared with brute force in test/guard/log/replay.test.ts.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { startService, type TestService } from '../support/service.ts';
import { enginesWhenChanged } from '../support/when-changed.ts';
import { expectProblem } from './problem.ts';

for (const engine of await enginesWhenChanged('src/store/**')) {
  describe(engine, () => {
    let service: TestService;
    let policyId: string;
    let keyId: string;
    let path: string;
    const made: string[] = [];

    beforeAll(async () => {
      service = await startService({ engine });
      const rules = [{ tool: 'mail__read', action: 'allow' }];
      policyId = (await service.admin('POST', '/policies', { name: 'prod', rules })).body.id;
      path = `/policies/${policyId}/replay`;
      const { id, key } = (await service.admin('POST', '/keys', { name: 'agent', policyId })).body;
      keyId = id;
      for (const toolName of ['read', 'read', 'send', 'send', 'send', 'send', 'send', 'send']) {
        const verdict = await service.check(key, 'mail', toolName);
        made.push(verdict.body.toolCallId);
      }
    });
    afterAll(() => service.close());

    const replay = (body: object) => service.admin('POST', path, body);

    test('a draft as rules or as text: what changes, with the newest examples', async () => {
      const changes = [
        {
          serverName: 'mail',
          toolName: 'send',
          keyId,
          from: 'deny',
          to: 'pending',
          calls: 6,
          examples: made.slice(3).toReversed(),
        },
      ];
      const rules = [
        { tool: 'mail__read', action: 'allow' },
        { tool: '*', action: 'require_approval' },
      ];
      const text = `rules:\n  - { tool: mail__read, action: allow }\n  - { tool: '*', action: require_approval }\n`;
      for (const draft of [{ rules }, { text }]) {
        const { status, body } = await replay(draft);
        const { from, to, ...found } = body;
        expect([status, found]).toEqual([200, { calls: 8, changed: 6, depends: 0, earlier: 0, changes }]);
        expect(Date.parse(from) % 60_000).toBe(0);
        expect(Date.parse(from)).toBeLessThan(Date.now());
        expect(Date.parse(to)).toBeGreaterThan(Date.now() - 1000);
      }
    });

    test('a draft that reads arguments, and a renamed key', async () => {
      const draft = (when: string) => replay({ rules: [{ tool: '*', action: 'allow', when }] });
      expect((await draft('args.to == "me"')).body).toMatchObject({ calls: 8, changed: 0, depends: 8 });
      expect((await draft('key.name == "agent"')).body).toMatchObject({ changed: 6, depends: 0 });
      await service.admin('PATCH', `/keys/${keyId}`, { name: 'robot' });
      // What the key was called when the calls were made is not recorded.
      expect((await draft('key.name == "robot"')).body).toMatchObject({ changed: 0, depends: 8 });
    });

    test('a saved version, and the time', async () => {
      expect((await replay({ version: 1 })).body).toMatchObject({ calls: 8, changed: 0, depends: 0 });
      expectProblem(await replay({ version: 2 }), 404, 'not_found');
      const from = new Date(Date.now() - 3 * 86_400_000).toISOString();
      const to = new Date(Date.now() - 2.5 * 86_400_000).toISOString();
      expect((await replay({ rules: [], from })).body).toMatchObject({ calls: 8, changed: 2 });
      expect((await replay({ rules: [], from, to })).body).toMatchObject({ calls: 0, changes: [] });
      expectProblem(await replay({ rules: [], from: to, to: from }), 400, 'invalid_input', ['/from']);
      expectProblem(await replay({ rules: [], from: 'yesterday' }), 400, 'invalid_input', ['/from']);
    });

    test('exactly one draft, of a policy that exists, without faults', async () => {
      const refused = async (body: object, ...paths: string[]) =>
        expectProblem(await replay(body), 400, 'invalid_input', paths);
      await refused({}, '/text');
      await refused({ limits: {} }, '/text');
      await refused({ version: 1, rules: [] }, '/rules');
      await refused({ version: 1, text: 'rules: []' }, '/text');
      await refused({ text: 'rules: []', rules: [] }, '/rules');
      await refused({ rules: [], name: 'x' }, '/name');
      await refused({ version: 0 }, '/version');
      const nowhere = `/policies/${Bun.randomUUIDv7()}/replay`;
      expectProblem(await service.admin('POST', nowhere, { rules: [] }), 404, 'not_found');
      // The faults of a draft are those of saving it.
      for (const draft of [
        { rules: [{ tool: '*', action: 'allow', when: 'args.' }] },
        { rules: [{ tool: '*', action: 'require_approval', notify: ['nobody'] }] },
        { rules: [{ tool: '*', action: 'allow', limit: 'none' }] },
        { text: 'rules:\n  - { tool: mail__read, action: allow, when: args. }\n' },
        { text: 'rules: {' },
      ]) {
        const [tried, saved] = [
          await replay(draft),
          await service.admin('PUT', `/policies/${policyId}`, draft),
        ];
        expect(tried.status).toBe(400);
        expect([tried.body.detail, tried.body.errors]).toEqual([saved.body.detail, saved.body.errors]);
      }
    });
  });
}
