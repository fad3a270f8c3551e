// Marked arguments for rules that read them: conditions that hold, are false, fail or exceed their bounds, every function
// that takes a text apart, and limits that add up amounts. Each call says which words its reason must have, so that none
// of them takes an easier path than it is meant to.

import type { Limits, Rule } from '../../src/core/policy/policy.ts';
import type { TestService } from '../support/service.ts';
import { type Canaries, send } from './canaries.ts';

interface Conditional {
  place: string;
  rules: Omit<Rule, 'tool'>[];
  /** The arguments as JSON, with new markers. */
  args: (canaries: Canaries, place: string) => string;
  says: string;
}

const ALLOWS = 'allows';
const FALSE = 'condition 0 is false';
const FAILS = 'condition 0 could not be evaluated';
const UNCOUNTED = 'cannot count this call';

const allow = (when: string): Omit<Rule, 'tool'>[] => [{ action: 'allow', when }];
const SUMMED: Omit<Rule, 'tool'>[] = [{ action: 'allow', limit: 'summed' }];
const LIMITS: Limits = {
  summed: { sum: 'args.amount', unit: 0.01, atMost: 2.5, within: '1h' },
  asking: { sum: 'args.amount', atMost: 1, each: 'day', beyond: 'require_approval' },
};

/** A condition on `args.a`, and what its outcome is for some texts. */
function outcomes(place: string, when: string, texts: Record<string, (marker: string) => unknown>) {
  return Object.entries(texts).map(
    ([says, text], index): Conditional => ({
      place: `${place}, case ${index}`,
      rules: allow(when),
      args: marked(marker => ({ a: text(marker) })),
      says,
    }),
  );
}

/** Arguments with one marker. */
const marked =
  (args: (marker: string) => unknown): Conditional['args'] =>
  (canaries, place) =>
    JSON.stringify(args(canaries.at(place)));

/** A number has no letters to be found by, so its digits are searched for. */
const numbered =
  (json: (digits: string) => string): Conditional['args'] =>
  (canaries, place) =>
    json(canaries.digits(place));

const LONG_TEXT = 'x'.repeat(5000);

