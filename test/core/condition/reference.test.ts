// Random expressions and arguments: where both we and the reference implementation accept an expression, they come to
// the same. TOOLGATE_FUZZ_RUNS and TOOLGATE_FUZZ_SEED ask for more.

import { expect, test } from 'bun:test';
import { RE2JS } from '@bufbuild/re2';
import fc from 'fast-check';
import { ConditionFault } from '../../../src/core/condition/fault.ts';
import { compilePattern } from '../../../src/core/condition/pattern-match.ts';
import { Steps } from '../../../src/core/condition/steps.ts';
import { DYN, mapOf, STRING } from '../../../src/core/condition/types.ts';
import { parseJson } from '../../../src/core/wire/json.ts';
import { needExtra } from '../../support/need.ts';
import { sized } from '../../support/when-changed.ts';
import { evaluate, shown } from './evaluate.ts';
import { argumentTexts, expressions } from './expressions.ts';
import { openReference } from './reference.ts';

const RUNS = Number(process.env['TOOLGATE_FUZZ_RUNS'] ?? sized(1_500, 1_500, 300));
const SEED = Number(process.env['TOOLGATE_FUZZ_SEED'] ?? 14);
const DECLARATIONS = { args: mapOf(STRING, DYN) };

/**
 * The reference has `has()` false for a null, and false in place of an error for a field of what is not a map. It
 * cannot be asked about those. Its other flaws concern texts and conversions that expressions.ts does not make.
 */
function isAskable(source: string, args: string): boolean {
  return !source.includes('has(') || !(args.includes('null') || /"map":[^{]/.test(args));
}

function ours(source: string, args: string): string | null {
  try {
    return shown(evaluate(source, DECLARATIONS, { args: parseJson(args) }));
  } catch (error) {
    if (error instanceof ConditionFault) return null;
    throw error;
  }
}

test.skipIf(!needExtra('scripts'))('what we accept is what the reference says', async () => {
  const reference = await openReference();
  const { bool, int, double, string, list, map } = expressions;
  // A literal alone says nothing; long ones mostly fail or are refused for some part of them.
  const worth = (source: string) => source.length > 8 && source.length < 200;
  const cases = fc.tuple(fc.oneof(bool, int, double, string, list, map).filter(worth), argumentTexts);
  const asked = { accepted: 0, failed: 0 };
  fc.assert(
    fc.property(cases, ([source, args]) => {
      const mine = ours(source, args);
      if (mine === null || !isAskable(source, args)) return;
      asked.accepted++;
      if (mine === 'failure') asked.failed++;
      expect(mine).toBe(shown(reference(source, parseJson(args))));
    }),
    { numRuns: RUNS, seed: SEED },
  );
  // Otherwise the comparison says little.
  expect(asked.accepted).toBeGreaterThan(RUNS / 3);
  expect(asked.accepted - asked.failed).toBeGreaterThan(RUNS / 4);
});

test('patterns match as the package matches that compiled them', () => {
  const atom = fc.constantFrom(
    'a',
    'b',
    '.',
    '[ab]',
    '[^a]',
    '\\b',
    '\\B',
    '^',
    '$',
    '\\d',
    'é',
    '(?i:A)',
    '\\n',
    '(?m:^)',
    '(?s:.)',
  );
  const pattern = fc.letrec<{ pattern: string }>(tie => ({
    pattern: fc.oneof(
      { maxDepth: 3 },
      atom,
      fc.tuple(tie('pattern'), tie('pattern')).map(([a, b]) => a + b),
      fc.tuple(tie('pattern'), tie('pattern')).map(([a, b]) => `(${a}|${b})`),
      fc
        .tuple(tie('pattern'), fc.constantFrom('*', '+', '?', '{2}', '{1,3}', '*?'))
        .map(([a, b]) => `(?:${a})${b}`),
    ),
  })).pattern;
  const text = fc.string({ unit: fc.constantFrom('a', 'b', 'A', 'é', '1', '\n', ' ', '😀'), maxLength: 12 });
  fc.assert(
    fc.property(pattern, fc.array(text, { minLength: 1, maxLength: 5 }), (source, texts) => {
      const matcher = compilePattern(source, 0);
      const theirs = RE2JS.compile(source);
      // Twice: the second time everything is remembered.
      for (const each of [...texts, ...texts]) expect(matcher(each, new Steps())).toBe(theirs.test(each));
    }),
    { numRuns: RUNS, seed: SEED },
  );
});
