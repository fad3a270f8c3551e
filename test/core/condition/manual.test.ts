// The words about the language, which the policy editor offers, against the language itself.

import { expect, test } from 'bun:test';
import { FUNCTIONS } from '../../../src/core/condition/functions.ts';
import { MANUAL } from '../../../src/core/condition/manual.ts';

/** Those that the compiler knows besides its functions. */
const SPECIAL = ['has', 'matches', 'all', 'exists', 'exists_one', 'filter', 'map'];

test('every function and macro is described once', () => {
  expect(MANUAL.map(({ name }) => name).sort()).toEqual([...FUNCTIONS.keys(), ...SPECIAL].sort());
});

test('each is described as it is called', () => {
  for (const { name, form, signature } of MANUAL) {
    const forms = FUNCTIONS.get(name)?.forms;
    if (forms === undefined) continue;
    expect([name, form]).toEqual([
      name,
      forms.length === 2 ? 'both' : forms[0] === 'method' ? 'method' : 'function',
    ]);
    expect(signature).toContain(`${name}(`);
  }
});