const CONDITIONALS: Conditional[] = [
  ...outcomes('a comparison', 'args.a != "x" && args.a > "A" && args.a in [args.a]', {
    [ALLOWS]: marker => marker,
    [FAILS]: marker => ({ [marker]: marker }),
  }),
  ...outcomes('texts that are put together', '(args.a + "x").upperAscii().split("A").join("-") == "x"', {
    [FALSE]: marker => marker,
    [FAILS]: marker => [marker],
  }),
  ...outcomes('a conversion', 'int(args.a) == 1 || double(args.a) == 1.0', { [FAILS]: marker => marker }),
  ...outcomes('a field of a text', 'args.a.b == 1', { [FAILS]: marker => marker }),
  ...outcomes('an index', 'args.a[5] == 1', { [FAILS]: marker => [marker] }),
  ...outcomes('a key that is not there', '{"x": 1}[args.a] == 1', { [FAILS]: marker => marker }),
  ...outcomes('a pattern', 'args.a.matches("^Canary\\\\w+$")', {
    [ALLOWS]: marker => marker,
    [FALSE]: marker => `${marker} `,
    [FAILS]: marker => marker + LONG_TEXT,
  }),
  ...outcomes('too many steps', 'args.a.all(x, args.a.all(y, x + y != "x"))', {
    [FAILS]: marker => Array(200).fill(marker),
  }),
  ...outcomes('a shell command', 'shell.commands(args.a).all(c, c.name == "ls" && c.args[0] != "x")', {
    [ALLOWS]: marker => `ls ${marker} "${marker}"`,
    [FALSE]: marker => `${marker} x`,
    [FAILS]: marker => `ls $(${marker})`,
  }),
  ...outcomes('a path', 'path.within(args.a, "/srv")', {
    [ALLOWS]: marker => `/srv/${marker}`,
    [FALSE]: marker => `/srv/../${marker}`,
    [FAILS]: marker => `~/${marker}`,
  }),
  ...outcomes(
    'a URL',
    'url.host(args.a) != "x" && url.scheme(args.a) != "x" && url.port(args.a) != 1 && url.host(args.a) != ""',
    {
      [ALLOWS]: marker => `https://${marker}.example/${marker}?${marker}`,
      [FALSE]: marker => `https://${marker}.example:1/${marker}`,
      [FAILS]: marker => `https:\\\\${marker}`,
    },
  ),
  ...outcomes('an e-mail address', 'email.domain(args.a) != "x.example"', {
    [ALLOWS]: marker => `${marker}@${marker}.example`,
    [FALSE]: marker => `${marker}@x.example`,
    [FAILS]: marker => `"${marker}" <a@b.example>`,
  }),
  {
    place: 'a denial by a failure',
    rules: [{ action: 'deny', when: 'args.a > 5' }],
    args: marked(marker => ({ a: marker })),
    says: 'its condition 0 could not be evaluated',
  },
  {
    place: 'a question by a failure',
    rules: [{ action: 'require_approval', when: 'args.a > 5' }, { action: 'allow' }],
    args: marked(marker => ({ a: marker, [marker]: marker })),
    says: 'requires approval',
  },
  ...Object.entries({ 'a text': (m: string) => m, 'an object': (m: string) => ({ [m]: m }) }).map(
    ([what, amount]): Conditional => ({
      place: `${what} as an amount`,
      rules: SUMMED,
      args: marked(marker => ({ amount: amount(marker) })),
      says: UNCOUNTED,
    }),
  ),
  ...[ALLOWS, ALLOWS, 'is used up'].map(
    (says): Conditional => ({
      place: 'beside an amount',
      rules: SUMMED,
      args: marked(marker => ({ amount: 1.25, a: marker })),
      says,
    }),
  ),
  {
    place: 'beside an amount that is asked about',
    rules: [{ action: 'allow', limit: 'asking' }],
    args: marked(marker => ({ amount: 2, a: marker })),
    says: 'so it requires approval',
  },
  ...Object.entries({ '': ALLOWS, '0000000000': FAILS, '.5': ALLOWS }).map(
    ([end, says]): Conditional => ({
      place: `a number that ends with "${end}"`,
      rules: allow('args.a > 5'),
      args: numbered(digits => `{"a":${digits}${end}}`),
      says,
    }),
  ),
  {
    place: 'an amount of no unit',
    rules: SUMMED,
    args: numbered(digits => `{"amount":0.${digits}}`),
    says: UNCOUNTED,
  },
  {
    place: 'a huge amount',
    rules: SUMMED,
    args: numbered(digits => `{"amount":${digits}}`),
    says: 'is used up',
  },
];

const CALLS = CONDITIONALS.map((call, index) => ({ ...call, tool: `call${index}` }));

/** A policy in which every call has rules of its own. */
export const CONDITIONAL = {
  rules: CALLS.flatMap(({ rules, tool }) => rules.map((rule): Rule => ({ tool, ...rule }))),
  limits: LIMITS,
};

/** The body of one of the calls. */
export function conditionalBody(canaries: Canaries, number: number, when: string): string {
  const { place, tool, args } = CALLS[number % CALLS.length] as (typeof CALLS)[number];
  return `{"serverName":"files","toolName":"${tool}","args":${args(canaries, `${place}, ${when}`)}}`;
}

/** Sends each of them once. While no check gets a verdict, there is no reason to compare. */
export async function sendConditional(
  service: TestService,
  token: string,
  canaries: Canaries,
  when: string,
  expected: number,
): Promise<void> {
  for (const [number, { place, says }] of CALLS.entries()) {
    const body = () => conditionalBody(canaries, number, when);
    const { text } = await send(service, token, canaries, { place: `${place}, ${when}`, body, expected });
    if (expected === 200 && !text.includes(says)) throw new Error(`${place}, ${when}: ${text}`);
  }
}
