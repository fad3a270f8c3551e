// The first admin and the last one: the set-up link is good until an admin can sign in, and only that of the last
// start; and single sign-on never makes the last admin less. On both engines, on PostgreSQL with two replicas.

import { describe, expect, test } from 'bun:test';
import { engines, startService, type TestService } from '../support/service.ts';
import { enginesWhenChanged, sized } from '../support/when-changed.ts';
import { invite, join, newAddress, OTHER_PASSWORD, PASSWORD, signIn } from './people.ts';
import { openSignOns, SignOns } from './sign-on.ts';

const linkIn = (service: TestService): string =>
  /setup\?token=(\S+)/.exec(service.output)?.[1] ?? 'no link was printed';
const setUp = (service: TestService, token: string, email = 'ada@example.com') =>
  service.json('POST', '/admin/v1/setup', null, { token, email, password: PASSWORD });
const tokenIn = (url: string): string => new URL(url).searchParams.get('token') ?? '';
const operators = async (service: TestService): Promise<{ id: string; email: string; role: string }[]> =>
  (await service.admin('GET', '/operators?limit=200')).body.operators;

const ROUNDS = sized(5, 5, 2);
/** Where all tests run. Those in which the engine has a part of its own come first, and run on both. */
const whole = await enginesWhenChanged('src/store/**', 'src/guard/people/**');
for (const engine of await engines()) {
  describe(engine, () => {
    const replicas = engine === 'postgres' ? 2 : 1;

    test('a start’s set-up link ends those before it', async () => {
      const first = await startService({ engine });
      const { databaseUrl, dataDir } = first;
      await first.kill('SIGTERM');
      const second = await startService({ databaseUrl, dataDir });
      const late = await setUp(second, linkIn(first));
      expect([late.status, late.body.detail]).toEqual([
        410,
        expect.stringContaining('the link that was printed last'),
      ]);
      expect((await setUp(second, linkIn(second))).status).toBe(201);
      await second.kill('SIGTERM');
      await first.close();
    });

    test('groups never make the last admin less, also when two lose theirs at once', async () => {
      const door = await openSignOns({ engine, replicas });
      const elsewhere = new SignOns(door.provider, [...door.services].reverse(), []);
      const people = [door.person({ groups: ['platform'] }), door.person({ groups: ['platform'] })];
      const groups = (names: string[]) => {
        for (const { login } of people) Object.assign(door.provider.people[login] ?? {}, { groups: names });
      };
      const bothSignOn = () =>
        Promise.all([door, elsewhere].map((each, at) => each.signOn(people[at]?.login ?? '')));
      for (let round = 0; round < ROUNDS; round++) {
        groups(['platform']);
        await bothSignOn();
        expect((await operators(door.service)).map(each => each.role)).toEqual(['admin', 'admin']);
        groups(['staff']);
        const landed = await bothSignOn();
        expect(landed.map(each => each.status)).toEqual([303, 303]);
        expect((await operators(door.service)).map(each => each.role).sort()).toEqual(['admin', 'viewer']);
      }
      // Alone, and again.
      const landed = await bothSignOn();
      const roles = await Promise.all(landed.map(async each => (await door.me(each.visitor))?.role));
      expect(roles.sort()).toEqual(['admin', 'viewer']);
      await door.close();
    });

    if (!whole.includes(engine)) return;

    test('once an admin can sign in the link is over, also when that admin is reset later', async () => {
      const service = await startService({ engine });
      const { id, token } = await invite(service, 'root@example.com', 'admin');
      await invite(service, 'reader@example.com', 'viewer');
      await join(service, token);
      const refused = await setUp(service, linkIn(service));
      expect([refused.status, refused.body.detail]).toEqual([
        410,
        'There is an admin already. If that is you, sign in; otherwise ask them for an invitation.',
      ]);
      await service.admin('POST', `/operators/${id}/reset`);
      expect((await setUp(service, linkIn(service))).status).toBe(410);
      await service.close();
    });

    test('who comes first by single sign-on with a lesser role leaves the link open', async () => {
      const door = await openSignOns({ engine, replicas });
      const viewer = door.person({ groups: ['staff'] });
      const { visitor } = await door.signOn(viewer.login);
      expect(await door.me(visitor)).toMatchObject({ role: 'viewer' });
      await invite(door.service, 'invited@example.com', 'admin');
      const link = linkIn(door.services.at(-1) as TestService);
      // Their own e-mail: the operator they became is taken over, and what they held before is void.
      const made = await setUp(door.service, link, viewer.email);
      expect([made.status, made.body.role]).toEqual([201, 'admin']);
      expect(await door.me(visitor)).toBeNull();
      expect((await operators(door.service)).filter(each => each.email === viewer.email)).toHaveLength(1);
      const ip = newAddress();
      expect((await signIn(door.service, viewer.email, PASSWORD, { ip })).body).toMatchObject({
        role: 'admin',
      });
      Object.assign(door.provider.people[viewer.login] ?? {}, { email: 'renamed@example.com' });
      const renamed = await door.signOn(viewer.login);
      expect(await door.me(renamed.visitor)).toMatchObject({ email: 'renamed@example.com', role: 'viewer' });
      await door.close();
    });

    test('a reset also ends the accounts that led to the operator', async () => {
      const door = await openSignOns({ engine, replicas });
      const { login, email } = door.person({});
      const { id } = await invite(door.service, email, 'admin');
      const { visitor } = await door.signOn(login);
      expect(await door.me(visitor)).toMatchObject({ role: 'admin' });
      const { body } = await door.service.admin('POST', `/operators/${id}/reset`);
      expect(body.status).toBe('invited');
      expect(await door.me(visitor)).toBeNull();
      Object.assign(door.provider.people[login] ?? {}, { email: `other-${email}` });
      const refused = await door.signOn(login);
      expect([refused.status, refused.text.includes('You have no role here')]).toEqual([403, true]);
      await join(door.service, tokenIn(body.resetUrl), OTHER_PASSWORD);
      expect((await signIn(door.service, email, OTHER_PASSWORD, { ip: newAddress() })).status).toBe(200);
      await door.close();
    });
  });
}
