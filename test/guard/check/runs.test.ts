// Which calls share a run, in what order they are decided, when a run ends, and what is removed of it then. The tests set
// the clock, and share one store with keys of their own. p29-flows.test.ts shows that no mark is missed.

import { beforeEach, expect, test } from 'bun:test';
import { namedIn } from '../../../src/core/flows/words.ts';
import type { Rule } from '../../../src/core/policy/policy.ts';
import { DAY, HOUR, MINUTE } from '../../../src/core/time/duration.ts';
import { LATER, type Outcome } from '../../../src/guard/check/group-work.ts';
import { Learner } from '../../../src/guard/check/learner.ts';
import { createPolicy } from '../../../src/guard/check/policies.ts';
import type { CheckRequest, Verdict } from '../../../src/guard/check/request.ts';
import { forgetRuns, listedRuns, requireRun } from '../../../src/guard/check/run-admin.ts';
import type { Principal } from '../../../src/guard/credentials.ts';
import type { Deps } from '../../../src/guard/deps.ts';
import { newId } from '../../../src/guard/ids.ts';
import { changeKey, createKey } from '../../../src/guard/keys.ts';
import { inviteOperator } from '../../../src/guard/people/operators.ts';
import { CallerTurns } from '../../../src/guard/rations/caller-turns.ts';
import { mintSession } from '../../../src/guard/sessions.ts';
import { addKnown, insertCalls } from '../../../src/store/known-values.ts';
import { findAudit } from '../../../src/store/log/audit.ts';
import { deleteEndedRuns, type FoundRun } from '../../../src/store/runs.ts';
import { insertSession } from '../../../src/store/sessions.ts';
import { NOW, onEachEngine, sessionRecord } from '../../store/stores.ts';
import { refusal } from '../../support/refusal.ts';
import { depsAt } from '../deps.ts';
import { decidedBy } from '../group.ts';
import { untimed } from './untimed.ts';

const RULES: Rule[] = [
  { tool: 'page', action: 'allow', marks: 'untrusted' },
  { tool: 'look', action: 'allow' },
  { tool: 'send', action: 'allow', when: '!("untrusted" in marks)' },
];
/** A run without a session ends so much later than is said, because its last call is known to a sixtieth of this time. */
const REST = 30 * MINUTE;
const GRAIN = REST / 60;

type Caller = Omit<Principal, 'kind' | 'scope'>;

