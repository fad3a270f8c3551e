// Random policies, drafts and calls, replayed. The test knows the arguments, so it knows what the draft really decides:
// whatever the replay says for sure must be that. Mutants of the replay show that the comparison can fail.

import { expect, test } from 'bun:test';
import { join } from 'node:path';
import type * as replays from '../../src/core/foresight/replay.ts';
import { ACTIONS, type Limits, type Rule } from '../../src/core/policy/policy.ts';
import type { RunFacts, Situation, ToolCall } from '../../src/core/policy/situation.ts';
import type { Json } from '../../src/core/wire/json.ts';
import { figures, SEED, withMutant } from '../support/faults.ts';
import type { Patch } from '../support/mutant.ts';
import { ROOT } from '../support/service.ts';
import { sized, whenChanged } from '../support/when-changed.ts';
import { type Decider, deciderIn, type Facts, recordOf } from './decider.ts';
import { type Random, seeded } from './oracle.ts';

/** They are never used up: replays leave limits out. */
const LIMITS: Limits = {
  calls: { calls: 3, each: 'week' },
  asking: { calls: 3, each: 'day', beyond: 'require_approval' },
};
/** A rule with this one is passed over if the arguments have no amount to add up. */
const SUMS: Limits = { sums: { sum: 'args.n', atMost: 100, each: 'day' } };

const CALL = { serverName: 's', toolName: 't' };

/** The program's own code, or that of a mutant. */
interface Code extends Decider {
  outcomeOf: typeof replays.outcomeOf;
}

async function codeIn(root: string): Promise<Code> {
  const { outcomeOf } = (await import(join(root, 'src/core/foresight/replay.ts'))) as typeof replays;
  return { ...(await deciderIn(root)), outcomeOf };
}

const code = await codeIn(ROOT);

const compile = ({ compilePolicy }: Decider, rules: readonly Rule[], version = 1) =>
  compilePolicy({ id: 'p', name: 'prod', version, rules, limits: { ...LIMITS, ...SUMS } });

/** Small enough that random calls make each of them true, false or fail. */
const CONDITIONS = [
  'args.a',
  '!args.a',
  'args.b',
  'has(args.c)',
  'args.n > 1',
  'args.n > 1 || args.a',
  'session.label == "run"',
  'has(session.label)',
  'has(person.email)',
  'key.name == "agent" && args.b',
  'surface == "mcp"',
  '"m" in marks',
  'known("bob")',
];
const HOURS = ['mon-fri', 'sat-sun', '08:00-18:00 Europe/Berlin', 'mon-sun'];
const TOOLS = ['*', 's__*', 's__t', 't', 's__u'];
const NAME = '0") did not apply: condition 0 is false.';

const pick = <T>(random: Random, items: readonly T[]): T => items[random(items.length)] as T;

function randomRule(random: Random, limits: Limits = LIMITS): Rule {
  const when = Array.from({ length: [0, 1, 1, 2][random(4)] as number }, () => pick(random, CONDITIONS));
  const action = pick(random, ACTIONS);
  return {
    ...(when.length > 1 && { name: NAME }),
    tool: pick(random, TOOLS),
    action,
    ...(when.length > 0 && { when: when.length === 1 && random(2) === 0 ? when[0] : when }),
    ...(random(4) === 0 && { during: pick(random, HOURS) }),
    ...(action === 'allow' && random(5) === 0 && { limit: pick(random, Object.keys(limits)) }),
    ...(action === 'require_approval' && random(4) === 0 && { approvers: { group: 'ops', count: 2 } }),
    ...(action !== 'deny' && random(6) === 0 && { marks: 'm' }),
    ...(action === 'deny' && random(3) === 0 && { reason: 'Rule 0 did not apply: condition 0 is false.' }),
  };
}

/** The policy after a few edits, as people make them. */
function edited(random: Random, rules: readonly Rule[]): Rule[] {
  const draft = [...rules];
  for (let edits = random(3); edits >= 0; edits--) {
    const at = random(draft.length + 1);
    const old = draft[at];
    const way = random(4);
    if (old === undefined || way === 0) draft.splice(at, 0, randomRule(random));
    else if (way === 1) draft.splice(at, 1);
    else if (way === 2)
      draft[at] = { tool: old.tool, action: pick(random, ACTIONS), ...('when' in old && { when: old.when }) };
    else draft.splice(random(draft.length), 0, ...draft.splice(at, 1));
  }
  return draft;
}

