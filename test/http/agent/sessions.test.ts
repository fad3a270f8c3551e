// Sessions as their key sees them: minted, bounded, listed, ended at once; another key's look like none.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createConnection } from 'node:net';
import { ANSWER_BYTES } from '../../../src/guard/rations/rations.ts';
import { until } from '../../support/faults.ts';
import { ADMIN_TOKEN, startService, type TestService } from '../../support/service.ts';
import { enginesWhenChanged } from '../../support/when-changed.ts';
import { expectProblem } from '../problem.ts';

const ALLOW = [{ tool: '*', action: 'allow' as const }];
const MINUTE = 60_000;

for (const engine of await enginesWhenChanged('src/store/**')) {
  describe(engine, () => {
    let service: TestService;
    beforeAll(async () => {
      service = await startService({ engine });
    });
    afterAll(() => service.close());

    const mint = (key: string, body?: unknown) => service.json('POST', '/v1/sessions', key, body);
    const list = async (key: string) => (await service.json('GET', '/v1/sessions', key)).body.sessions;
    const end = (key: string, id: string) => service.json('DELETE', `/v1/sessions/${id}`, key);

    test('no body at all is {}: an hour, no label, not scoped', async () => {
      const { key } = await service.newKey(ALLOW);
      for (const body of [undefined, {}]) {
        const before = Date.now();
        const reply = await mint(key, body);
        const after = Date.now();
        expect(reply.status).toBe(201);
        expect(reply.headers.get('cache-control')).toBe('no-store');
        expect(Object.keys(reply.body).sort()).toEqual([
          'expiresAt',
          'id',
          'label',
          'prefix',
          'scopeTools',
          'token',
        ]);
        expect(reply.body).toMatchObject({
          label: '',
          scopeTools: null,
          prefix: reply.body.token.slice(0, 13),
        });
        expect(reply.body.expiresAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
        const expires = Date.parse(reply.body.expiresAt);
        expect(expires).toBeGreaterThanOrEqual(before + 60 * MINUTE);
        expect(expires).toBeLessThanOrEqual(after + 60 * MINUTE);
      }
    });

    test('however many there are, all are listed, newest first', async () => {
      const { key } = await service.newKey(ALLOW);
      const ids: string[] = [];
      // Around the ends of the pages that the list is read in.
      for (const wanted of [7, 8, 9, 16, 17, 100]) {
        while (ids.length < wanted) ids.unshift((await mint(key)).body.id);
        const listed = await list(key);
        expect(listed.map((each: { id: string }) => each.id)).toEqual(ids);
        expect(listed[0]).toMatchObject({ label: '', scopeTools: null });
      }
    });

    describe('with long scopes', () => {
      const scopeTools = Array.from({ length: 2400 }, (_, n) => `server__tool-${n}`);
      const MANY = 160;
      let owner: { key: string; keyId: string };
      const ids: string[] = [];
      beforeAll(async () => {
        owner = await service.newKey(ALLOW);
        while (ids.length < MANY) ids.unshift((await mint(owner.key, { scopeTools })).body.id);
      });

      test('pages of the administration end early, and lead to all of them', async () => {
        const found: string[] = [];
        const sizes: number[] = [];
        for (let cursor = ''; cursor !== null; ) {
          const after = cursor === '' ? '' : `&cursor=${cursor}`;
          const { body } = await service.admin('GET', `/sessions?limit=50&keyId=${owner.keyId}${after}`);
          found.push(...body.sessions.map((each: { id: string }) => each.id));
          sizes.push(body.sessions.length);
          cursor = body.nextCursor;
        }
        expect(found).toEqual(ids);
        expect(Math.max(...sizes)).toBe(9);
        const few = (await service.admin('GET', `/sessions?limit=3&keyId=${owner.keyId}`)).body;
        expect([few.sessions.length, few.nextCursor]).toEqual([3, ids[2] as string]);
      });

      test('lists that nobody reads fill the share of their key, and leave nothing behind', async () => {
        const { host, hostname, port } = new URL(service.url);
        const head = `GET /v1/sessions HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${owner.key}\r\n\r\n`;
        const sockets = Array.from({ length: 12 }, () => createConnection(Number(port), hostname).pause());
        for (const socket of sockets) socket.write(head);
        const held = async () => {
          const { text } = await service.request('GET', '/metrics', {
            headers: { Authorization: `Bearer ${ADMIN_TOKEN}` },
          });
          return Number(/^toolgate_held_bytes\{by="answers"\} (\d+)$/m.exec(text)?.[1]);
        };
        await until('the share is full', async () => (await held()) === ANSWER_BYTES);
        for (const socket of sockets) socket.destroy();
        await until('nothing is held', async () => (await held()) === 0);
        const headers = { Authorization: `Bearer ${owner.key}` };
        for (let n = 0; n < 12; n++)
          expect((await service.request('HEAD', '/v1/sessions', { headers })).status).toBe(200);
        expect(await list(owner.key)).toHaveLength(MANY);
        expect(await held()).toBe(0);
      });

      test('the list breaks off once its key is revoked', async () => {
        const reply = await fetch(`${service.url}/v1/sessions`, {
          headers: { Authorization: `Bearer ${owner.key}` },
        });
        const reader = reply.body?.getReader() as ReadableStreamDefaultReader<Uint8Array>;
        const parts = [(await reader.read()).value as Uint8Array];
        expect((await service.admin('DELETE', `/keys/${owner.keyId}`)).status).toBe(204);
        const rest = async () => {
          for (;;) {
            const { value, done } = await reader.read();
            if (done) return 'whole';
            parts.push(value);
          }
        };
        expect(await rest().catch(() => 'broken')).toBe('broken');
        const text = Buffer.concat(parts).toString();
        expect([text.startsWith('{"sessions":['), text.includes(ids[0] as string)]).toEqual([true, true]);
        expect(text).not.toContain(ids.at(-1) as string);
      });
    });

    test('a key has so many active ones at most', async () => {
      const env = { TOOLGATE_MAX_SESSIONS_PER_KEY: '3' };
      const few = await startService({ engine, env });
      const [one, other] = [await few.newKey(ALLOW), await few.newKey(ALLOW)];
      const minted = (key: string) => few.json('POST', '/v1/sessions', key);
      const ids = [];
      for (let n = 0; n < 3; n++) ids.push((await minted(one.key)).body.id);
      const refused = await minted(one.key);
      expectProblem(refused, 409, 'conflict');
      expect(refused.body.detail).toContain('3 active sessions');
      expect((await minted(other.key)).status).toBe(201);
      await few.json('DELETE', `/v1/sessions/${ids[1]}`, one.key);
      expect((await minted(one.key)).status).toBe(201);
      expect((await minted(one.key)).status).toBe(409);
      await few.close();
    });

    test('ttlMinutes goes from 1 to 1440, whole, as a number', async () => {
      const { key } = await service.newKey(ALLOW);
      for (const ttlMinutes of [1, 1440]) {
        const { status, body } = await mint(key, { ttlMinutes });
        expect(status).toBe(201);
        expect(Math.abs(Date.parse(body.expiresAt) - Date.now() - ttlMinutes * MINUTE)).toBeLessThan(
          MINUTE / 2,
        );
      }
      for (const ttlMinutes of [0, -1, 1441, 1.5, '60', null, true, [60], 1e21]) {
        expectProblem(await mint(key, { ttlMinutes }), 400, 'invalid_input', ['/ttlMinutes']);
      }
    });

    test('label has at most 200 characters, in any script', async () => {
      const { key } = await service.newKey(ALLOW);
      for (const label of ['', 'run 7', '😀'.repeat(200)]) {
        expect((await mint(key, { label })).body.label).toBe(label);
      }
      for (const label of ['x'.repeat(201), 'a\nb', 5, null]) {
        expectProblem(await mint(key, { label }), 400, 'invalid_input', ['/label']);
      }
    });

    test('scopeTools holds full names; [] is kept as [], null as null', async () => {
      const { key } = await service.newKey(ALLOW);
      for (const scopeTools of [null, [], ['github__get_issue', 's__a__b', 'é__😀']]) {
        expect((await mint(key, { scopeTools })).body.scopeTools).toEqual(scopeTools);
      }
      for (const entry of [
        'get_issue',
        '*',
        '',
        '__x',
        's__',
        '_s__x',
        's_x',
        5,
        null,
        `${'s'.repeat(129)}__x`,
      ]) {
        expectProblem(await mint(key, { scopeTools: ['a__b', entry] }), 400, 'invalid_input', [
          '/scopeTools/1',
        ]);
      }
      for (const entry of ['github__*', '*', 'git*__get', 'odd__st*r']) {
        const refused = await mint(key, { scopeTools: ['a__b', entry] });
        expectProblem(refused, 400, 'invalid_input', ['/scopeTools/1']);
        expect(refused.body.errors[0].message).toContain('scopes have no wildcards');
      }
      expectProblem(await mint(key, { scopeTools: 'a__b' }), 400, 'invalid_input', ['/scopeTools']);
      expectProblem(await mint(key, { tools: [] }), 400, 'invalid_input', ['/tools']);
    });

    test('a session never outlives its key, whichever ends first', async () => {
      const expiresAt = new Date(Date.now() + 10 * MINUTE).toISOString();
      const { key, keyId } = await service.newKey(ALLOW, { expiresAt });
      expect((await mint(key, { ttlMinutes: 5 })).body.expiresAt < expiresAt).toBe(true);
      expect((await mint(key, { ttlMinutes: 60 })).body.expiresAt).toBe(expiresAt);
      const sooner = new Date(Date.now() + 2 * MINUTE).toISOString();
      await service.admin('PATCH', `/keys/${keyId}`, { expiresAt: sooner });
      for (const session of await list(key)) expect(session.expiresAt <= sooner).toBe(true);
      for (const session of (await service.admin('GET', `/sessions?keyId=${keyId}`)).body.sessions) {
        expect(session.expiresAt <= sooner).toBe(true);
      }
    });

    test('the list has the active ones of the calling key, newest first, without tokens', async () => {
      const [{ key }, other] = [await service.newKey(ALLOW), await service.newKey(ALLOW)];
      const minted = [];
      for (const label of ['one', 'two', 'three']) minted.push((await mint(key, { label })).body);
      await mint(other.key);
      const sessions = await list(key);
      expect(sessions.map((each: { label: string }) => each.label)).toEqual(['three', 'two', 'one']);
      const fields = ['createdAt', 'expiresAt', 'id', 'label', 'prefix', 'scopeTools'];
      expect(Object.keys(sessions[0]).sort()).toEqual(fields);
      await end(key, minted[1].id);
      expect((await list(key)).map((each: { label: string }) => each.label)).toEqual(['three', 'one']);
    });

    test('ending one answers 204, also again, and its checks are refused from then on', async () => {
      const { key, keyId } = await service.newKey(ALLOW);
      const { token, id } = (await mint(key)).body;
      expect((await service.check(token, 's', 't')).body.decision).toBe('allow');
      for (let round = 0; round < 2; round++) {
        const reply = await end(key, id);
        expect([reply.status, reply.text]).toEqual([204, '']);
      }
      expectProblem(await service.check(token, 's', 't'), 401, 'unauthenticated');
      expect((await service.check(key, 's', 't')).status).toBe(200);
      const [shown] = (await service.admin('GET', `/sessions?keyId=${keyId}`)).body.sessions;
      expect(shown).toMatchObject({ id, keyId, revokedAt: expect.stringMatching(/Z$/) });
    });

    test('the administration ends one of any key, at once, and it is recorded once', async () => {
      const { key, keyId } = await service.newKey(ALLOW);
      const { token, id } = (await mint(key, { label: 'nightly' })).body;
      const living = (await mint(key)).body.token;
      expect((await service.check(token, 's', 't')).body.decision).toBe('allow');
      for (let round = 0; round < 2; round++) {
        const reply = await service.admin('DELETE', `/sessions/${id}`);
        expect([reply.status, reply.text]).toEqual([204, '']);
      }
      expectProblem(await service.check(token, 's', 't'), 401, 'unauthenticated');
      expect((await service.check(living, 's', 't')).status).toBe(200);
      expect((await list(key)).map((each: { id: string }) => each.id)).not.toContain(id);
      const { changes } = (await service.admin('GET', '/changes')).body;
      const recorded = changes.filter((each: { target: string }) => each.target === id);
      expect(recorded).toMatchObject([
        { actor: 'admin', action: 'session.revoke', detail: { keyId, label: 'nightly' } },
      ]);
      expectProblem(await service.admin('DELETE', `/sessions/${Bun.randomUUIDv7()}`), 404, 'not_found');
    });

    test('another key’s session is 404, byte for byte as an unknown one, and lives on', async () => {
      const [mine, other] = [await service.newKey(ALLOW), await service.newKey(ALLOW)];
      const { token, id } = (await mint(other.key)).body;
      const foreign = await end(mine.key, id);
      const unknown = await end(mine.key, Bun.randomUUIDv7());
      expectProblem(foreign, 404, 'not_found');
      const bare = (text: string) => text.replace(/"requestId":"[^"]+"/, '');
      expect(bare(foreign.text)).toBe(bare(unknown.text));
      const headers = (reply: typeof foreign) =>
        [...reply.headers].filter(([name]) => !['date', 'x-request-id'].includes(name));
      expect(headers(foreign)).toEqual(headers(unknown));
      expect((await service.check(token, 's', 't')).status).toBe(200);
    });

    test('a session acts under its key’s policy, and its entries carry its id', async () => {
      const { key, keyId } = await service.newKey([{ tool: 'get_*', action: 'allow' }]);
      const { token, id } = (await mint(key, { scopeTools: ['s__get_x', 's__put_x'] })).body;
      const decisions = [];
      for (const tool of ['get_x', 'put_x', 'get_y'])
        decisions.push((await service.check(token, 's', tool)).body.decision);
      expect(decisions).toEqual(['allow', 'deny', 'deny']);
      const { entries } = (await service.admin('GET', `/audit?sessionId=${id}`)).body;
      expect(entries).toHaveLength(3);
      for (const entry of entries) expect(entry).toMatchObject({ keyId, sessionId: id });
    });
  });
}
