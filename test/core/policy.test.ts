// What a policy remembers of the tools that were asked for: few enough, and never anything but the first rule.

import { heapStats } from 'bun:jsc';
import { expect, test } from 'bun:test';
import { RuleIndex } from '../../src/core/rule-index.ts';

const MEGABYTE = 1_000_000;

test('however many tools an agent makes up, no more than some are remembered', () => {
  const index = new RuleIndex([
    { tool: 'a*z', action: 'allow' },
    { tool: '*', action: 'deny' },
  ]);
  const used = () => {
    Bun.gc(true);
    return heapStats().heapSize;
  };
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
