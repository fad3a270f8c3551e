// Look-ups of credentials that nobody has used lately: shared by all who come with one, and bounded, since strangers
// can ask for as many as they like. What is remembered of them is bounded too, and one spelling of a header is kept.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import type { GuardError } from '../../src/core/errors.ts';
import { authenticate, PrincipalMemory } from '../../src/guard/credentials.ts';
import type { Deps } from '../../src/guard/deps.ts';
import { mintToken } from '../../src/guard/secrets.ts';
import { identify } from '../../src/http/serving/auth.ts';
import type { Services } from '../../src/http/serving/services.ts';
import { insertKey } from '../../src/store/keys.ts';
import { insertSession } from '../../src/store/sessions.ts';
import { keyRecord, openStore, sessionRecord, type TestStore } from '../store/stores.ts';
import { withMutant } from '../support/faults.ts';
import type { Patch } from '../support/mutant.ts';
import { refusal } from '../support/refusal.ts';
import { engines } from '../support/service.ts';
import { whenChanged } from '../support/when-changed.ts';
import { depsAt } from './deps.ts';

const AT_ONCE = 1000;
const STRANGERS = 1100;

const UNBOUNDED: Patch = {
  file: 'src/guard/credentials.ts',
  find: 'this.#learning.size >= MAX_LEARNING',
  replace: 'false',
};

const ANY_SCOPES: Patch = {
  file: 'src/guard/credentials.ts',
  find: ' && this.#scopes <= REMEMBERED_SCOPES',
  replace: '',
};

test('what is no token is told from a token that is unknown, and the store is not asked about it', async () => {
  // Whoever asks a store that is closed is refused otherwise.
  const { db, close } = await openStore('sqlite');
  await close();
  const closed = depsAt(db);
  for (const token of ['', 'sesame', mintToken('key').token.slice(0, -1)]) {
    for (const asked of [authenticate(closed, token), new PrincipalMemory(closed).learn(token)]) {
      expect(await refusal(asked)).toMatchObject({
        code: 'unauthenticated',
        message: expect.stringContaining('Was it copied whole?'),
      });
    }
  }
});

for (const engine of await engines()) {
  describe(engine, () => {
    let store: TestStore;
    let deps: Deps;
    beforeAll(async () => {
      store = await openStore(engine);
      deps = depsAt(store.db);
    });
    afterAll(() => store.close());

    /**
     * What came of so many strangers who come before any of them is answered. A slow store may have no answer for
     * all who are looked up.
     */
    async function told(Memory: typeof PrincipalMemory): Promise<{ lookedUp: number; refused: number }> {
      const memory = new Memory(deps);
      const asked = Array.from({ length: STRANGERS }, () => {
        const { token } = mintToken('key');
        return memory.learn(token);
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

    whenChanged(UNBOUNDED)('a mutant that lets them all wait is found out', async () => {
      await withMutant([UNBOUNDED], async root => {
        const broken = await import(join(root, 'src/guard/credentials.ts'));
        expect(await told(broken.PrincipalMemory)).toEqual({ lookedUp: STRANGERS, refused: 0 });
      });
    });

    test('all who come with one credential share its look-up', async () => {
      const memory = new PrincipalMemory(deps);
      const { token } = mintToken('session');
      const [first, ...others] = Array.from({ length: STRANGERS }, () => memory.learn(token));
      expect(others.every(other => other === first)).toBe(true);
      expect(await first?.catch((error: GuardError) => error.code)).toBe('unauthenticated');
    });

    /** A session of a key that lives, with so many names in its scope. */
    async function minted(scope: number): Promise<string> {
      const key = keyRecord();
      await insertKey(store.db, key, `hash of ${key.id}`);
      const { token, hash } = mintToken('session');
      const scopeTools = Array.from({ length: scope }, (_, index) => `x__${index}`);
      await insertSession(store.db, sessionRecord({ keyId: key.id, scopeTools }), hash);
      return token;
    }

    test('every spelling of a header is the same credential, and one is remembered', async () => {
      const principals = new PrincipalMemory(deps);
      const services = { principals, deps, adminTokenHash: '' } as Services;
      const token = await minted(1);
      const ask = async (header: string) =>
        identify(services, new Request('http://localhost/v1/check', { headers: { Authorization: header } }), {
          access: 'agent',
        });
      const first = await ask(`Bearer ${token}`);
      for (let blanks = 1; blanks <= 3000; blanks++) {
        const scheme = blanks % 2 === 0 ? 'bearer' : 'BEARER';
        expect(await ask(`${scheme}${' '.repeat(blanks)}${token}`)).toEqual(first);
      }
      expect(principals.size).toBe(1);
      for (const other of ['', 'x', token.slice(0, -1), `${token}0`, `tg_key_${'a'.repeat(49)}`]) {
        expect(await refusal(principals.learn(other))).toMatchObject({ code: 'unauthenticated' });
      }
      expect(principals.size).toBe(1);
    });

    test('so many names of scopes are remembered at most; the oldest sessions go first', async () => {
      const tokens: string[] = [];
      for (let n = 0; n < 12; n++) tokens.push(await minted(10_000));
      const remembered = async (memory: PrincipalMemory) => {
        for (const token of tokens) await memory.learn(token);
        return tokens.map(token => memory.recall(`Bearer ${token}`) !== undefined);
      };
      const memory = new PrincipalMemory(deps);
      expect(await remembered(memory)).toEqual([false, false, ...Array(10).fill(true)]);
      // What is forgotten leaves room again.
      for (const token of tokens.slice(2)) memory.forget(memory.recall(`Bearer ${token}`)!);
      expect(memory.size).toBe(0);
      expect(await remembered(memory)).toEqual([false, false, ...Array(10).fill(true)]);
      await withMutant([ANY_SCOPES], async root => {
        const broken = await import(join(root, 'src/guard/credentials.ts'));
        expect(await remembered(new broken.PrincipalMemory(deps))).not.toContain(false);
      });
    });
  });
}
