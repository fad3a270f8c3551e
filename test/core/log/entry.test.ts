// The text that is sealed of an entry is its canonical JSON, by the quick way as by the general one.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { DECISIONS } from '../../../src/core/decision/decide.ts';
import { recordedReason } from '../../../src/core/decision/recorded-reason.ts';
import { entryLeaf, entryText, sealedEntry, shownEntry } from '../../../src/core/log/entry.ts';
import { leafHash } from '../../../src/core/log/merkle.ts';
import { canonicalJson } from '../../../src/core/wire/canonical.ts';
import type { Json } from '../../../src/core/wire/json.ts';
import { auditEntry } from '../../store/stores.ts';

test('the quick way and the general way write the same', () => {
  const text = fc.string({ unit: 'binary' });
  const values = fc.record({
    reason: text,
    toolName: text,
    serverName: text,
    sessionId: fc.option(text),
    ruleIndex: fc.option(fc.nat()),
    latencyMs: fc.nat(),
    personId: fc.option(text),
    shadow: fc.option(
      fc.record({
        ruleIndex: fc.option(fc.nat()),
        policyVersion: fc.nat(),
        policyId: text,
        decision: fc.constantFrom(...DECISIONS),
      }),
    ),
  });
  fc.assert(
    fc.property(values, more => {
      const shown = shownEntry(auditEntry(more));
      return entryText(shown) === canonicalJson(shown as object as Json);
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

test('an entry without a shadow has the text that it had before there were shadows', () => {
  expect(entryText(shownEntry(auditEntry({ shadow: null })))).not.toContain('shadow');
});

test('the trace is shown and not sealed, and no other field is left out', () => {
  const entry = auditEntry();
  const traced = shownEntry({ ...entry, traceId: 'a'.repeat(32) });
  expect(traced.traceId).toBe('a'.repeat(32));
  expect(shownEntry(entry)).not.toHaveProperty('traceId');
  expect(entryLeaf(traced)).toEqual(entryLeaf(shownEntry(entry)));
  expect(entryLeaf({ ...traced, more: 1 })).not.toEqual(entryLeaf(shownEntry(entry)));
});

test('a shadow with a field more or less, or one that is none, is another text', () => {
  const shadow = { policyId: 'p', policyVersion: 1, decision: 'deny', ruleIndex: null } as const;
  const shown = shownEntry(auditEntry({ shadow }));
  const { ruleIndex: _, ...less } = shadow;
  const shadows = [shadow, less, { ...shadow, more: 1 }, null, 'deny', [1]];
  const texts = shadows.map(each => entryText({ ...shown, shadow: each }));
  expect(new Set(texts).size).toBe(shadows.length);
  for (const [index, text] of texts.entries()) expect(JSON.parse(text).shadow).toEqual(shadows[index]);
});

const REASON = {
  code: 'denies',
  nearest: { not: { why: 'hours' }, rule: 0 },
  policy: 'prod',
  rule: 2,
} as const;
const SENTENCE =
  'Rule 2 of policy "prod" denies github__get_issue. Rule 0 did not apply: it is outside its hours.';

test('a reason is shown as a sentence with its code, and sealed as it is stored, whoever seals it', () => {
  const row = auditEntry({ reason: recordedReason(REASON) });
  const shown = shownEntry(row);
  expect(shown).toMatchObject({ reason: SENTENCE, reasonCode: REASON });
  // A replica of an earlier version takes what is stored for a sentence.
  const { personId: _, shadow: __, traceId: ___, runId: ____, marks: _____, ...rest } = row;
  const earlier = leafHash(canonicalJson({ ...rest, at: new Date(row.at).toISOString() }));
  expect(entryLeaf(sealedEntry(row))).toEqual(earlier);
  expect(entryLeaf(shown)).toEqual(earlier);
  // What was exported and read again may have its keys in another order.
  const { reasonCode, ...others } = JSON.parse(JSON.stringify(shown));
  const turned = Object.fromEntries(Object.entries(reasonCode).reverse());
  expect(entryLeaf({ reasonCode: turned, ...others, traceId: 'a' })).toEqual(earlier);
});

test('the marks of a run are sealed with the reason, and shown beside it; the run is not sealed', () => {
  const marks = ['private', 'untrusted'];
  const row = auditEntry({ reason: recordedReason(REASON, marks), runId: 'r', marks: marks.join(' ') });
  const shown = shownEntry(row);
  expect(shown).toMatchObject({ reason: SENTENCE, reasonCode: { ...REASON, marks }, marks, runId: 'r' });
  const sealed = entryLeaf(sealedEntry(row));
  expect(sealed).not.toEqual(entryLeaf(sealedEntry(auditEntry({ reason: recordedReason(REASON) }))));
  expect(entryLeaf(shown)).toEqual(sealed);
  const { runId: _, ...without } = shown;
  expect(entryLeaf(without)).toEqual(sealed);
  for (const other of [{ marks: ['private'] }, { marks: undefined }, { marks: ['untrusted', 'private'] }])
    expect(entryLeaf({ ...shown, ...other })).not.toEqual(sealed);
});

test('another sentence, another code, or one without the other has another hash', () => {
  const row = auditEntry({ reason: recordedReason(REASON) });
  const shown = shownEntry(row);
  const { reasonCode, ...bare } = shown;
  const others = [
    { ...shown, reason: SENTENCE.replace('denies', 'allows') },
    { ...shown, reasonCode: { ...reasonCode, rule: 3 } },
    { ...shown, reason: SENTENCE.replace('Rule 2', 'Rule 3'), reasonCode: { ...reasonCode, rule: 3 } },
    { ...shown, reasonCode: { ...reasonCode, more: 1 } },
    { ...shown, reasonCode: null },
    bare,
  ];
  for (const other of others) expect(entryLeaf(other)).not.toEqual(entryLeaf(shown));
});

test('whatever an enemy writes into a shown entry has another hash, and stops no verifier', () => {
  const row = auditEntry({ reason: recordedReason(REASON) });
  const shown = JSON.stringify(shownEntry(row));
  const sealed = entryLeaf(sealedEntry(row));
  const inCode = [
    ...['__proto__', 'hasOwnProperty', 'valueOf', 'isPrototypeOf', 'constructor', 'toString'].map(
      key => `"${key}":{}`,
    ),
    '"more":1',
  ];
  const edited = [
    ...inCode.map(more => shown.replace('"reasonCode":{', `"reasonCode":{${more},`)),
    ...inCode.map(more => shown.replace('"nearest":{', `"nearest":{${more},`)),
    ...inCode.map(more => shown.replace(/^{/, `{${more},`)),
    ...['null', '["github"]', '{"toString":1,"valueOf":1}'].map(name =>
      shown.replace('"serverName":"github"', `"serverName":${name}`),
    ),
    shown.replace('"serverName":"github",', ''),
    shown.replace('"why":"hours"', '"why":"valueOf"'),
  ];
  for (const line of edited) {
    expect(line).not.toBe(shown);
    expect([line, entryLeaf(JSON.parse(line))]).not.toEqual([line, sealed]);
  }
  expect(entryLeaf(JSON.parse(shown))).toEqual(sealed);
});

test('an entry of an earlier version is shown and sealed as its sentence, whatever it looks like', () => {
  const hostile = recordedReason(REASON).slice(1);
  for (const reason of [SENTENCE, hostile]) {
    const shown = shownEntry(auditEntry({ reason }));
    expect(shown.reason).toBe(reason);
    expect(shown).not.toHaveProperty('reasonCode');
    const posing = { ...shown, reason: SENTENCE, reasonCode: REASON };
    expect(entryLeaf(posing)).not.toEqual(entryLeaf(shown));
  }
});
