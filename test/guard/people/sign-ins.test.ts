// A sign-in whose password was right when it began, and not any more once it was hashed: it opens nothing. What
// happens in between comes right after the hash was read, so that nothing depends on how long hashing takes. And a
// sign-out with a cookie that is no sign-in, which anybody can send: it waits for nobody, so nobody waits for it.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { newId } from '../../../src/guard/ids.ts';
import { OPERATORS_LOCK } from '../../../src/guard/locks.ts';
import {
  changePassword,
  deleteOperator,
  inviteOperator,
  joinOperators,
  resetOperator,
} from '../../../src/guard/people/operators.ts';
import { recognise, signIn, signOut } from '../../../src/guard/people/sign-ins.ts';
import type { Db } from '../../../src/store/engine/db.ts';
import { OTHER_PASSWORD, PASSWORD } from '../../operators/people.ts';
import { openStore, type TestStore } from '../../store/stores.ts';
import { engines } from '../../support/service.ts';
import { depsAt } from '../deps.ts';

const BROWSER = { ip: '192.0.2.1', userAgent: 'test', replaces: null };

/** The store itself, except that something else happens right after a password's hash was read. */
function meanwhile(db: Db, happens: () => Promise<unknown>): Db {
  const all: Db['all'] = async <T>(sql: string, params?: Parameters<Db['all']>[1]) => {
    const rows = await db.all<T>(sql, params);
    if (sql.includes('password_hash')) await happens();
    return rows;
  };
  return new Proxy(db, {
    get: (target, name) => {
      if (name === 'all') return all;
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

for (const engine of await engines()) {
  describe(engine, () => {
    let store: TestStore;
    beforeAll(async () => {
      store = await openStore(engine);
    });
    afterAll(() => store.close());

    const deps = () => depsAt(store.db);
    /** Joined, and signed out of the sign-in that joining opens. */
    const joined = async (email = `${newId()}@example.com`, password = PASSWORD) => {
      const { operator, token } = await inviteOperator(deps(), 'admin', { email, role: 'viewer' });
      const { secret } = await joinOperators(deps(), { token, password }, BROWSER);
      await signOut(deps(), secret);
      return operator;
    };
    const attempt = (email: string, happens: () => Promise<unknown> = async () => {}) =>
      signIn(depsAt(meanwhile(store.db, happens)), { email, password: PASSWORD, ...BROWSER });

    test('without anything in between it opens', async () => {
      const { email } = await joined();
      const { secret } = await attempt(email);
      expect(await recognise(deps(), secret)).toMatchObject({ email });
    });

    const CASES: Record<string, (operator: { id: string; email: string }) => Promise<unknown>> = {
      'the operator is deleted': ({ id }) => deleteOperator(deps(), 'admin', id),
      'the operator is reset': ({ id }) => resetOperator(deps(), 'admin', id),
      'the password is changed': async ({ id, email }) => {
        const who = { signInId: newId(), operatorId: id, email, role: 'viewer' as const, groups: [] };
        await changePassword(deps(), who, { current: PASSWORD, password: OTHER_PASSWORD, ip: '192.0.2.2' });
      },
      'the operator is deleted and another of the same e-mail joins, with the same password': async each => {
        await deleteOperator(deps(), 'admin', each.id);
        await joined(each.email);
      },
    };
    for (const [what, happens] of Object.entries(CASES)) {
      test(`${what} meanwhile: refused, and no sign-in is there`, async () => {
        const operator = await joined();
        const refused = await attempt(operator.email, () => happens(operator)).catch(error => error);
        expect(refused).toMatchObject({ code: 'unauthenticated' });
        const rows = await store.db.all(
          'SELECT sign_ins.id FROM sign_ins JOIN operators ON operators.id = operator_id WHERE email = $1',
          [operator.email],
        );
        expect(rows).toEqual([]);
      });
    }

    test('a sign-out of nobody does not wait for changes of operators', async () => {
      await store.db.transaction({ exclusive: [OPERATORS_LOCK] }, () => signOut(deps(), 'x'.repeat(43)));
    });
  });
}