function randomSituation(random: Random): Partial<Situation> {
  const args: Record<string, Json> = {};
  for (const name of ['a', 'b', 'c']) if (random(4) > 0) args[name] = random(2) === 0;
  if (random(4) > 0) args['n'] = random(4);
  return {
    args,
    now: Date.UTC(2026, 2, 1 + random(7), random(24)),
    surface: pick(random, ['check', 'mcp']),
    session: random(2) === 0 ? null : { id: 'x', label: pick(random, ['run', 'other']) },
    person: random(2) === 0 ? null : { email: 'a@example.com', groups: [] },
    run: randomRun(random),
  };
}

function randomRun(random: Random): RunFacts {
  const isKnown = random(2) === 0;
  return { marks: random(2) === 0 ? [] : ['m'], knows: () => isKnown };
}

/** What the calls before this one have brought into the run: under other rules perhaps something else. */
function runUnder(random: Random, draft: readonly Rule[], rules: readonly Rule[], run: RunFacts | undefined) {
  return deciding(draft) === deciding(rules) ? run : randomRun(random);
}

/** Names and reasons decide nothing. */
function deciding(rules: readonly Rule[]): string {
  return JSON.stringify(
    rules.map(({ name: _, reason: __, when = [], ...rest }) => ({ ...rest, when: [when].flat() })),
  );
}

const RUNS = sized(50_000, 6_000, 1_000);
/** At most, since the comparison ends with the first mistake. Some mutants make one in thousands of runs. */
const MUTANT_RUNS = 20_000;
/** After so many mistakes nobody needs more of them. */
const ENOUGH = 3;

interface Compared {
  known: number;
  changed: number;
  depends: number;
  wrong: string[];
}

function compare(code: Code, random: Random, runs: number, enough = ENOUGH): Compared {
  const { outcomeOf, decide } = code;
  const seen: Compared = { known: 0, changed: 0, depends: 0, wrong: [] };
  for (let at = 0; at < runs && seen.wrong.length < enough; at++) {
    const rules = Array.from({ length: random(6) }, () => randomRule(random));
    const draftRules =
      random(5) === 0 ? Array.from({ length: random(5) }, () => randomRule(random)) : edited(random, rules);
    const [policy, draft] = [compile(code, rules), compile(code, draftRules, 2)];
    const given = { situation: randomSituation(random) };
    const decided = decide(policy, CALL, given);
    const run = runUnder(random, draftRules, rules, given.situation.run);
    const real = decide(draft, CALL, { situation: { ...given.situation, run } }).decision;
    const record = recordOf(CALL, decided, given.situation.person ? 'someone' : null);
    const outcome = outcomeOf(draft, record, { recorded: policy, keyName: 'agent' });
    if (outcome === 'depends') seen.depends++;
    else if (outcome === real) seen.known++;
    else seen.wrong.push(`${outcome}, not ${real}: ${JSON.stringify([record, rules, draftRules, given])}`);
    if (outcome !== 'depends' && outcome !== decided.decision) seen.changed++;
  }
  return seen;
}

test('what the replay knows is what the draft decides, over random policies, drafts and calls', () => {
  const { wrong, ...seen } = compare(code, seeded(SEED), RUNS);
  figures('replay', { seed: SEED, operations: RUNS, violations: wrong.length, ...seen });
  expect(wrong).toEqual([]);
  // Otherwise the comparison says little.
  expect(seen.known).toBeGreaterThan(RUNS / 2);
  expect(seen.changed).toBeGreaterThan(RUNS / 20);
  expect(seen.depends).toBeGreaterThan(RUNS / 50);
});

interface Given extends Facts {
  call?: Partial<ToolCall>;
}

