// Two replicas at their first start: while one shows the first key, the other waits, and then shows none.

import { expect, test } from 'bun:test';
import { authenticate } from '../../src/guard/credentials.ts';
import { setUpStore, showFirstKey } from '../../src/guard/first-start.ts';
import { openStore } from '../store/stores.ts';
import { engines } from '../support/service.ts';
import { depsAt } from './deps.ts';

/** How long the first takes to show it; one that does not wait for it is done long before. */
const SHOWING_MS = 2000;

test.skipIf(!(await engines()).includes('postgres'))('of two replicas one shows the key', async () => {
  const store = await openStore('postgres');
  const other = await store.again();
  const shown: (string | null)[] = [];
  const elsewhere = Promise.withResolvers<void>();
  await showFirstKey(depsAt(store.db), async key => {
    showFirstKey(depsAt(other), async late => {
      shown.push(late);
    }).then(elsewhere.resolve, elsewhere.reject);
    await Promise.race([elsewhere.promise, Bun.sleep(SHOWING_MS)]);
    shown.push(key);
  });
  await elsewhere.promise;
  expect(shown).toEqual([expect.stringMatching(/^tg_key_/), null]);
  expect((await authenticate(depsAt(store.db), shown[0] ?? '')).kind).toBe('key');
  await other.close();
  await store.close();
});

/** A link for the first operator ends the one before, so the one that is shown last has to be the one that was made last. */
test.skipIf(!(await engines()).includes('postgres'))(
  'replicas take turns to show their links too, when the key was shown before',
  async () => {
    const store = await openStore('postgres');
    const other = await store.again();
    await setUpStore(depsAt(store.db));
    const shown: string[] = [];
    const elsewhere = Promise.withResolvers<void>();
    await showFirstKey(depsAt(store.db), async () => {
      showFirstKey(depsAt(other), async () => {
        shown.push('later');
      }).then(elsewhere.resolve, elsewhere.reject);
      await Promise.race([elsewhere.promise, Bun.sleep(SHOWING_MS)]);
      shown.push('earlier');
    });
    await elsewhere.promise;
    expect(shown).toEqual(['earlier', 'later']);
    await other.close();
    await store.close();
  },
);
