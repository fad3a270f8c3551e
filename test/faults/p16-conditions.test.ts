// P16, for rules that read arguments: hostile arguments never stall good clients. A key whose rules read all that they
// can sends a megabyte at a time: lists for quadratic macros, texts for patterns that backtrack elsewhere, numbers beyond
// every type, objects with many keys, and deep ones. Another key's checks are all answered, and so are the hostile ones.
// The mutant does not bound an evaluation.

import { expect } from 'bun:test';
import type { Rule } from '../../src/core/policy/policy.ts';
import { figures, inTime, until, withMutant } from '../support/faults.ts';
import { ANSWERED_WITHIN_MS, type Answer, CHECK_LIMIT_MS, isLate, startLoad, took } from '../support/load.ts';
import type { Patch } from '../support/mutant.ts';
import { LONG } from '../support/need.ts';
import { type Engine, engines, startService, type TestService } from '../support/service.ts';
import { whenChanged } from '../support/when-changed.ts';

const ROUNDS = LONG ? 20 : 1;
const GOOD_CLIENTS = 4;
const HOSTILE_CLIENTS = 4;

const UNBOUNDED: Patch = {
  file: 'src/core/condition/steps.ts',
  find: 'const MAX_STEPS = 5_000;',
  replace: 'const MAX_STEPS = 1e15;',
};

const CONDITIONS = [
  'args.list.all(x, args.list.all(y, x != y || x == y))',
  'args.list.exists(x, args.list.filter(y, y == x).size() > args.list.map(z, z).size())',
  'args.list == args.same || args.list in [args.same]',
  'args.text.matches("^(a+)+$")',
  'args.text.matches("(a|aa|aaa)*b(x{1,9}){1,9}$")',
  'args.text.contains(args.needle) || args.text.indexOf(args.needle) > 5',
  'args.text.replace("a", args.text).size() > 0',
  'args.text.split("").join(args.needle).upperAscii().trim() == args.text',
  'shell.commands(args.text).all(c, c.name == "a")',
  'path.within(args.path, "/srv")',
  'url.host(args.text) == "a" || url.port(args.text) == 1',
  'email.domain(args.text) == "a"',
  'args.number > 5 || int(args.number) * int(args.number) > 5',
  'args.keys.all(k, k in args.keys && args.keys[k] == args.keys[k])',
  'args.deep == args.same',
];

const RULES = [
  ...CONDITIONS.map((when, index): Rule => ({ tool: `tool${index}`, action: 'allow', when })),
  { tool: 'summed', action: 'allow', limit: 'summed' } satisfies Rule,
];
const LIMITS = { summed: { sum: 'args.number', unit: 0.01, atMost: 100, within: '1h' } };

/** A check has at most a megabyte, and 20,000 values. */
const SIZE = 900_000;
const VALUES = 19_000;
const numbers = `[${Array.from({ length: VALUES / 2 }, (_, index) => index).join(',')}]`;
const keys = Array.from({ length: VALUES }, (_, index) => `"k${index}":0`).join(',');
const ARGUMENTS = [
  `{"list":${numbers},"same":${numbers}}`,
  `{"list":[${'"a",'.repeat(VALUES / 2)}"b"],"same":[${'"a",'.repeat(VALUES / 2)}"c"]}`,
  `{"text":"${'a'.repeat(SIZE)}!","needle":"b"}`,
  `{"text":"${'a'.repeat(SIZE / 2)}","needle":"${'a'.repeat(SIZE / 2 - 10)}b"}`,
  `{"text":"${'a'.repeat(4095)}!","needle":"${'a'.repeat(4000)}"}`,
  `{"text":"${'a;'.repeat(SIZE / 4)}","path":"/${'../'.repeat(SIZE / 6)}"}`,
  `{"text":"https://${'a.'.repeat(SIZE / 4)}","path":"${'/a'.repeat(SIZE / 4)}"}`,
  `{"text":"a@${'a.'.repeat(SIZE / 2)}b"}`,
  `{"number":1e400}`,
  `{"number":${'9'.repeat(900)}}`,
  `{"number":0.${'1'.repeat(900)}}`,
  `{"keys":{${keys}}}`,
  `{"deep":${'['.repeat(60)}${']'.repeat(60)},"same":${'['.repeat(60)}${']'.repeat(60)}}`,
  `{"list":[${'[[[[]]]],'.repeat(VALUES / 5)}[]],"deep":{},"number":{}}`,
];

