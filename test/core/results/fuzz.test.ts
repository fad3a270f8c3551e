// Drawn results with finds at drawn places: nothing that was found is in what is passed on, and everything else is as it was. The
// model knows where the finds were put, and nothing of how they are found.

import { expect, test } from 'bun:test';
import type { ResultEntry } from '../../../src/core/policy/result-fields.ts';
import { atOnce, guardResult, type ResultGuard } from '../../../src/core/results/results.ts';
import type { Json, JsonObject } from '../../../src/core/wire/json.ts';
import { sized } from '../../support/when-changed.ts';
import { made, marked, type Random, seeded, VECTORS } from '../detectors/made.ts';
import { guardOf } from './guarded.ts';

const random = seeded(97);
const pick = <T>(all: readonly T[]): T => all[random(all.length)] as T;
const hex = () => made('{H12}', random);

/** Of formats with a checksum, so that none of them passes for a placeholder by chance. */
const CHECKED = [
  'GitHub token',
  'npm token',
  'Toolgate token or key',
  'Grafana service account token',
  'age secret key',
];
const SECRETS = VECTORS.flatMap(({ name, found }) => (CHECKED.includes(name) ? found : []));

/** Something to be found, and the name under which it is. */
const FINDS: readonly [string, (random: Random) => string][] = [
  ['email', () => `u${hex()}@example.org`],
  ['phone', () => `+4915${made('{D9}', random)}`],
  ['ip', () => `198.51.100.${random(256)}`],
  ['ip', () => `2001:db8::${1 + random(9998)}`],
  ['iban', () => pick(['DE89370400440532013000', 'GB29 NWBK 6016 1331 9268 19'])],
  ['card', () => pick(['4111 1111 1111 1111', '5555555555554444'])],
  ['mark', () => `CNRY-${hex()}`],
  ['secrets', random => marked(made(pick(SECRETS), random)).text],
];
const NUMBER = '5555555555554444';
const PLAIN = ['', 'a', 'some words', '\n', 'ä€😀', '"quoted"', '{"a":1}', 'n12', 'https://example.org/a'];

/** What was put into a result, so that it can be searched for in what comes out. */
interface Put {
  finds: string[];
  /** Whether a find stands where it cannot be hidden. */
  fixed: boolean;
}

/** A text, and what is left of it. */
function drawText(put: Put): [string, string] {
  let before = '';
  let after = '';
  for (let part = 0; part < random(4); part++) {
    const plain = ` ${pick(PLAIN)} `;
    before += plain;
    after += plain;
    if (random(2) === 0) continue;
    const [name, make] = pick(FINDS);
    const find = make(random);
    put.finds.push(find);
    before += find;
    after += `[hidden: ${name}]`;
  }
  // What stands before and behind a find is no part of it.
  return [`${before} .`, `${after} .`];
}

function drawValue(put: Put, depth: number): [Json, Json] {
  const kind = random(depth > 0 ? 8 : 4);
  if (kind < 3) return drawText(put);
  if (kind === 3) {
    if (random(30) > 0)
      return pick<[Json, Json]>([
        [1, 1],
        [true, true],
        [null, null],
        [-1.5, -1.5],
      ]);
    put.finds.push(NUMBER);
    put.fixed = true;
    return [Number(NUMBER), Number(NUMBER)];
  }
  if (kind < 6) {
    const all = Array.from({ length: random(4) }, () => drawValue(put, depth - 1));
    return [all.map(each => each[0]), all.map(each => each[1])];
  }
  return drawObject(put, depth - 1);
}

function drawObject(put: Put, depth: number): [JsonObject, JsonObject] {
  const before: [string, Json][] = [];
  const after: [string, Json][] = [];
  for (let field = 0; field < random(5); field++) {
    let name = pick(['a', 'text', 'data', 'blob', 'type', 'uri', '__proto__', 'x y']);
    if (before.some(([known]) => known === name)) continue;
    if (random(60) === 0) {
      name = `CNRY-${hex()}`;
      put.finds.push(name);
      put.fixed = true;
    }
    const [one, other] = drawValue(put, depth);
    before.push([name, one]);
    after.push([name, other]);
  }
  return [Object.fromEntries(before), Object.fromEntries(after)];
}

