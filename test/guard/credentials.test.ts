// Look-ups of credentials that nobody has used lately: shared by all who come with one, and bounded, since strangers
// can ask for as many as they like.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import type { GuardError } from '../../src/core/errors.ts';
import { PrincipalMemory } from '../../src/guard/credentials.ts';
import type { Guard } from '../../src/guard/guard.ts';
import { mintToken } from '../../src/guard/secrets.ts';
import { openStore, type TestStore } from '../store/stores.ts';
import { withMutant } from '../support/faults.ts';
import type { Patch } from '../support/mutant.ts';
import { engines } from '../support/service.ts';
import { guardAt } from './guards.ts';

const AT_ONCE = 1000;
const STRANGERS = 1100;

const UNBOUNDED: Patch = {
  file: 'src/guard/credentials.ts',
  find: 'this.#learning.size >= MAX_LEARNING',
  replace: 'false',
};

for (const engine of await engines()) {
  describe(engine, () => {
    let store: TestStore;
    let guard: Guard;
    beforeAll(async () => {
      store = await openStore(engine);
      guard = guardAt(store.db);
    });
    afterAll(() => store.close());

    /**
     * What came of so many strangers who come before any of them is answered. A slow store may have no answer for
     * all who are looked up.
     */
    async function told(Memory: typeof PrincipalMemory): Promise<{ lookedUp: number; refused: number }> {
      const memory = new Memory(guard);
      const asked = Array.from({ length: STRANGERS }, () => {
        const { token } = mintToken('key');
        return memory.learn(`Bearer ${token}`, token);
      });
      const answers = await Promise.allSettled(asked);
      const codes = answers.map(answer => ((answer as PromiseRejectedResult).reason as GuardError).code);
      const refused = codes.filter(code => code === 'overloaded').length;
      expect(codes).toContain('unauthenticated');
      return { lookedUp: STRANGERS - refused, refused };
    }

    test('so many are looked up at once, the others are told to come again', async () => {
      expect(await told(PrincipalMemory)).toEqual({
        lookedUp: AT_ONCE,
        refused: STRANGERS - AT_ONCE,
      });
    });

    test('a mutant that lets them all wait is found out', async () => {
      await withMutant([UNBOUNDED], async root => {
        const broken = await import(join(root, 'src/guard/credentials.ts'));
        expect(await told(broken.PrincipalMemory)).toEqual({ lookedUp: STRANGERS, refused: 0 });
      });
    });

    test('all who come with one credential share its look-up', async () => {
      const memory = new PrincipalMemory(guard);
      const { token } = mintToken('session');
      const [first, ...others] = Array.from({ length: STRANGERS }, () => memory.learn(token, token));
      expect(others.every(other => other === first)).toBe(true);
      expect(await first?.catch((error: GuardError) => error.code)).toBe('unauthenticated');
    });
  });
}
