// What the entries of a policy do to a result: each sentence of docs/results.md about order, places and bounds.

import { describe, expect, test } from 'bun:test';
import type { ResultEntry } from '../../../src/core/policy/result-fields.ts';
import {
  atOnce,
  guardError,
  guardNote,
  guardResult,
  type ResultGuard,
} from '../../../src/core/results/results.ts';
import { exactly } from '../../../src/core/wire/exact-number.ts';
import type { JsonObject } from '../../../src/core/wire/json.ts';
import { guardOf } from './guarded.ts';

const text = (said: string): JsonObject => ({ content: [{ type: 'text', text: said }] });
const blob = (said: string | Buffer): string => Buffer.from(said).toString('base64');
const resource = (more: JsonObject): JsonObject => ({
  content: [{ type: 'resource', resource: { uri: 'file:///a', ...more } }],
});
const looked = (entries: ResultEntry[], result: JsonObject, tool?: string) =>
  atOnce(guardResult(guardOf(entries, tool) as ResultGuard, result));
const withheld = (reason: string) => ({ content: [{ type: 'text', text: reason }], isError: true });
const WITHHELD = { hidden: {}, withheld: true, cut: false };
const HIDE: ResultEntry[] = [{ tool: '*', hide: 'email' }];
const MAIL = 'ann@example.com';
const GONE = '[hidden: email]';
const CARD = Number(`4111${'1'.repeat(12)}`);
const FIXED =
  'Policy "p" withholds this result: it has something that the policy hides in a name or a number, where it cannot be hidden.';

describe('which entries apply', () => {
  test('those whose pattern matches the tool; without one, results are as they are', () => {
    const entries: ResultEntry[] = [
      { tool: 'up__read', hide: 'email' },
      { tool: 'other__*', withhold: true },
    ];
    expect(looked(entries, text(MAIL)).result).toEqual(text(GONE));
    expect(guardOf(entries, 'up__write')).toBeNull();
    expect(guardOf([], 'up__read')).toBeNull();
  });

  test('resources and prompts match as all tools of their server', () => {
    expect(guardOf([{ tool: 'up__*', hide: 'email' }], 'up__resources/read', true)).not.toBeNull();
    expect(guardOf([{ tool: 'up__read', hide: 'email' }], 'up__resources/read', true)).toBeNull();
  });

  test('those whose conditions hold; they see text, structured content, errors, bytes, finds and the call', () => {
    const when = (condition: string, result: JsonObject) =>
      looked([{ tool: '*', when: condition, withhold: true }], result).outcome.withheld;
    const two = {
      content: [
        { type: 'text', text: 'a' },
        { type: 'text', text: MAIL },
      ],
      isError: true,
    };
    expect(when(`result.text == "a\\n${MAIL}"`, two)).toBe(true);
    expect(when('result.text == "inner"', resource({ text: 'inner' }))).toBe(true);
    expect(when('result.text == "of a blob"', resource({ blob: blob('of a blob') }))).toBe(true);
    expect(when('result.isError', two)).toBe(true);
    expect(when('result.isError', text('a'))).toBe(false);
    expect(when('result.found.email == 1', two)).toBe(true);
    expect(when('result.found.email > 0', text('a'))).toBe(false);
    expect(when('result.found.secrets == 0 && result.found.card == 0', two)).toBe(true);
    expect(when('result.structured.n == 3', { ...text('a'), structuredContent: { n: 3 } })).toBe(true);
    expect(when(`result.bytes == ${JSON.stringify(two).length}`, two)).toBe(true);
    expect(when('args.path == "/a" && tool.name == "read"', two)).toBe(true);
    expect(when('args.path == "/b"', two)).toBe(false);
  });

  test('one whose condition fails withholds the result', () => {
    const entries: ResultEntry[] = [{ tool: '*', when: 'result.structured.n == 3', marks: ['m'] }];
    const seen = looked(entries, text('a'));
    expect(seen.result).toEqual(
      withheld('Policy "p" withholds this result, because a condition on it could not be evaluated.'),
    );
    expect([seen.outcome, seen.marks]).toEqual([WITHHELD, ['m']]);
    const said = looked(
      [{ tool: '*', when: 'result.structured.n == 3', withhold: true, reason: 'No.' }],
      text('a'),
    );
    expect(said.result).toEqual(withheld('No.'));
  });
});