function drawBlock(put: Put): [JsonObject, JsonObject] {
  const [before, after] = drawText(put);
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  return pick<() => [JsonObject, JsonObject]>([
    () => [
      { type: 'text', text: before },
      { type: 'text', text: after },
    ],
    () => [
      { type: 'resource', resource: { uri: 'a:b', text: before } },
      { type: 'resource', resource: { uri: 'a:b', text: after } },
    ],
    () => [
      { type: 'resource', resource: { uri: 'a:b', blob: base64(before) } },
      { type: 'resource', resource: { uri: 'a:b', blob: base64(after) } },
    ],
    () => [
      { type: 'resource_link', uri: before, name: 'n' },
      { type: 'resource_link', uri: after, name: 'n' },
    ],
    () => [
      { type: 'unknown', more: [before] },
      { type: 'unknown', more: [after] },
    ],
    () => [
      { type: 'image', data: 'aaaa', alt: before },
      { type: 'image', data: 'aaaa', alt: after },
    ],
  ])();
}

function drawResult(): { put: Put; before: JsonObject; after: JsonObject } {
  const put: Put = { finds: [], fixed: false };
  const blocks = Array.from({ length: 1 + random(3) }, () => drawBlock(put));
  const [one, other] = drawObject(put, 2);
  const [meta, metaAfter] = drawObject(put, 1);
  return {
    put,
    before: { content: blocks.map(each => each[0]), structuredContent: one, _meta: meta },
    after: { content: blocks.map(each => each[1]), structuredContent: other, _meta: metaAfter },
  };
}

/** Everything that a client can read in a result: its strings, its numbers, and blobs decoded. */
function readable(value: Json): string {
  const decoded: string[] = [];
  const written = JSON.stringify(value, (name, each) => {
    if (name === 'blob' && typeof each === 'string') decoded.push(Buffer.from(each, 'base64').toString());
    return each;
  });
  return `${written}\n${JSON.stringify(decoded)}`;
}

const ALL: ResultEntry = {
  tool: '*',
  hide: ['secrets', 'email', 'phone', 'iban', 'card', 'ip', { pattern: 'CNRY-[0-9a-f]{12}', as: 'mark' }],
};
const rounds = sized(30_000, 2_000, 1_000);

test('what was found is gone, and everything else is as it was', () => {
  const guard = guardOf([ALL]) as ResultGuard;
  let seen = 0;
  for (let round = 0; round < rounds; round++) {
    const { put, before, after } = drawResult();
    const { result, outcome } = atOnce(guardResult(guard, before));
    const out = readable(result);
    for (const find of put.finds) if (out.includes(find)) throw new Error(`${find} is in ${out}`);
    expect([before, outcome.withheld]).toEqual([before, put.fixed]);
    if (!put.fixed) expect(result).toEqual(after);
    seen += put.finds.length;
  }
  expect(seen).toBeGreaterThan(rounds);
}, 60_000);

test('a cut never shows what was found', () => {
  for (let round = 0; round < rounds / 5; round++) {
    const atMost = 1 + random(60);
    const guard = guardOf([ALL, { tool: '*', atMost: `${atMost}B` }]) as ResultGuard;
    const { put, before } = drawResult();
    const { result, outcome } = atOnce(guardResult(guard, before));
    const out = readable(result);
    for (const find of put.finds) if (out.includes(find)) throw new Error(`${find} is in ${out}`);
    if (outcome.withheld) continue;
    const texts = (result['content'] as JsonObject[])
      .map(({ text }) => text)
      .filter(each => typeof each === 'string');
    for (const text of texts)
      expect(Buffer.byteLength(text.replace(/\[cut: \d+ of \d+ bytes left out\]$/, ''))).toBeLessThanOrEqual(
        atMost,
      );
  }
}, 60_000);
