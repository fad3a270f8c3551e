// What a policy remembers of the tools that were asked for: few enough, and never anything but the rules that may decide.

import { heapStats } from 'bun:jsc';
import { expect, test } from 'bun:test';
import { RuleIndex } from '../../../src/core/policy/rule-index.ts';

const MEGABYTE = 1_000_000;

function used(): number {
  Bun.gc(true);
  return heapStats().heapSize;
}

test('however many tools an agent makes up, no more than some are remembered', () => {
  const index = new RuleIndex([
    { tool: 'a*z', action: 'allow' },
    { tool: '*', action: 'deny' },
  ]);
  const ask = (from: number, count: number) => {
    for (let n = from; n < from + count; n++) {
      const tool = `${n % 2 === 0 ? 'a' : 'b'}${'x'.repeat(100)}${n}z`;
      expect(index.candidatesFor(`s__${tool}`, tool)[0]).toBe(n % 2);
      expect(index.candidatesFor(`s__${tool}`, tool)[0]).toBe(n % 2);
    }
  };
  ask(0, 10_000);
  const before = used();
  ask(10_000, 100_000);
  // All of them would take more than ten.
  expect(used() - before).toBeLessThan(5 * MEGABYTE);
});

test('nor are many long lists of rules with conditions', () => {
  const rules = Array.from(
    { length: 2000 },
    () => ({ tool: '*', action: 'allow', when: 'args.yes' }) as const,
  );
  const index = new RuleIndex(rules);
  const before = used();
  for (let n = 0; n < 1000; n++) expect(index.candidatesFor(`s__${n}`, `${n}`).length).toBe(rules.length);
  // All of them would take sixteen.
  expect(used() - before).toBeLessThan(5 * MEGABYTE);
});