describe('the order', () => {
  test('withholding comes before hiding and cutting, and the marks of all that apply are given', () => {
    const entries: ResultEntry[] = [
      { tool: '*', hide: 'email', marks: ['one'] },
      { tool: '*', atMost: '1B' },
      { tool: '*', withhold: true, reason: 'Ask.', marks: ['two', 'one'] },
      { tool: '*', when: 'false', marks: ['three'] },
    ];
    const seen = looked(entries, text(`to ${MAIL}`));
    expect(seen).toEqual({ result: withheld('Ask.'), outcome: WITHHELD, marks: ['one', 'two'] });
  });

  test('finds are made on the original: a condition counts what another entry hides', () => {
    const entries: ResultEntry[] = [
      { tool: '*', hide: 'email' },
      { tool: '*', when: 'result.found.email == 1', hide: 'phone' },
    ];
    const seen = looked(entries, text(`${MAIL} +14155552671`));
    expect(seen.result).toEqual(text(`${GONE} [hidden: phone]`));
    expect(seen.outcome).toEqual({ hidden: { email: 1, phone: 1 }, withheld: false, cut: false });
  });

  test('the shortest cut counts, after hiding, and a placeholder is never cut apart', () => {
    const entries: ResultEntry[] = [
      { tool: '*', atMost: '100B' },
      { tool: '*', atMost: '12B' },
      { tool: '*', hide: 'email' },
    ];
    const seen = looked(entries, text(`first and ${MAIL}`));
    expect(seen.result).toEqual(text('first and [cut: 15 of 25 bytes left out]'));
    expect(seen.outcome).toEqual({ hidden: { email: 1 }, withheld: false, cut: true });
  });

  test('a cut keeps whole characters, and counts bytes', () => {
    const seen = looked([{ tool: '*', atMost: '5B' }], text('äää€😀'));
    expect(seen.result).toEqual(text('ää[cut: 9 of 13 bytes left out]'));
    expect(looked([{ tool: '*', atMost: '13B' }], text('äää€😀')).result).toEqual(text('äää€😀'));
  });

  test('of finds that overlap, one placeholder is left, with the name of the first', () => {
    const entries: ResultEntry[] = [
      { tool: '*', hide: ['email', { pattern: 'x [a-z]+', as: 'x' }, { pattern: 'example.com y', as: 'y' }] },
    ];
    const seen = looked(entries, text(`x ${MAIL} y, ${MAIL}, ${MAIL}`));
    expect(seen.result.content).toEqual([{ type: 'text', text: `[hidden: x], ${GONE}, ${GONE}` }]);
    expect(seen.outcome.hidden).toEqual({ x: 1, email: 2 });
  });
});

