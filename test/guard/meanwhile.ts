// What happens between a look at the store and the transaction that relies on it.

import type { Deps } from '../../src/guard/deps.ts';

/** The same Deps, but their first transaction begins only once `work` is done. */
export function meanwhile(deps: Deps, work: () => Promise<unknown>): Deps {
  let first = true;
  const transaction: Deps['db']['transaction'] = async (locks, run) => {
    if (first) {
      first = false;
      await work();
    }
    return deps.db.transaction(locks, run);
  };
  const db = new Proxy(deps.db, {
    get: (target, name) => {
      if (name === 'transaction') return transaction;
      const value = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  return { ...deps, db };
}
