// The tests of single sign-on would notice: each mutant takes one protection away, and what is refused on the
// real source gets through.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { withMutant } from '../support/faults.ts';
import { Visitor } from '../support/identity-provider.ts';
import type { Patch } from '../support/mutant.ts';
import { whenChanged } from '../support/when-changed.ts';
import { newAddress } from './people.ts';
import { openSignOns, type SignOns } from './sign-on.ts';

interface Case {
  patch: Patch;
  /** Whether somebody got in who should not. */
  getsThrough: (door: SignOns) => Promise<boolean>;
}

const entered = async (landed: Promise<{ status: number }>) => (await landed).status === 303;

const CASES: Record<string, Case> = {
  'a sign-on of another browser': {
    patch: {
      file: 'src/store/identities.ts',
      find: 'WHERE hash = $1 AND browser_hash = $2 AND',
      replace: "WHERE hash = $1 AND $2 <> 'x' AND",
    },
    getsThrough: async door => {
      const url = await door.atProvider(await door.begin(), door.person({ groups: ['staff'] }).login);
      return entered(door.back(new Visitor(newAddress()), url));
    },
  },
  'a token with another nonce': {
    patch: {
      file: 'src/guard/people/provider.ts',
      find: '      expectedNonce: nonce,\n',
      replace: "      expectedNonce: nonce && 'another',\n",
    },
    getsThrough: async door => {
      const begun = await door.begin();
      const authorize = begun.authorize.replace(/nonce=[^&]*/, 'nonce=another');
      const { login } = door.person({ groups: ['staff'] });
      return entered(door.back(begun.visitor, await door.atProvider({ ...begun, authorize }, login)));
    },
  },
  'an e-mail that is not verified': {
    patch: {
      file: 'src/guard/people/claims.ts',
      find: "if (said === false || said === 'false')",
      replace: "if (said === 'never')",
    },
    getsThrough: door =>
      entered(door.signOn(door.person({ email_verified: false, groups: ['platform'] }).login)),
  },
  'somebody who was removed': {
    patch: {
      file: 'src/guard/people/operators.ts',
      find: '    await markRemoved(tx, operator, deps.now());\n',
      replace: '',
    },
    getsThrough: async door => {
      const { login, email } = door.person({ groups: ['staff'] });
      await door.signOn(login);
      const { operators } = (await door.service.admin('GET', '/operators')).body;
      await door.service.admin('DELETE', `/operators/${operators[0].id}`);
      return entered(door.signOn(door.person({ email, groups: ['staff'] }).login));
    },
  },
  'somebody without a role': {
    patch: {
      file: 'src/guard/people/single-sign-on.ts',
      find: '  if (role === null) throw noRole();\n  const operator = { id: newId(), email, role,',
      replace: "  const operator = { id: newId(), email, role: role ?? 'viewer',",
    },
    getsThrough: door => entered(door.signOn(door.person({}).login)),
  },
};

describe('single sign-on', () => {
  let real: SignOns;
  beforeAll(async () => {
    real = await openSignOns();
  });
  afterAll(() => real.close());

  for (const [what, { patch, getsThrough }] of Object.entries(CASES)) {
    test(`${what} is refused`, async () => {
      expect(await getsThrough(real)).toBe(false);
    });

    whenChanged(patch)(`a mutant lets in ${what}`, async () => {
      expect(await withMutant([patch], root => onMutant(root, getsThrough))).toBe(true);
    });
  }
});

async function onMutant(root: string, getsThrough: Case['getsThrough']): Promise<boolean> {
  const door = await openSignOns({ root });
  try {
    return await getsThrough(door);
  } finally {
    await door.close();
  }
}