describe('where something is hidden', () => {
  const cases: [string, JsonObject, JsonObject][] = [
    ['texts', text(`a ${MAIL} b ${MAIL}`), text(`a ${GONE} b ${GONE}`)],
    ['_meta', { _meta: { 'a/b': [MAIL] } }, { _meta: { 'a/b': [GONE] } }],
    [
      'structured content',
      { structuredContent: { a: { b: MAIL } } },
      { structuredContent: { a: { b: GONE } } },
    ],
    [
      'unknown fields and blocks',
      { content: [{ type: 'new', x: [MAIL] }] },
      { content: [{ type: 'new', x: [GONE] }] },
    ],
    [
      'links',
      { content: [{ type: 'resource_link', uri: `mailto:${MAIL}`, name: MAIL, description: MAIL }] },
      { content: [{ type: 'resource_link', uri: `mailto:${GONE}`, name: GONE, description: GONE }] },
    ],
    ['resources', resource({ text: MAIL, mimeType: MAIL }), resource({ text: GONE, mimeType: GONE })],
    ['blobs of text', resource({ blob: blob(`ä ${MAIL}`) }), resource({ blob: blob(`ä ${GONE}`) })],
    [
      'blobs with line ends and without an end',
      resource({ blob: blob(MAIL).replace(/=+$/, '').replace(/.{4}/g, '$&\n') }),
      resource({ blob: blob(GONE) }),
    ],
    ['blobs that are no base64', resource({ blob: MAIL }), resource({ blob: GONE })],
    ['the type of a block', { content: [{ type: MAIL }] }, { content: [{ type: GONE }] }],
    [
      'images that are none',
      { content: [{ type: 'image', data: MAIL }] },
      { content: [{ type: 'image', data: GONE }] },
    ],
    [
      'prompts',
      { messages: [{ role: 'user', content: { type: 'text', text: MAIL } }] },
      { messages: [{ role: 'user', content: { type: 'text', text: GONE } }] },
    ],
  ];
  test.each(cases)('%s', (_, before, after) => {
    const seen = looked(HIDE, before);
    expect(seen.result).toEqual(after);
    expect(seen.outcome.withheld).toBe(false);
  });

  test('what is found in a name or a number withholds the result', () => {
    const entries: ResultEntry[] = [{ tool: '*', hide: ['email', 'card'] }];
    for (const result of [
      { structuredContent: { [MAIL]: 1 } },
      { _meta: { [MAIL]: 1 } },
      { [MAIL]: 1 },
      { content: [{ type: 'text', text: 'a', [MAIL]: 1 }] },
      { structuredContent: { pan: CARD } },
      { structuredContent: { pan: exactly(`${CARD}.${'0'.repeat(3)}1`) } },
      { structuredContent: { list: [[CARD]] } },
      { content: [{ type: 'text', text: 'a', n: CARD }] },
      resource({ blob: blob(Buffer.concat([Buffer.from(`${MAIL} `), Buffer.from([0xff])])) }),
    ] as JsonObject[]) {
      const isWhole = JSON.stringify(result).includes('.0001');
      expect([result, looked(entries, result).outcome.withheld]).toEqual([result, !isWhole]);
      if (!isWhole) expect(looked(entries, result).result).toEqual(withheld(FIXED));
    }
  });

  test('a blob that is no text when it is decoded is looked at as it stands', () => {
    const key = `AKIA${'QYZ34TGHW7KDLM2P'}`;
    expect(looked([{ tool: '*', hide: 'secrets' }], resource({ blob: key })).outcome).toEqual(WITHHELD);
  });

  test('images and audio pass whole, and are withheld whole', () => {
    const bytes = blob(Buffer.from([0x89, 0x50, ...Buffer.from(MAIL), 0xff]));
    for (const result of [
      { content: [{ type: 'image', data: bytes, mimeType: 'image/png' }] },
      { content: [{ type: 'audio', data: bytes, mimeType: 'audio/wav' }] },
      resource({ blob: bytes, mimeType: 'image/png' }),
    ] as JsonObject[]) {
      expect(looked(HIDE, result).result).toBe(result);
      expect(
        looked([{ tool: '*', atMost: '1B' }, ...HIDE], { content: result['content'] as never }).outcome
          .hidden,
      ).toEqual({});
      expect(looked([{ tool: '*', withhold: true }], result).outcome.withheld).toBe(true);
    }
  });

  test('a result in which nothing is found is the same object', () => {
    const result = { ...text('a'), structuredContent: { n: 12, b: true, c: null }, isError: false };
    expect(looked(HIDE, result).result).toBe(result);
  });

  test('names such as __proto__ are names like any other', () => {
    const result = JSON.parse(`{"structuredContent":{"__proto__":"${MAIL}","constructor":"b"}}`);
    expect(JSON.stringify(looked(HIDE, result).result)).toBe(
      `{"structuredContent":{"__proto__":"${GONE}","constructor":"b"}}`,
    );
  });
});

