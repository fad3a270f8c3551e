// P14: the decider equals its specification: the fast engine and a naive oracle agree on random policies and
// calls, a million pairs of rule and call and more. Half of the policies have conditions. Each mutant breaks one
// detail of matching, of conditions or of the order.

import { expect, test } from 'bun:test';
import { type Decider, deciderIn } from '../core/decider.ts';
import { compare } from '../core/oracle.ts';
import { figures, SEED, withMutant } from '../support/faults.ts';
import type { Patch } from '../support/mutant.ts';
import { sized, whenChanged } from '../support/when-changed.ts';

const POLICIES = sized(6000, 1200, 500);
const CALLS = 40;
/** Policies that a mutant is judged by at a time, and how often at most before it counts as not found. */
const BATCH = 50;
const BATCHES = 200;

test('the decider agrees with the naive one on random policies', async () => {
  const { decisions, pairs, mismatches } = compare(await deciderIn(), SEED, POLICIES, CALLS);
  figures('P14', { seed: SEED, operations: decisions, pairs, violations: mismatches.length });
  expect(mismatches).toEqual([]);
  expect(pairs).toBeGreaterThan(POLICIES * CALLS);
});

const MUTANTS: Record<string, Patch | Patch[]> = {
  'forgets the bare name': {
    file: 'src/core/decision/consider.ts',
    find: 'policy.index.candidatesFor(name, call.toolName)',
    replace: 'policy.index.candidatesFor(name, name)',
  },
  'forgets the full name': {
    file: 'src/core/decision/consider.ts',
    find: 'policy.index.candidatesFor(name, call.toolName)',
    replace: 'policy.index.candidatesFor(call.toolName, call.toolName)',
  },
  'compares a pattern that names a server with the bare name': {
    file: 'src/core/policy/rule-index.ts',
    find: '(namesServer(tool) ? this.#ofServers : this.#others).add',
    replace: 'this.#others.add',
  },
  'lets the last exact rule win': {
    file: 'src/core/policy/rule-index.ts',
    find: 'else list.push(index);',
    replace: 'else list.unshift(index);',
  },
  'takes the longest prefix instead of the first rule': {
    file: 'src/core/policy/rule-index.ts',
    find: 'if (index !== undefined && index < best) best = index;',
    replace: 'if (index !== undefined) best = index;',
  },
  'prefers looked-up rules to scanned ones': {
    file: 'src/core/policy/rule-index.ts',
    find: 'if (index >= best) break;',
    replace: 'if (best !== NONE) break;',
  },
  'looks at rules with conditions in the order in which they are found': {
    file: 'src/core/policy/rule-index.ts',
    find: 'return [...found].sort((a, b) => a - b);',
    replace: 'return [...found];',
  },
  'looks at rules with conditions only where no other rule matches': {
    file: 'src/core/policy/rule-index.ts',
    find: 'if (last !== NONE) found.push(last);',
    replace: 'if (last !== NONE) return [last];',
  },
  'takes a rule with a condition for one that always applies': {
    file: 'src/core/policy/rule-index.ts',
    find: 'canBePassedOver(rule, limits) ? this.#sometimes : this.#always',
    replace: 'index < 0 ? this.#sometimes : this.#always',
  },
  'applies a rule whose condition is false': {
    file: 'src/core/decision/consider.ts',
    find: 'if (result === true) continue;',
    replace: "if (typeof result === 'boolean') continue;",
  },
  'looks at the first condition only': {
    file: 'src/core/decision/consider.ts',
    find: 'index < conditions.length; index++',
    replace: 'index < Math.min(1, conditions.length); index++',
  },
  'remembers a tool by its bare name': {
    file: 'src/core/policy/rule-index.ts',
    find: 'this.#remembered(fullName,',
    replace: 'this.#remembered(bareName,',
  },
  'lets head and tail share characters': {
    file: 'src/core/text/pattern.ts',
    find: 'if (at > end || !name.startsWith',
    replace: 'if (!name.startsWith',
  },
  'lets a piece reach into the tail': {
    file: 'src/core/text/pattern.ts',
    find: 'if (found < 0 || found + piece.length > end) return false;',
    replace: 'if (found < 0) return false;',
  },
  'looks for every piece from the start': {
    file: 'src/core/text/pattern.ts',
    find: 'name.indexOf(piece, at)',
    replace: 'name.indexOf(piece, pattern.head.length)',
  },
  'allows what no rule matches': {
    file: 'src/core/decision/decide.ts',
    find: "return decided('deny', { code: 'no_rule',",
    replace: "return decided('allow', { code: 'no_rule',",
  },
};

for (const [what, patch] of Object.entries(MUTANTS)) {
  whenChanged(...[patch].flat())(`the comparison goes red on a decider that ${what}`, async () => {
    const found = await withMutant([patch].flat(), async root => searchIn(await deciderIn(root)));
    figures(`P14 mutant that ${what}`, { seed: SEED, ...found });
    expect(found.violations).toBeGreaterThan(0);
  });
}

function searchIn(broken: Decider): { operations: number; violations: number } {
  const found = { operations: 0, violations: 0 };
  for (let batch = 0; batch < BATCHES && found.violations === 0; batch++) {
    const { decisions, mismatches } = compare(broken, SEED + batch, BATCH, CALLS);
    found.operations += decisions;
    found.violations += mismatches.length;
  }
  return found;
}
