// The very millisecond at which keys and sessions end: one before, everything works; at it, nothing does, neither for
// a credential that the service remembers nor for one that it has to look up. On a clock that stands still.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type ClockedService, startClocked } from '../approvals/clocked.ts';
import { connect, modern, RecordingUpstream } from '../support/mcp.ts';
import { enginesWhenChanged } from '../support/when-changed.ts';

const ALLOW = [{ tool: '*', action: 'allow' as const }];
const LIFE_MINUTES = 5;
const LIFE_MS = LIFE_MINUTES * 60_000;

for (const engine of await enginesWhenChanged('src/store/**')) {
  describe(engine, () => {
    let service: ClockedService;
    let upstream: RecordingUpstream;
    beforeAll(async () => {
      service = await startClocked({}, engine);
      upstream = new RecordingUpstream();
    });
    afterAll(async () => {
      await service.close();
      await upstream.stop();
    });

    const newKey = async (more: Record<string, unknown> = {}) => {
      const made = await service.newKey(ALLOW, more);
      await connect(service, made.keyId, 'up', upstream.url);
      return made;
    };
    const mint = async (key: string): Promise<{ id: string; token: string; expiresAt: string }> =>
      (await service.json('POST', '/v1/sessions', key, { ttlMinutes: LIFE_MINUTES })).body;
    /** Now, by the service's clock: a session tells it. */
    const nowAt = async (key: string) => Date.parse((await mint(key)).expiresAt) - LIFE_MS;
    const listed = async (key: string): Promise<string[]> => {
      const { body } = await service.json('GET', '/v1/sessions', key);
      return (body.sessions ?? []).map((each: { id: string }) => each.id);
    };

    const ways: Record<string, (token: string) => Promise<number>> = {
      'a check': async token => (await service.check(token, 's', 't')).status,
      'a list on /mcp': async token => (await modern(service, token, 'tools/list')).status,
      'a call on /mcp': async token =>
        (await modern(service, token, 'tools/call', { name: 'up__echo', arguments: {} })).status,
    };

    for (const [what, ask] of Object.entries(ways)) {
      test(`${what} of a session`, async () => {
        const { key } = await newKey();
        const [known, unknown] = [await mint(key), await mint(key)];
        expect(await ask(known.token)).toBe(200);
        service.advance(LIFE_MS - 1);
        expect(await ask(known.token)).toBe(200);
        service.advance(1);
        expect([await ask(known.token), await ask(unknown.token)]).toEqual([401, 401]);
        expect(await ask(key)).toBe(200);
      });

      test(`${what} of a key, and of its session`, async () => {
        const now = await nowAt((await newKey()).key);
        const expiresAt = new Date(now + LIFE_MS).toISOString();
        const [known, unknown] = [await newKey({ expiresAt }), await newKey({ expiresAt })];
        const session = await mint(known.key);
        expect([await ask(known.key), await ask(session.token)]).toEqual([200, 200]);
        service.advance(LIFE_MS - 1);
        expect([await ask(known.key), await ask(session.token)]).toEqual([200, 200]);
        service.advance(1);
        expect(await Promise.all([known.key, unknown.key, session.token].map(ask))).toEqual([401, 401, 401]);
      });
    }

    test('the list of sessions has those that live, and is for a key that lives', async () => {
      const now = await nowAt((await newKey()).key);
      const expiresAt = new Date(now + LIFE_MS + 1).toISOString();
      const { key } = await newKey({ expiresAt });
      const { id } = await mint(key);
      service.advance(LIFE_MS - 1);
      expect(await listed(key)).toEqual([id]);
      service.advance(1);
      expect(await listed(key)).toEqual([]);
      expect((await service.json('POST', '/v1/sessions', key)).status).toBe(201);
      service.advance(1);
      expect((await service.json('GET', '/v1/sessions', key)).status).toBe(401);
      expect((await service.json('POST', '/v1/sessions', key)).status).toBe(401);
    });
  });
}