describe('errors and messages', () => {
  const guard = guardOf(HIDE) as ResultGuard;

  test('of an error, the message and the data are looked at, and it is withheld as an error', () => {
    const seen = atOnce(guardError(guard, { code: -32000, message: `for ${MAIL}`, data: { a: [MAIL] } }));
    expect(seen.error).toEqual({ code: -32000, message: `for ${GONE}`, data: { a: [GONE] } });
    const gone = atOnce(guardError(guard, { code: -32000, message: 'a', data: { [MAIL]: 1 } }));
    expect(gone.error).toEqual({ code: -32603, message: FIXED });
    const cards = guardOf([{ tool: '*', hide: 'card' }]) as ResultGuard;
    expect(atOnce(guardError(cards, { code: CARD, message: 'a' })).error.code).toBe(-32603);
  });

  test('a condition sees that it is an error, and its text', () => {
    const entries: ResultEntry[] = [
      { tool: '*', when: 'result.isError && result.text == "no"', withhold: true },
    ];
    expect(
      atOnce(guardError(guardOf(entries) as ResultGuard, { code: 1, message: 'no' })).outcome.withheld,
    ).toBe(true);
  });

  test('a log or progress message is passed on, or left out', () => {
    expect(atOnce(guardNote(guard, { level: 'info', data: MAIL })).params).toEqual({
      level: 'info',
      data: GONE,
    });
    expect(atOnce(guardNote(guard, { progressToken: 1, progress: 2, message: MAIL })).params).toEqual({
      progressToken: 1,
      progress: 2,
      message: GONE,
    });
    expect(atOnce(guardNote(guard, { level: 'info', data: { [MAIL]: 1 } })).params).toBeNull();
  });
});

describe('bounds', () => {
  const MIB = 1024 * 1024;
  const LARGE =
    'Policy "p" withholds this result: it has more than 5 MiB of text, or takes too much work to look at.';

  test('5 MiB of text are looked at; more is withheld, and marks are given', () => {
    const entries: ResultEntry[] = [{ tool: '*', hide: 'email', marks: ['m'] }];
    const words = 'word '.repeat(MIB - 4);
    expect(looked(entries, text(words + MAIL)).result).toEqual(text(words + GONE));
    const seen = looked(entries, text(words + 'word '.repeat(5)));
    expect(seen).toEqual({ result: withheld(LARGE), outcome: WITHHELD, marks: ['m'] });
  });

  test('the work of a pattern counts for all texts of a result together', () => {
    const entries: ResultEntry[] = [{ tool: '*', hide: { pattern: '[abc]{30}a[abc]{30}c', as: 'x' } }];
    let seed = 1;
    const drawn = () => {
      seed = (seed * 48_271) % 2_147_483_647;
      return 'abc'[seed % 3];
    };
    const texts = Array.from({ length: 500 }, () => ({
      type: 'text',
      text: Array.from({ length: 1000 }, drawn).join(''),
    }));
    expect(looked(entries, { content: texts.slice(0, 1) }).outcome.withheld).toBe(false);
    expect(looked(entries, { content: texts }).result).toEqual(withheld(LARGE));
  });

  test('texts, names and numbers count as well, because each takes work', () => {
    const some = { structuredContent: { all: Array(200_000).fill('') } };
    expect(looked(HIDE, some).outcome.withheld).toBe(false);
    for (const each of ['', 1])
      expect(looked(HIDE, { structuredContent: { all: Array(250_001).fill(each) } }).result).toEqual(
        withheld(LARGE),
      );
  });

  test('bytes count and not characters; names and decoded blobs count too', () => {
    expect(looked(HIDE, text('ä'.repeat(3 * MIB))).outcome.withheld).toBe(true);
    expect(looked(HIDE, text('ä'.repeat(2 * MIB))).outcome.withheld).toBe(false);
    expect(looked(HIDE, resource({ blob: blob('a'.repeat(4 * MIB)) })).outcome.withheld).toBe(false);
    expect(looked(HIDE, resource({ blob: blob('a'.repeat(6 * MIB)) })).outcome.withheld).toBe(true);
    expect(looked(HIDE, { structuredContent: { ['a'.repeat(6 * MIB)]: 1 } }).outcome.withheld).toBe(true);
  });
});
