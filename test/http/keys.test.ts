// Keys through the administration, the log of changes, and the paging that all lists share.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { connect, ECHO, RecordingUpstream } from '../support/mcp.ts';
import { startService, type TestService } from '../support/service.ts';
import { enginesWhenChanged } from '../support/when-changed.ts';
import { expectProblem } from './problem.ts';

for (const engine of await enginesWhenChanged('src/store/**')) {
  describe(engine, () => {
    let service: TestService;
    let policyId: string;
    beforeAll(async () => {
      service = await startService({ engine });
      const rules = [{ tool: '*', action: 'require_approval' }];
      policyId = (await service.admin('POST', '/policies', { name: 'asks', rules })).body.id;
    });
    afterAll(() => service.close());

    test('shows the key once, with its fields', async () => {
      const made = await service.admin('POST', '/keys', { name: 'agent', policyId });
      expect(made.status).toBe(201);
      expect(made.headers.get('cache-control')).toBe('no-store');
      const { key, ...shown } = made.body;
      expect(shown).toEqual({
        id: expect.any(String),
        name: 'agent',
        prefix: key.slice(0, 13),
        policyId,
        shadowPolicyId: null,
        requireSignInToApprove: false,
        expiresAt: null,
        notify: null,
        forward: [],
        openTo: [],
        tasks: true,
        approveHere: false,
        createdAt: expect.stringMatching(/Z$/),
        revokedAt: null,
      });
      const list = await service.admin('GET', '/keys?limit=1');
      const listed = { ...shown, lastUsedAt: null, driftedTools: 0 };
      expect(list.body.keys).toEqual([listed]);
      expect(list.text).not.toContain(key);
      expect((await service.admin('GET', `/keys/${shown.id}`)).body).toEqual(listed);
      expectProblem(await service.admin('GET', `/keys/${Bun.randomUUIDv7()}`), 404, 'not_found');
    });

    test('says when it was last used, by itself or by a session, whatever the verdict was', async () => {
      const { id, key } = (await service.admin('POST', '/keys', { name: 'used', policyId })).body;
      const other = (await service.admin('POST', '/keys', { name: 'not used', policyId })).body;
      const shown = async (keyId: string) => (await service.admin('GET', `/keys/${keyId}`)).body.lastUsedAt;
      const newest = async () => (await service.admin('GET', '/audit?limit=1')).body.entries[0].at;
      await service.check(key, 's', 't');
      const first = await newest();
      expect(await shown(id)).toBe(first);
      const { token } = (await service.json('POST', '/v1/sessions', key, { label: 'run' })).body;
      await service.check(token, 's', 't');
      expect(await shown(id)).toBe(await newest());
      expect(await shown(other.id)).toBeNull();
      const { keys } = (await service.admin('GET', '/keys?limit=2')).body;
      expect(keys.map((each: Record<string, string>) => each['lastUsedAt'])).toEqual([null, await newest()]);
    });

    test('counts the tools whose definition changed', async () => {
      const upstream = new RecordingUpstream({ tools: [ECHO, { ...ECHO, name: 'look' }] });
      try {
        const { id } = (await service.admin('POST', '/keys', { name: 'drifted', policyId })).body;
        const toolId = await connect(service, id, 'up', upstream.url);
        const path = `/keys/${id}/connected-tools/${toolId}/test`;
        const drifted = async () => {
          await service.admin('POST', path);
          return (await service.admin('GET', `/keys/${id}`)).body.driftedTools;
        };
        expect(await drifted()).toBe(0);
        upstream.options.tools = [{ ...ECHO, description: 'Says something else.' }];
        expect(await drifted()).toBe(1);
        upstream.options.tools = [ECHO];
        expect(await drifted()).toBe(0);
      } finally {
        await upstream.stop();
      }
    });

    test('that has the name of another live key is made, with a word about it', async () => {
      const named = async () => (await service.admin('POST', '/keys', { name: 'twin', policyId })).body;
      const [first, second] = [await named(), await named()];
      expect([first.warnings, second.warnings?.length]).toEqual([undefined, 1]);
      for (const { id } of [first, second]) await service.admin('DELETE', `/keys/${id}`);
      expect((await named()).warnings).toBeUndefined();
    });

    test('is checked like every input', async () => {
      const wrong: [object, ...string[]][] = [
        [{}, '/name', '/policyId'],
        [{ name: '', policyId }, '/name'],
        [{ name: 'x'.repeat(201), policyId }, '/name'],
        [{ name: 'x', policyId: 'asks' }, '/policyId'],
        [{ name: 'x', policyId: Bun.randomUUIDv7() }, '/policyId'],
        [{ name: 'x', policyId, expiresAt: 'tomorrow' }, '/expiresAt'],
        [{ name: 'x', policyId, expiresAt: 1893456000000 }, '/expiresAt'],
        [{ name: 'x', policyId, requireSignInToApprove: 'yes' }, '/requireSignInToApprove'],
        [{ name: 'x', policyId, tasks: 'no', approveHere: 1 }, '/tasks', '/approveHere'],
        [{ name: 'x', policyId, forward: ['tools'] }, '/forward/0'],
        [{ name: 'x', policyId, notify: { url: 'ftp://x' } }, '/notify/url'],
        [{ name: 'x', policyId, notify: { emails: ['nobody'] } }, '/notify/emails/0'],
        [{ name: 'x', policyId, notify: { sms: '1' } }, '/notify/sms'],
        [{ name: 'x', policyId, notify: [] }, '/notify'],
        [{ name: 'x', policyId, notify: [1] }, '/notify'],
        [{ name: 'x', policyId, notify: ['default', 'on-call'] }, '/notify/1'],
        [{ name: 'x', policyId, key: 'tg_key_mine' }, '/key'],
      ];
      for (const [body, ...paths] of wrong) {
        expectProblem(await service.admin('POST', '/keys', body), 400, 'invalid_input', paths);
      }
    });

    test('PATCH changes what it names and nothing else', async () => {
      const { id } = (await service.admin('POST', '/keys', { name: 'before', policyId })).body;
      const patch = async (body: object) => (await service.admin('PATCH', `/keys/${id}`, body)).body;
      const before = await patch({});
      expect(await patch({ name: 'after' })).toEqual({ ...before, name: 'after' });
      expect(await patch({ requireSignInToApprove: true })).toMatchObject({
        name: 'after',
        requireSignInToApprove: true,
      });
      expect((await patch({ forward: ['prompts', 'resources', 'prompts'] })).forward).toEqual([
        'prompts',
        'resources',
      ]);
      const expiresAt = '2040-01-01T00:00:00.000Z';
      expect((await patch({ expiresAt: '2040-01-01T02:00:00+02:00' })).expiresAt).toBe(expiresAt);
      expect(await patch({ tasks: false, approveHere: true })).toMatchObject({
        tasks: false,
        approveHere: true,
      });
      expect(await patch({ tasks: true })).toMatchObject({ tasks: true, approveHere: true, expiresAt });
      expect((await patch({ name: 'x' })).expiresAt).toBe(expiresAt);
      expect((await patch({ expiresAt: null })).expiresAt).toBeNull();
      expectProblem(await service.admin('PATCH', `/keys/${id}`, { key: 'x' }), 400, 'invalid_input', [
        '/key',
      ]);
    });

    test('notification targets are shown masked and stored encrypted', async () => {
      const notify = {
        emails: ['ops@example.com'],
        slackWebhookUrl: 'https://hooks.slack.com/services/SECRET1',
        url: 'https://user:SECRET2@notify.example.com/path/SECRET3?token=SECRET4',
      };
      const made = await service.admin('POST', '/keys', { name: 'n', policyId, notify });
      expect(made.body.notify).toMatchObject({
        emails: notify.emails,
        slackWebhookUrl: 'https://hooks.slack.com/…',
      });
      const shown = [made, await service.admin('GET', '/keys'), await service.admin('GET', '/changes')];
      for (const { text } of shown) expect(text).not.toMatch(/SECRET\d/);
      expect(service.output).not.toMatch(/SECRET\d/);
      const cleared = await service.admin('PATCH', `/keys/${made.body.id}`, { notify: null });
      expect(cleared.body.notify).toBeNull();
    });

    test('revoking answers 204, also again; a revoked key stays listed and cannot be changed', async () => {
      const { id, key } = (await service.admin('POST', '/keys', { name: 'gone', policyId })).body;
      expect((await service.check(key, 's', 't')).status).toBe(200);
      for (let round = 0; round < 2; round++)
        expect((await service.admin('DELETE', `/keys/${id}`)).status).toBe(204);
      expectProblem(await service.check(key, 's', 't'), 401, 'unauthenticated');
      expectProblem(await service.admin('PATCH', `/keys/${id}`, { name: 'back' }), 409, 'conflict');
      const { keys } = (await service.admin('GET', '/keys?limit=1000')).body;
      expect(keys.find((each: { id: string }) => each.id === id).revokedAt).toMatch(/Z$/);
    });

    test('the log of changes tells who did what to what, and no secret', async () => {
      const policy = (await service.admin('POST', '/policies', { name: 'logged', rules: [] })).body;
      await service.admin('PUT', `/policies/${policy.id}`, { rules: [] });
      const made = (await service.admin('POST', '/keys', { name: 'logged', policyId: policy.id })).body;
      await service.admin('PATCH', `/keys/${made.id}`, { name: 'renamed' });
      await service.admin('DELETE', `/keys/${made.id}`);
      await service.admin('DELETE', `/policies/${policy.id}`);
      const reply = await service.admin('GET', '/changes?limit=6');
      const told = reply.body.changes.map((each: Record<string, string>) => [
        each['actor'],
        each['action'],
        each['target'],
      ]);
      expect(told.reverse()).toEqual([
        ['admin', 'policy.create', policy.id],
        ['admin', 'policy.update', policy.id],
        ['admin', 'key.create', made.id],
        ['admin', 'key.update', made.id],
        ['admin', 'key.revoke', made.id],
        ['admin', 'policy.delete', policy.id],
      ]);
      expect(reply.body.changes[0].at).toMatch(/Z$/);
      expect(reply.text).not.toContain(made.key);
    });

    describe('pages', () => {
      beforeAll(async () => {
        const { key } = (await service.admin('POST', '/keys', { name: 'paged', policyId })).body;
        for (let n = 0; n < 6; n++) {
          await service.admin('POST', '/policies', { name: `paged ${n}`, rules: [] });
          await service.admin('POST', '/keys', { name: `paged ${n}`, policyId });
          await service.json('POST', '/v1/sessions', key, { label: `paged ${n}` });
          expect((await service.check(key, 's', `paged ${n}`)).body.decision).toBe('pending');
        }
      });

      const lists = {
        policies: 'policies',
        keys: 'keys',
        sessions: 'sessions',
        approvals: 'approvals',
        audit: 'entries',
        changes: 'changes',
      };
      for (const [path, plural] of Object.entries(lists)) {
        test(`of ${path} neither skip nor repeat, newest first`, async () => {
          const whole = (await service.admin('GET', `/${path}?limit=1000`)).body;
          expect(whole.nextCursor).toBeNull();
          const rows = whole[plural] as Record<string, string>[];
          expect(rows.length).toBeGreaterThan(5);
          const id = (row: Record<string, string>) => row['id'] ?? row['referenceId'] ?? '';
          expect(rows.map(id)).toEqual(rows.map(id).toSorted().toReversed());
          const found: unknown[] = [];
          let cursor = '';
          do {
            const { body } = await service.admin('GET', `/${path}?limit=4${cursor}`);
            expect(body[plural].length).toBeLessThanOrEqual(4);
            found.push(...body[plural]);
            cursor = body.nextCursor === null ? '' : `&cursor=${body.nextCursor}`;
          } while (cursor !== '');
          expect(found).toEqual(rows);
        });
      }

      test('that end exactly at the limit have no next one', async () => {
        const { length } = (await service.admin('GET', '/policies?limit=1000')).body.policies;
        expect((await service.admin('GET', `/policies?limit=${length}`)).body.nextCursor).toBeNull();
        expect((await service.admin('GET', `/policies?limit=${length - 1}`)).body.nextCursor).not.toBeNull();
      });
    });
  });
}
