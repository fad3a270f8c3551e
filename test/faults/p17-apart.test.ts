// P17: keys never see each other. Random operations by several keys whose names, labels, tools and Connected Tools are
// confusable or the same, in turn, each compared with a model of what that key owns. It is a leak if an answer shows
// another key's things, or if an operation of one key changes something for another. Each mutant forgets in one place
// to check the owner.

import { expect, test } from 'bun:test';
import { figures, random, SEED, withMutant } from '../support/faults.ts';
import type { Patch } from '../support/mutant.ts';
import { type Engine, startService } from '../support/service.ts';
import { enginesWhenChanged, sized, whenChanged } from '../support/when-changed.ts';
import { Tenant } from './tenant.ts';

const OPERATIONS = sized(3000, 400, 200);
/** At most: a mutant's run ends with its first leak. */
const MUTANT_OPERATIONS = 3000;
/** The same at a glance; the third has a Cyrillic letter, the last two differ in a character that is not seen. */
const NAMES = ['agent', 'Agent', '\u0430gent', 'agent\u200b', 'agent'];

const MUTANTS: Record<string, Patch | Patch[]> = {
  'lists everybody’s sessions': {
    file: 'src/store/sessions.ts',
    find: 'WHERE key_id = $1 AND revoked_at IS NULL AND expires_at > $2 AND id < $3',
    replace: "WHERE $1 <> '' AND revoked_at IS NULL AND expires_at > $2 AND id < $3",
  },
  'ends anybody’s session': {
    file: 'src/guard/sessions.ts',
    find: 'if (session === null || session.keyId !== principal.keyId) throw',
    replace: 'if (session === null) throw',
  },
  'spends anybody’s approval': [
    {
      file: 'src/guard/check/freeing.ts',
      find: '    about.keyId === principal.keyId &&\n',
      replace: '',
    },
    {
      file: 'src/guard/check/freeing.ts',
      find: 'return keyId === principal.keyId && personId',
      replace: "return keyId !== '' && personId",
    },
  ],
  'continues anybody’s MCP session': {
    file: 'src/guard/mcp-sessions.ts',
    find: 'if (mcpSession === null || mcpSession.keyId !== principal.keyId) return null;',
    replace: 'if (mcpSession === null) return null;',
  },
  'remembers Connected Tools for all': {
    file: 'src/mcp/hub.ts',
    find: 'let known = this.#keys.get(keyId);',
    replace: 'let known = [...this.#keys.values()][0];',
  },
};

for (const engine of await enginesWhenChanged('src/store/**', 'src/guard/**', 'src/mcp/**')) {
  test(`${engine}: no key learns of another’s things, or changes them`, async () => {
    const found = await measure(engine, OPERATIONS);
    expect(found.leaks).toEqual([]);
    expect(found.operations).toBe(OPERATIONS);
  });
}

for (const [what, patch] of Object.entries(MUTANTS)) {
  whenChanged(...[patch].flat())(`a mutant that ${what} is found out`, async () => {
    const found = await withMutant(
      [patch].flat(),
      async root => (await measure('sqlite', MUTANT_OPERATIONS, root)).leaks.length,
    );
    expect(found).toBeGreaterThan(0);
  });
}

async function measure(engine: Engine, operations: number, root?: string) {
  const chance = random(SEED);
  const env = { TOOLGATE_MAX_OPEN_APPROVALS_PER_KEY: '1000000' };
  const service = await startService({ engine, env, ...(root && { root }) });
  const tenants: Tenant[] = [];
  const leaks: string[] = [];
  let done = 0;
  try {
    for (const name of NAMES) tenants.push(await Tenant.create(service, name, chance));
    for (; done < operations && !(root && leaks.length > 0); done++) {
      const tenant = tenants[Math.floor(chance() * tenants.length)] as Tenant;
      leaks.push(...(await tenant.act(tenants.filter(each => each !== tenant))));
    }
  } finally {
    await service.close();
    for (const tenant of tenants) await tenant.close();
  }
  figures(`P17 ${engine}${root ? ' mutant' : ''}`, {
    seed: SEED,
    operations: done,
    violations: leaks.length,
  });
  return { operations: done, leaks };
}