test('an unchanged policy changes nothing, and depends on nothing that the reason tells', () => {
  const random = seeded(SEED + 1);
  const facts: Given[] = [
    {},
    { freedom: { kind: 'approval', referenceId: 'a-1' } },
    { repeats: { referenceId: 'a-3', denied: true } },
    { drift: 'deny' },
    { drift: 'require_approval' },
    { drift: 'require_approval', heldFor: 'hidden' },
    { drift: 'deny', heldFor: 'nobody' },
    { usedUp: true },
    { approvalLimit: { of: 'key', open: 20 } },
    { call: { noPlace: { atMost: 5, of: 'key' } } },
    { handedTo: 'terminal' },
    { call: { unseen: true } },
  ];
  for (let run = 0; run < RUNS / 2; run++) {
    const rules = Array.from({ length: random(6) }, () => randomRule(random, { ...LIMITS, ...SUMS }));
    const { call: flags, ...given } = pick(random, facts);
    const about = { ...given, situation: randomSituation(random) };
    const policy = compile(code, rules);
    const decided = code.decide(policy, { ...CALL, ...flags }, about);
    const record = recordOf(CALL, decided, about.situation.person ? 'someone' : null);
    const outcome = (draft: ReturnType<typeof compile>) =>
      code.outcomeOf(draft, record, { recorded: policy, keyName: 'agent' });
    const what = JSON.stringify([record, rules, about]);
    expect([what, outcome(compile(code, rules, 2))]).toEqual([what, decided.decision]);
    // The same with a rule more that says what would happen without it, so that the rules have to be gone through.
    const again = outcome(compile(code, [...rules, { tool: '*', action: 'deny' }], 2));
    const isHeld = decided.reason.includes('could not be evaluated');
    // It might have brought something else into the run.
    const onRun = /marks|known/.test(JSON.stringify(rules.map(rule => rule.when)));
    if (!flags?.unseen && !isHeld && !onRun) expect([what, again]).toEqual([what, decided.decision]);
  }
});

const MUTANTS: Record<string, Patch> = {
  'takes an unknown session for none': {
    file: 'src/core/policy/situation.ts',
    find: 'session: NOT_KNOWN',
    replace: 'session: {}',
  },
  'takes unknown arguments for none': {
    file: 'src/core/policy/situation.ts',
    find: 'args: NOT_KNOWN',
    replace: 'args: {}',
  },
  'takes unknown marks for none': {
    file: 'src/core/policy/situation.ts',
    find: 'marks: NOT_KNOWN',
    replace: 'marks: []',
  },
  'takes what nobody remembers for unknown in the run': {
    file: 'src/core/policy/situation.ts',
    find: '[KNOWN]: NOT_KNOWN',
    replace: '[KNOWN]: undefined',
  },
  'believes that another policy would have marked the run alike': {
    file: 'src/core/foresight/replay.ts',
    find: 'return decidingText(draft) === decidingText(recorded);',
    replace: 'return true;',
  },
  'forgets that conditions can fail': {
    file: 'src/core/foresight/recorded.ts',
    find: '(mayFail && mayBeNotFalse ? FAILS : 0)',
    replace: '0',
  },
  'takes the conditions before a false one for true': {
    file: 'src/core/foresight/recorded.ts',
    find: 'return at < why.condition ? NOT_FALSE : ANY;',
    replace: 'return at < why.condition ? TRUE : ANY;',
  },
  'takes every rule that was passed over for false': {
    file: 'src/core/foresight/recorded.ts',
    find: "case 'allow':\n      return NOT_TRUE;",
    replace: "case 'allow':\n      return FALSE;",
  },
  'forgets that hours may be closed': {
    file: 'src/core/foresight/recorded.ts',
    find: 'let mayBeFalse = (open & FALSE) !== 0 ||',
    replace: 'let mayBeFalse =',
  },
  'forgets the rules that hold': {
    file: 'src/core/foresight/possibilities.ts',
    find: '[...passes.filter(each => each === null), index]',
    replace: 'passes',
  },
};

for (const [what, patch] of Object.entries(MUTANTS)) {
  whenChanged(patch)(`the comparison goes red on a replay that ${what}`, async () => {
    const { wrong } = await withMutant([patch], async root =>
      compare(await codeIn(root), seeded(1), MUTANT_RUNS, 1),
    );
    expect(wrong).not.toEqual([]);
  });
}
