// The findings of poisoned definitions. Where they come from is described in test/vectors/definitions.

import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { type FindingKind, HOLDING } from '../../../src/core/definitions/finding.ts';
import { findingsOf } from '../../../src/core/definitions/findings.ts';
import { NO_NEIGHBOURS, neighboursOf } from '../../../src/core/definitions/neighbours.ts';
import type { JsonObject } from '../../../src/core/wire/json.ts';

const FOLDER = join(import.meta.dir, '../../vectors/definitions');

interface Poisoned {
  after: string;
  about: string;
  kinds: FindingKind[];
  beside?: Record<string, string[]>;
  /** How many spaces stand for PADDING. */
  pad?: number;
  definition: JsonObject;
}

const POISONED: Poisoned[] = parse(readFileSync(join(FOLDER, 'poisoned.yaml'), 'utf8'));

for (const { after, about, kinds, beside = {}, pad = 0, definition } of POISONED)
  test(`after ${after}: ${about}`, () => {
    const servers = Object.entries(beside).map(([serverName, toolNames]) => ({ serverName, toolNames }));
    const text = JSON.stringify(definition).replace('PADDING', ' '.repeat(pad));
    const findings = findingsOf(JSON.parse(text), neighboursOf(servers));
    const found = new Set(findings.map(each => each.kind));
    for (const kind of kinds) expect(found).toContain(kind);
    // What holds a tool is found where it is, and nowhere else.
    for (const kind of HOLDING) expect([kind, found.has(kind)]).toEqual([kind, kinds.includes(kind)]);
    for (const { where, text: told } of findings) {
      expect(at(JSON.parse(text), where)).toBeDefined();
      expect(told).toMatch(/^[\x20-\x7e\p{L}\p{P}\p{S}]*\.$/u);
    }
  });

test('without servers beside it, no definition shadows', () => {
  for (const { definition } of POISONED)
    expect(findingsOf(definition, NO_NEIGHBOURS).some(each => each.kind === 'shadows')).toBe(false);
});

function at(definition: JsonObject, pointer: string): unknown {
  let value: unknown = definition;
  for (const step of pointer.split('/').slice(1))
    value = (value as Record<string, unknown>)?.[step.replaceAll('~1', '/').replaceAll('~0', '~')];
  return value;
}
