// The text that is sealed of an entry is its canonical JSON, by the quick way as by the general one.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { canonicalJson } from '../../src/core/canonical.ts';
import { entryText, shownEntry } from '../../src/core/entry.ts';
import type { Json } from '../../src/core/json.ts';
import { auditEntry } from '../store/stores.ts';

test('the quick way and the general way write the same', () => {
  const text = fc.string({ unit: 'binary' });
  const values = fc.record({
    reason: text,
    toolName: text,
    serverName: text,
    sessionId: fc.option(text),
    ruleIndex: fc.option(fc.nat()),
    latencyMs: fc.nat(),
  });
  fc.assert(
    fc.property(values, more => {
      const shown = shownEntry(auditEntry(more));
      return entryText(shown) === canonicalJson(shown as Json);
    }),
  );
});

test('a field more, a field less or a field in disguise is another text', () => {
  const shown = shownEntry(auditEntry());
  const { reason, ...less } = shown;
  const disguised = JSON.parse(JSON.stringify({ ...less, x: reason }).replace('"x"', '"__proto__"'));
  const texts = [shown, less, { ...shown, more: 1 }, disguised].map(entryText);
  expect(new Set(texts).size).toBe(4);
  expect(texts[3]).toContain('__proto__');
});