await onEachEngine(store => {
  let now: number;
  let deps: Deps;
  let keyId: string;
  let policyId: string;
  let key: Caller;
  beforeEach(async () => {
    now = NOW;
    const all = depsAt(store.db, () => now);
    deps = { ...all, settings: { ...all.settings, runRest: REST } };
    policyId = await newPolicy(RULES);
    const openTo = ['group:all', 'person:ann@example.com', 'person:bob@example.com'];
    const input = { name: 'k', policyId, requireSignInToApprove: false, expiresAt: null, notify: null };
    keyId = (await createKey(deps, 'admin', { ...input, forward: [], openTo })).key.id;
    key = { keyId, sessionId: null };
  });

  const newPolicy = async (rules: readonly Rule[]): Promise<string> =>
    (await createPolicy(deps, 'admin', { name: newId(), description: '', rules })).id;

  const request = (by: Caller, toolName: string, run?: string): CheckRequest => ({
    principal: { kind: by.sessionId === null ? 'key' : 'session', scope: null, ...by },
    surface: 'check',
    call: { serverName: 'prod', toolName },
    args: {},
    referenceId: null,
    run,
    startedAt: performance.now(),
  });
  const judged = (...requests: CheckRequest[]): Promise<Outcome<Verdict>[]> =>
    decidedBy(store.db, untimed(deps), requests);
  /** What becomes of calls in one group. */
  const together = async (...requests: CheckRequest[]) =>
    (await judged(...requests)).map(each => (each === LATER ? 'later' : (each as Verdict).decision));
  const one = async (by: Caller, toolName: string, run?: string) =>
    (await together(request(by, toolName, run)))[0];

  const minted = async (ttlMinutes = 60): Promise<Caller & { sessionId: string }> => {
    const principal: Principal = { kind: 'key', scope: null, ...key };
    const { session } = await mintSession(deps, principal, { label: '', ttlMinutes, scopeTools: null });
    return { keyId, sessionId: session.id };
  };
  /** A connection of a person, or one of the company's tokens for them. */
  const acting = async (personId: string, more: { companys?: true } = {}): Promise<Caller> => {
    const { id } = await inserted(personId);
    return { keyId, sessionId: id, personId, ...more };
  };
  const inserted = async (personId: string) => {
    const session = sessionRecord({ keyId, personId, createdAt: now, expiresAt: NOW + 10 * DAY });
    await insertSession(store.db, session, session.id);
    return session;
  };
  const people = new Map<string, string>();
  const person = async (email: string): Promise<string> => {
    const id =
      people.get(email) ?? (await inviteOperator(deps, 'admin', { email, role: 'user' })).operator.id;
    people.set(email, id);
    return id;
  };
  const listed = (): Promise<FoundRun[]> => listedRuns(deps, { keyId }, 10, '~');

  test('the calls of a run that are in one group are decided in order, each by the marks of those before it', async () => {
    const session = await minted();
    expect(
      await together(
        request(key, 'send'),
        request(key, 'page'),
        request(key, 'look'),
        request(key, 'send'),
        request(key, 'send', 'other'),
        request(session, 'send'),
      ),
    ).toEqual(['allow', 'allow', 'allow', 'later', 'allow', 'allow']);
    expect(await one(key, 'send')).toBe('deny');
  });

  test('what a shadow marks is seen by that shadow alone', async () => {
    const real = await newPolicy([{ tool: 'page', action: 'allow' }, ...RULES.slice(1)]);
    await changeKey(deps, 'admin', keyId, { policyId: real, shadowPolicyId: policyId });
    const both = async (toolName: string) => {
      const [verdict] = (await judged(request(key, toolName))) as [Verdict];
      const entry = await findAudit(store.db, verdict.toolCallId);
      return [verdict.decision, entry?.shadow?.decision, entry?.marks];
    };
    expect(await both('send')).toEqual(['allow', 'allow', null]);
    expect(await both('page')).toEqual(['allow', 'allow', null]);
    expect(await both('send')).toEqual(['allow', 'deny', null]);
    await changeKey(deps, 'admin', keyId, { shadowPolicyId: await newPolicy(RULES) });
    expect(await both('send')).toEqual(['allow', 'allow', null]);
    await changeKey(deps, 'admin', keyId, { policyId, shadowPolicyId: null });
    expect((await both('send'))[0]).toBe('allow');
  });

  test('the run of a session ends with it', async () => {
    const session = await minted(90);
    expect(await one(session, 'page')).toBe('allow');
    const { id, endsAt } = (await listed())[0] as FoundRun;
    expect(endsAt).toBe(NOW + 90 * MINUTE);
    now = endsAt - 1;
    expect((await requireRun(deps, id)).id).toBe(id);
    expect(await one(session, 'send')).toBe('deny');
    now = endsAt;
    expect(await refusal(requireRun(deps, id))).toMatchObject({ code: 'not_found' });
    expect(await listed()).toEqual([]);
  });

  test('a run that was named ends 24 hours after its last call, and that of a key after the time that is set', async () => {
    for (const [rest, name] of [
      [DAY, 'named'],
      [REST, undefined],
    ] as const) {
      now = NOW;
      expect(await one(key, 'page', name)).toBe('allow');
      const first = (await listed())[0]?.id;
      // Each call puts the end off.
      for (let calls = 0; calls < 2; calls++) {
        now += rest;
        expect([name, await one(key, 'send', name)]).toEqual([name, 'deny']);
      }
      now += rest + GRAIN;
      expect((await listed()).map(({ id }) => id)).not.toContain(first as string);
      // The next call begins another one.
      expect([name, await one(key, 'send', name)]).toEqual([name, 'allow']);
      expect((await listed())[0]).toMatchObject({ name: name ?? null, marks: [] });
    }
  });

  test('a person’s connections have a run each, and the company’s tokens for a person share one', async () => {
    const [ann, bob] = [await person('ann@example.com'), await person('bob@example.com')];
    const [first, second] = [await acting(ann), await acting(ann)];
    const [early, late, bobs] = [
      await acting(ann, { companys: true }),
      await acting(ann, { companys: true }),
      await acting(bob, { companys: true }),
    ];
    await one(first, 'page');
    expect([await one(first, 'send'), await one(second, 'send')]).toEqual(['deny', 'allow']);
    expect([await one(late, 'send'), await one(key, 'send')]).toEqual(['allow', 'allow']);
    await one(early, 'page');
    expect([await one(early, 'send'), await one(late, 'send')]).toEqual(['deny', 'deny']);
    expect([await one(bobs, 'send'), await one(second, 'send')]).toEqual(['allow', 'allow']);
    // A name is one run of the person, on whatever connection, and of nobody else.
    await one(first, 'page', 'task');
    expect([await one(second, 'send', 'task'), await one(late, 'send', 'task')]).toEqual(['deny', 'deny']);
    expect([await one(bobs, 'send', 'task'), await one(key, 'send', 'task')]).toEqual(['allow', 'allow']);
    now += REST + GRAIN;
    expect([await one(first, 'send'), await one(late, 'send')]).toEqual(['allow', 'allow']);
  });

  test('a run is removed an hour after its end, little by little, with all that belongs to it', async () => {
    const fill = async (name: string): Promise<FoundRun> => {
      await one(key, 'page', name);
      const run = (await listed()).find(each => each.name === name) as FoundRun;
      await store.db.transaction({}, async tx => {
        await addKnown(tx, run.number, ['a', 'b', 'c', 'd', 'e'], 100);
        insertCalls(tx, [{ run: run.number, call: 'call', toolCallId: newId(), trusted: true }]);
      });
      return run;
    };
    const left = async ({ number }: FoundRun): Promise<number[]> => {
      const counts: number[] = [];
      for (const [table, column] of [
        ['runs', 'number'],
        ['run_marks', 'run'],
        ['run_known', 'run'],
        ['run_calls', 'run'],
      ]) {
        const rows = await store.db.all(`SELECT 1 FROM ${table} WHERE ${column} = $1`, [number]);
        counts.push(rows.length);
      }
      return counts;
    };
    const [whole, none] = [
      [1, 1, 5, 1],
      [0, 0, 0, 0],
    ];
    const forget = async () => {
      const step = forgetRuns();
      while (await step(deps));
    };
    const ended = await fill('first');
    now += HOUR;
    const later = await fill('second');
    now = ended.endsAt + HOUR;
    await forget();
    expect([await left(ended), await left(later)]).toEqual([whole, whole]);
    now++;
    await forget();
    expect([await left(ended), await left(later)]).toEqual([none, whole]);
    // A batch is all that one transaction deletes.
    const step = () => store.db.transaction({}, tx => deleteEndedRuns(tx, later.endsAt + 1, 2));
    expect([await step(), await left(later)]).toEqual([true, [1, 1, 3, 1]]);
    expect([await step(), await left(later)]).toEqual([true, [1, 1, 1, 1]]);
    expect([await step(), await left(later)]).toEqual([true, [1, 1, 0, 0]]);
    expect([await step(), await left(later)]).toEqual([false, none]);
  });

  test('the runs of a key know so many values together, and further ones are counted', async () => {
    const learner = new Learner(deps, new CallerTurns(), undefined, 4);
    const learned = async (name: string, text: string) => {
      await one(key, 'page', name);
      const { number, id } = (await listed()).find(each => each.name === name) as FoundRun;
      await learner.learn({ number, id }, keyId, namedIn(text));
      now += MINUTE;
      const { known, dropped } = (await listed()).find(each => each.name === name) as FoundRun;
      return [known, dropped];
    };
    expect(await learned('first', 'ann bob')).toEqual([3, 0]);
    expect(await learned('second', 'ann bob')).toEqual([3, 0]);
    expect(await learned('third', 'ann bob')).toEqual([0, 3]);
  });
});
