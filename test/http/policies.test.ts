// Policies through the administration: versions, conflicts, and that a change decides from its answer on.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { MAX_RULES, MAX_TEXT } from '../../src/core/policy/policy.ts';
import { wantsFolder, withFolder } from '../../src/core/policy-file/pack-folder.ts';
import { PACKS, withName } from '../../src/core/policy-file/packs.ts';
import { startService, type TestService } from '../support/service.ts';
import { enginesWhenChanged } from '../support/when-changed.ts';
import { expectProblem } from './problem.ts';

for (const engine of await enginesWhenChanged('src/store/**')) {
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

    test('a pack in which nobody has put in a folder is not saved', async () => {
      for (const { text } of PACKS.filter(pack => wantsFolder(pack.text))) {
        const refused = await service.admin('POST', '/policies', { text });
        expectProblem(refused, 400, 'invalid_input', ['/text']);
        expect(JSON.stringify(refused.body)).toContain('--folder <path>');
        const name = unique();
        const made = await service.admin('POST', '/policies', {
          text: withName(withFolder(text, '/srv/project'), name),
        });
        expect([made.status, made.body.name]).toEqual([201, name]);
        const again = { text: withName(text, name), version: 1 };
        expectProblem(await service.admin('PUT', `/policies/${made.body.id}`, again), 400, 'invalid_input', [
          '/text',
        ]);
      }
    });

    // Reading so many takes seconds, and writing them is one row on either engine.
    if (engine === 'sqlite')
      test('as many rules as a policy may have are taken; one more is not', async () => {
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
        [{ tool: 'a', action: 'allow', show: 'now' }, '/rules/1/show'],
        [{ tool: 'a', action: 'allow', when: 'now' }, '/rules/1/when'],
        [{ tool: 'a', action: 'allow', when: ['true', 'now'] }, '/rules/1/when/1'],
        [{ tool: 'a', action: 'allow', when: ['true', 5] }, '/rules/1/when'],
        [{ tool: 'a', action: 'allow', when: [] }, '/rules/1/when'],
        [{ tool: 'a', action: 'allow', during: 'noon' }, '/rules/1/during'],
        [{ tool: 'a', action: 'allow', limit: 'constructor' }, '/rules/1/limit'],
        [{ tool: 'a', action: 'deny', ask: 'Why?' }, '/rules/1/ask'],
        [{ tool: 'a', action: 'require_approval', ask: 'x'.repeat(301) }, '/rules/1/ask'],
        ['allow', '/rules/1'],
        ...(
          [
            [{ show: null }, '/show'],
            [{ show: 'some' }, '/show'],
            [{ show: ['a', 5] }, '/show/1'],
            [{ ask: null }, '/ask'],
            [{ ask: '{a' }, '/ask'],
            [{ approvers: null }, '/approvers'],
            [{ approvers: ['finance'] }, '/approvers'],
            [{ approvers: { count: 1 } }, '/approvers'],
            [{ approvers: { group: 'a', counts: 2 } }, '/approvers/counts'],
            [JSON.parse('{"approvers":{"group":"a","__proto__":{}}}'), '/approvers/__proto__'],
            [{ approvers: { group: 'a', count: '2' } }, '/approvers/count'],
            [{ approvers: { group: ['a'] } }, '/approvers/group'],
            [{ approvers: { proof: true } }, '/approvers/proof'],
            [{ timeout: 15 }, '/timeout'],
            [{ timeout: '8d' }, '/timeout'],
            [{ notify: 'default' }, '/notify'],
            [{ notify: ['default', 'nobody'] }, '/notify/1'],
            [{ escalate: { after: '10m', notify: [] } }, '/escalate/notify'],
            [{ escalate: { after: '10m', notify: ['nobody'] } }, '/escalate/notify/0'],
            [{ timeout: '5m', escalate: { after: '5m', notify: ['default'] } }, '/escalate/after'],
          ] as const
        ).map(([part, path]): [unknown, string] => [
          { tool: 'a', action: 'require_approval', ...part },
          `/rules/1${path}`,
        ]),
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

    test('a limit is checked like every input, and a fault in a condition is named with its place', async () => {
      const wrong: [string, string, RegExp][] = [
        ['[]', '/limits', /must be an object/],
        ['{"a b": {"calls": 1, "within": "1h"}}', '/limits/a b', /is no name for a limit/],
        ['{"__proto__": {"calls": 1, "within": "1h"}}', '/limits/__proto__', /is no name for a limit/],
        ['{"l": 5}', '/limits/l', /must be an object/],
        ['{"l": {"calls": 1, "within": "1h", "show": 1}}', '/limits/l/show', /unknown field/],
        ['{"l": {"calls": 0, "within": "1h"}}', '/limits/l/calls', /whole number/],
        ['{"l": {"calls": 99999999999999999999, "within": "1h"}}', '/limits/l/calls', /whole number/],
        ['{"l": {"calls": 1}}', '/limits/l', /"within" or "each"/],
        [
          '{"l": {"sum": "1 + arg", "atMost": 1, "within": "1h"}}',
          '/limits/l/sum',
          /^at character 5: .*"arg"/,
        ],
      ];
      for (const [limits, path, message] of wrong) {
        const reply = await service.admin('POST', '/policies', {
          name: unique(),
          rules: [],
          limits: JSON.parse(limits),
        });
        expectProblem(reply, 400, 'invalid_input', [path]);
        expect(reply.body.errors[0].message).toMatch(message);
      }
      const when = 'has(args.a) && arg.a == 1';
      const reply = await service.admin('POST', '/policies', {
        name: unique(),
        rules: [...allow, { tool: 'a', action: 'deny', when: [when] }],
      });
      expectProblem(reply, 400, 'invalid_input', ['/rules/1/when/0']);
      expect(reply.body.detail).toStartWith('/rules/1/when/0: at character 16: unknown variable "arg"');
    });

    const TEXT = `# Who may refund what.
limits:
  refunds: { sum: args.amount, unit: 0.01, atMost: 500, each: day, beyond: require_approval }   # per key
rules:
  - tool: refund   # é
    action: allow
    when: [ 'args.amount > 0', 'args.currency == "EUR"' ]
    limit: refunds
    ask: "Refund {amount}?"
    approvers: { count: 2, group: finance }
    escalate: { after: 1m, notify: [default] }

  - { action: deny, tool: "*" }
`;
    const LIMITS = {
      refunds: { sum: 'args.amount', unit: 0.01, atMost: 500, each: 'day', beyond: 'require_approval' },
    };
    const RULES = [
      {
        tool: 'refund',
        action: 'allow',
        when: ['args.amount > 0', 'args.currency == "EUR"'],
        limit: 'refunds',
        ask: 'Refund {amount}?',
        approvers: { group: 'finance', count: 2 },
        escalate: { after: '1m', notify: ['default'] },
      },
      { tool: '*', action: 'deny' },
    ];

    test('keeps the text that it was written in, in every version', async () => {
      const name = unique();
      const made = await service.admin('POST', '/policies', { name, text: TEXT });
      expect(made.status).toBe(201);
      expect(made.body).toMatchObject({ name, description: '', version: 1, rules: RULES, limits: LIMITS });
      expect(made.body.text).toBe(TEXT);
      const path = `/policies/${made.body.id}`;
      // Nobody is in the group yet, which whoever saves the policy is told.
      const { warnings, ...kept } = made.body;
      expect(warnings).toHaveLength(1);
      expect((await service.admin('GET', path)).body).toEqual(kept);

      const next = `{"description": "In JSON", "name": ${JSON.stringify(name)}, "rules": []}`;
      const replaced = (await service.admin('PUT', path, { text: next, version: 1 })).body;
      expect(replaced).toMatchObject({
        description: 'In JSON',
        version: 2,
        rules: [],
        limits: {},
        text: next,
      });
      const { warnings: _, ...plain } = (await service.admin('PUT', path, { rules: RULES, limits: LIMITS }))
        .body;
      const written =
        'limits:\n  "refunds": { sum: "args.amount", atMost: 500, unit: 0.01, each: day, beyond: require_approval }\n' +
        'rules:\n  - { tool: "refund", action: allow, when: ["args.amount > 0", "args.currency == \\"EUR\\""], ' +
        'limit: "refunds", ask: "Refund {amount}?", approvers: { group: "finance", count: 2 }, ' +
        'escalate: { after: 1m, notify: ["default"] } }\n  - { tool: "*", action: deny }\n';
      expect(plain.text).toBe(`name: "${name}"\ndescription: "In JSON"\n${written}`);
      expect((await service.admin('GET', path)).body).toEqual(plain);

      const { versions } = (await service.admin('GET', `${path}/versions`)).body;
      expect(versions).toMatchObject([
        { version: 3, rules: RULES, limits: LIMITS, text: `name: "${name}"\n${written}` },
        { version: 2, rules: [], limits: {}, text: next },
        { version: 1, rules: RULES, limits: LIMITS, text: TEXT },
      ]);
      const { changes } = (await service.admin('GET', '/changes?limit=3')).body;
      expect(changes.map((each: { detail: object }) => each.detail)).toEqual([
        { name, version: 3, rules: 2 },
        { name, version: 2, rules: 0 },
        { name, rules: 2 },
      ]);
    });

    test('a replacement that cannot be used is refused, and the version before it stays', async () => {
      const { id } = await create(unique());
      const faulty = [{ tool: 'a', action: 'deny', when: 'arg.a' }];
      const path = `/policies/${id}`;
      expectProblem(await service.admin('PUT', path, { rules: faulty }), 400, 'invalid_input', [
        '/rules/0/when',
      ]);
      expectProblem(await service.admin('PUT', path, { text: '- {}' }), 400, 'invalid_input', ['/text']);
      expectProblem(await service.admin('PUT', path, {}), 400, 'invalid_input', ['/rules']);
      expect((await service.admin('GET', path)).body).toMatchObject({ version: 1, rules: allow });
    });

    test('a text decides as its rules do', async () => {
      const { key, policyId } = await service.newKey(allow);
      const text = 'rules:\n  - { tool: t, action: allow, when: args.n == 1 }\n';
      expect((await service.admin('PUT', `/policies/${policyId}`, { text })).status).toBe(200);
      const decision = async (n: number) =>
        (await service.check(key, 's', 't', { args: { n } })).body.decision;
      expect([await decision(1), await decision(2)]).toEqual(['allow', 'deny']);
    });

    test('a faulty text is refused with line and column, and the first faults', async () => {
      const refused = async (body: object, path: string, ...messages: string[]) => {
        const reply = await service.admin('POST', '/policies', body);
        expectProblem(reply, 400, 'invalid_input', [path]);
        const found = reply.body.errors.map((each: { message: string }) => each.message);
        for (const [index, message] of messages.entries()) expect(found[index]).toStartWith(message);
        return found;
      };
      const name = unique();
      await refused(
        { name, text: 'rules:\n  - { tool: a, action: no }\n  - { tool: a, action: deny, when: arg.a }\n' },
        '/text',
        'line 2, column 24: "action" must be one of',
        'line 3, column 36: condition 0 of rule 1: unknown variable "arg"',
      );
      await refused({ name, text: '{' }, '/text', 'line 1, column 2: ');
      await refused({ name, text: '' }, '/text', 'line 1, column 1: a policy is a list');
      const many = await refused(
        { name, text: `[${'0,'.repeat(1000)}]` },
        '/text',
        'line 1, column 2: rule 0',
      );
      expect(many).toHaveLength(20);
      await refused({ text: 'rules: []' }, '/name', 'is required');
      await refused({ rules: [] }, '/name', 'is required');
      await refused({ name }, '/rules', 'is required');
      await refused({ name, text: 'rules: []', rules: [] }, '/rules', 'must be left out');
      await refused({ name, text: 'rules: []', limits: {} }, '/limits', 'must be left out');
      await refused({ name, text: 'name: other\nrules: []' }, '/name', 'differs from the name in the text');
      await refused(
        { name, description: 'a', text: 'description: b\nrules: []' },
        '/description',
        'differs from the description in the text',
      );
      await refused({ text: `name: ${'x'.repeat(201)}\nrules: []` }, '/text', '"name" must have 1 to 200');
      await refused(
        { name, text: 'description: "a\\tb"\nrules: []' },
        '/text',
        '"description" must not contain',
      );
      await refused({ name, text: '# \0\nrules: []' }, '/text', 'must not contain the character U+0000');
      await refused({ name, text: 5 }, '/text');
      const long = (length: number) => `rules: []\n#${'x'.repeat(length - 11)}`;
      await refused({ name, text: long(MAX_TEXT + 1) }, '/text', 'must have at most 262144 characters');
      expect(
        (await service.admin('POST', '/policies', { name: unique(), text: long(MAX_TEXT) })).status,
      ).toBe(201);
      const same = await service.admin('POST', '/policies', { name, text: `name: ${name}\nrules: []` });
      expect(same.status).toBe(201);
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