/** Every kind of argument for every rule that reads one of its fields. */
const BODIES = ARGUMENTS.flatMap(args => {
  const fields = Object.keys(JSON.parse(args));
  return RULES.filter(({ when = LIMITS.summed.sum }) =>
    fields.some(field => when.includes(`args.${field}`)),
  ).map(({ tool }) => `{"serverName":"x","toolName":"${tool}","args":${args}}`);
});

for (const engine of LONG ? await engines() : (['sqlite'] as const)) {
  whenChanged('src/core/condition/**', 'src/guard/check/**')(
    `${engine}: good clients are answered, whatever rules have to read`,
    async () => {
      const bodies = Array(ROUNDS).fill(BODIES).flat();
      const found = await inTime(() => measure(engine, bodies));
      expect(found.faults).toEqual([]);
      expect(found.operations).toBeGreaterThan(GOOD_CLIENTS);
      expect(found.hostile).toBe(bodies.length);
    },
  );
}

whenChanged(UNBOUNDED)('a mutant that does not bound an evaluation is found out', async () => {
  // One such evaluation takes a second or two, by the machine; together they take longer than a check may.
  const bodies = Array(HOSTILE_CLIENTS).fill(BODIES.slice(0, 2)).flat();
  const { faults } = await withMutant([UNBOUNDED], root => measure('sqlite', bodies, root));
  expect(faults.length).toBeGreaterThan(0);
});

/** So long a good client of a mutant hears nothing before it counts as stalled; a check is given up sooner. */
const SILENCE_MS = CHECK_LIMIT_MS + 500;

async function measure(engine: Engine, bodies: readonly string[], root?: string) {
  const service = await startService({ engine, ...(root && { root }) });
  const { key } = await service.newKey([{ tool: '*', action: 'allow' }]);
  const bad = await readingKey(service);
  const [good, hostile]: [Answer[], Answer[]] = [[], []];
  const load = startLoad({
    connections: GOOD_CLIENTS,
    url: () => service.url,
    next: () => ({ token: key, body: '{"serverName":"x","toolName":"good"}' }),
    answered: answer => good.push(answer),
  });
  await until('good answers', () => good.length > GOOD_CLIENTS);
  const before = good.length;
  const left = [...bodies];
  const attack = startLoad({
    connections: HOSTILE_CLIENTS,
    url: () => service.url,
    next: () => (left.length > 0 ? { token: bad, body: left.shift() as string } : null),
    answered: answer => hostile.push(answer),
  });
  const silent = root !== undefined && (await endsIn(attack.done, good)) === 'silence';
  if (silent) await service.kill('SIGKILL');
  await (silent ? attack.stop() : attack.done);
  await load.stop();
  await service.close();
  const faults = [
    ...good.filter(each => each.status !== 200).map(each => `a good client got ${each.text}`),
    ...good.filter(each => took(each) > ANSWERED_WITHIN_MS).map(() => 'a good client was answered late'),
    ...Array(load.unanswered).fill('a good client was not answered'),
    ...hostile.filter(each => each.status !== 200).map(each => `a hostile client got ${each.text}`),
  ];
  const times = good.map(took).sort((a, b) => a - b);
  figures(`P16 conditions, ${engine}${root ? ' mutant' : ''}`, {
    operations: good.length - before,
    faults: hostile.length,
    p99Ms: Math.round(times[Math.floor(times.length * 0.99)] ?? 0),
    violations: faults.length,
  });
  const late = [...good, ...hostile.filter(each => each.status !== 200)].filter(isLate).length;
  return { operations: good.length - before, hostile: hostile.length, faults, late };
}

/** Whether the attack comes to an end first, or the answers to good clients do. */
async function endsIn(attack: Promise<void>, good: readonly Answer[]): Promise<'attack' | 'silence'> {
  let ended = false;
  attack.then(() => {
    ended = true;
  });
  const isSilent = () => performance.now() - (good.at(-1)?.receivedAt ?? 0) > SILENCE_MS;
  await until('an end', () => ended || isSilent());
  return ended ? 'attack' : 'silence';
}

async function readingKey(service: TestService): Promise<string> {
  const policy = await service.admin('POST', '/policies', { name: 'reads', rules: RULES, limits: LIMITS });
  if (policy.status !== 201) throw new Error(policy.text);
  return (await service.admin('POST', '/keys', { name: 'bad', policyId: policy.body.id })).body.key;
}
