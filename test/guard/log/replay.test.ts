// Replay against brute force: real checks with random policies, calls and times write a log, while the policy changes and
// the log is counted. Then random drafts are replayed. The same calls are really checked under each draft in a second
// store, and each entry is tried by itself: what a replay says to be sure must be what those checks gave, and its sums
// and examples must be those of the single entries.

import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import type { Decision } from '../../../src/core/decision/decide.ts';
import { recordedReason } from '../../../src/core/decision/recorded-reason.ts';
import type { RecordedCall } from '../../../src/core/foresight/evidence.ts';
import { outcomeOf } from '../../../src/core/foresight/replay.ts';
import { type CompiledPolicy, compilePolicy } from '../../../src/core/policy/compiled-policy.ts';
import { ACTIONS, type Limits, type Rule } from '../../../src/core/policy/policy.ts';
import { DAY, HOUR, MINUTE } from '../../../src/core/time/duration.ts';
import type { Json, JsonObject } from '../../../src/core/wire/json.ts';
import { createPolicy, replacePolicy } from '../../../src/guard/check/policies.ts';
import type { Verdict } from '../../../src/guard/check/request.ts';
import type { Deps } from '../../../src/guard/deps.ts';
import { timeOfId } from '../../../src/guard/ids.ts';
import { createKey } from '../../../src/guard/keys.ts';
import type { Difference } from '../../../src/guard/log/differences.ts';
import { type Replay, replay } from '../../../src/guard/log/replay.ts';
import { rollUp } from '../../../src/guard/log/rollups.ts';
import { mintSession } from '../../../src/guard/sessions.ts';
import { findAudit, insertAudit } from '../../../src/store/log/audit.ts';
import type { AuditEntry } from '../../../src/store/log/audit-entry.ts';
import { type Random, seeded } from '../../core/oracle.ts';
import { idAt, NOW, openStore, type TestStore } from '../../store/stores.ts';
import { SEED } from '../../support/faults.ts';
import { countTurns } from '../../support/turns.ts';
import { enginesWhenChanged } from '../../support/when-changed.ts';
import { untimed } from '../check/untimed.ts';
import { depsAt } from '../deps.ts';
import { decidedBy } from '../group.ts';

const CONDITIONS = [
  'args.a',
  '!args.b',
  'has(args.n)',
  'args.n > 1 || args.a',
  'tool.name == "read" || args.b',
  'key.name == "second"',
  'surface == "mcp"',
  'has(session.label)',
];
const HOURS = ['mon-fri', '08:00-18:00 Europe/Berlin', 'mon-sun'];
const TOOLS = ['read', 'write', 'drop'];
const SERVERS = ['db', 'db2'];
const PATTERNS = ['*', 'db__*', 'read', 'db__drop', '*r*', 'db2__write'];
/** It is never used up: replays leave limits out. */
const LIMITS: Limits = { many: { calls: 1_000_000, each: 'day' } };
const KEYS = ['first', 'second'];
/** The seed of a run in which many calls change, many do not, and of many that depends on arguments. */
const MIXED = 6;

interface Call {
  at: number;
  key: string;
  session: 'free' | 'scoped' | null;
  surface: 'check' | 'mcp';
  serverName: string;
  toolName: string;
  args: JsonObject;
}

const pick = <T>(random: Random, items: readonly T[]): T => items[random(items.length)] as T;

function randomRule(random: Random, conditions: readonly string[]): Rule {
  const when = Array.from({ length: random(3) }, () => pick(random, conditions));
  const action = pick(random, ACTIONS);
  return {
    tool: pick(random, PATTERNS),
    action,
    ...(conditions.length > 0 && when.length > 0 && { when }),
    ...(conditions.length > 0 && random(5) === 0 && { during: pick(random, HOURS) }),
    ...(action === 'allow' && random(5) === 0 && { limit: 'many' }),
    ...(action === 'require_approval' && random(4) === 0 && { approvers: { group: 'ops', count: 2 } }),
  };
}

const randomRules = (random: Random, conditions = CONDITIONS): Rule[] =>
  Array.from({ length: random(6) }, () => randomRule(random, conditions));

/** A policy after a few edits. */
function edited(random: Random, rules: readonly Rule[]): Rule[] {
  const draft = [...rules];
  for (let edits = 1 + random(2); edits > 0; edits--) {
    const at = random(draft.length + 1);
    const old = draft[at];
    if (old === undefined || random(3) === 0) draft.splice(at, 0, randomRule(random, CONDITIONS));
    else if (random(2) === 0) draft.splice(at, 1);
    else draft[at] = { tool: old.tool, action: pick(random, ACTIONS), ...(old.when && { when: old.when }) };
  }
  return draft;
}

function randomCall(random: Random, at: number): Call {
  const args: Record<string, Json> = {};
  for (const name of ['a', 'b']) if (random(4) > 0) args[name] = random(2) === 0;
  if (random(3) > 0) args['n'] = random(4);
  return {
    at,
    key: pick(random, [...KEYS, 'stranger']),
    session: pick(random, [null, null, 'free', 'scoped']),
    surface: pick(random, ['check', 'mcp']),
    serverName: pick(random, SERVERS),
    toolName: pick(random, TOOLS),
    args,
  };
}

/** A store in which two keys have the policy that is tried, and a third one has another policy. */
class World {
  clock = NOW;
  readonly store: TestStore;
  readonly deps: Deps;
  readonly keys = new Map<string, string>();
  policyId = '';
  version = 1;

  constructor(store: TestStore) {
    this.store = store;
    const deps = depsAt(store.db, () => this.clock);
    const many = { maxOpenApprovalsPerKey: 1_000_000, maxOpenApprovalsPerSession: 1_000_000 };
    this.deps = { ...deps, settings: { ...deps.settings, ...many } };
  }

  async begin(rules: readonly Rule[]): Promise<void> {
    for (const name of ['tried', 'other']) {
      const input = { name, description: '', rules, limits: LIMITS };
      const policy = await createPolicy(this.deps, 'admin', input);
      if (name === 'tried') this.policyId = policy.id;
      for (const key of name === 'tried' ? KEYS : ['stranger']) {
        const about = { name: key, policyId: policy.id, requireSignInToApprove: false, expiresAt: null };
        const made = await createKey(this.deps, 'admin', { ...about, notify: null, forward: [] });
        this.keys.set(key, made.key.id);
      }
    }
  }

  async change(rules: readonly Rule[]): Promise<void> {
    await replacePolicy(this.deps, 'admin', this.policyId, { rules, limits: LIMITS });
    this.version++;
  }

  /** Really checks calls that were made at the same time. */
  async check(calls: readonly Call[]): Promise<Verdict[]> {
    this.clock = calls[0]?.at ?? this.clock;
    const sessions = new Map<string, string>();
    for (const { key, session } of calls) {
      const name = `${key} ${session}`;
      if (session === null || sessions.has(name)) continue;
      const scopeTools = session === 'free' ? null : ['db__read', 'db2__write'];
      const minted = await mintSession(this.deps, this.#principal(key, null), {
        label: session,
        ttlMinutes: 5,
        scopeTools,
      });
      sessions.set(name, minted.session.id);
    }
    const requests = calls.map(({ key, session, surface, serverName, toolName, args }) => ({
      principal: this.#principal(key, session === null ? null : (sessions.get(`${key} ${session}`) ?? null)),
      surface,
      call: { serverName, toolName },
      args,
      referenceId: null,
      startedAt: performance.now(),
    }));
    const answers = await decidedBy(this.store.db, untimed(this.deps), requests);
    return answers as Verdict[];
  }

  #principal(key: string, sessionId: string | null) {
    const kind = sessionId === null ? ('key' as const) : ('session' as const);
    return { kind, keyId: this.keys.get(key) as string, sessionId, scope: null };
  }
}

type Entry = RecordedCall & { id: string };

/** What a replay should come to, entry by entry. */
function bruteForce(
  entries: readonly Entry[],
  outcomes: ReadonlyMap<string, Decision | 'depends'>,
): Omit<Replay, 'from' | 'to'> {
  const changes = new Map<string, Difference>();
  let [changed, depends] = [0, 0];
  for (const { id, serverName, toolName, keyId, decision } of entries) {
    const to = outcomes.get(id) as Decision | 'depends';
    if (to === 'depends') depends++;
    if (to === 'depends' || to === decision) continue;
    changed++;
    const name = JSON.stringify([serverName, toolName, keyId, decision, to]);
    const group = { serverName, toolName, keyId, from: decision, to, calls: 0, examples: [] };
    const change: Difference = changes.get(name) ?? group;
    change.calls++;
    if (change.examples.length < 5) change.examples.push(id);
    changes.set(name, change);
  }
  const sorted = [...changes].sort(([a, one], [b, other]) => other.calls - one.calls || (a < b ? -1 : 1));
  return { calls: entries.length, changed, depends, earlier: 0, changes: sorted.map(([, change]) => change) };
}

for (const engine of await enginesWhenChanged('src/store/**', 'src/guard/log/**', 'src/guard/check/**')) {
  describe(engine, () => {
    let real: World;
    let drafts: World;
    beforeEach(async () => {
      real = new World(await openStore(engine));
      drafts = new World(await openStore(engine));
    });
    afterEach(async () => {
      await real.store.close();
      await drafts.store.close();
    });

    /** The entries of the policy, newest first. */
    const log = () =>
      real.store.db.all<Entry>(
        `SELECT id, key_id AS "keyId", server_name AS "serverName", tool_name AS "toolName", decision, reason,
           policy_id AS "policyId", policy_version AS "policyVersion", rule_index AS "ruleIndex",
           person_id AS "personId" FROM audit WHERE policy_id = $1 ORDER BY id DESC`,
        [real.policyId],
      );
    /** Gives the entries of verdicts ids of the time in the test, because ids have the time of the machine. */
    async function moved(verdicts: readonly Verdict[], at: number, more: Partial<AuditEntry> = {}) {
      const { db } = real.store;
      const entries: AuditEntry[] = [];
      for (const { toolCallId } of verdicts) {
        const found = (await findAudit(db, toolCallId)) as AuditEntry;
        entries.push({ ...found, ...more, id: idAt(at, entries.length) });
        await db.run('DELETE FROM audit_entries WHERE id = $1', [toolCallId]);
      }
      await db.transaction({}, tx => insertAudit(tx, entries));
      return entries.map(entry => entry.id);
    }
    const compiled = (rules: readonly Rule[], version: number): CompiledPolicy =>
      compilePolicy({ id: real.policyId, name: 'tried', version, rules, limits: LIMITS });

    for (const seed of [MIXED, SEED]) {
      test(`what is sure is what real checks give, and the sums are those of the entries (seed ${seed})`, async () => {
        const random = seeded(seed);
        const versions = [randomRules(random)];
        await real.begin(versions[0] as Rule[]);
        await drafts.begin([]);
        const calls = new Map<string, Call>();
        const seen = { changed: 0, depends: 0, same: 0 };
        for (let round = 0; round < 12; round++) {
          if (random(3) === 0) {
            versions.push(edited(random, versions.at(-1) as Rule[]));
            await real.change(versions.at(-1) as Rule[]);
          }
          const at = real.clock + 1 + random(pick(random, [MINUTE, HOUR, DAY, 5 * DAY]));
          const batch = Array.from({ length: 15 }, () => randomCall(random, at));
          const ids = await moved(await real.check(batch), at);
          ids.forEach((id, index) => {
            calls.set(id, batch[index] as Call);
          });
          for (let steps = random(5); steps > 0; steps--) await rollUp(real.deps);
          if (round % 3 < 2) continue;

          const isPlain = random(3) === 0;
          const rules = isPlain ? randomRules(random, []) : edited(random, versions.at(-1) as Rule[]);
          const draft = compiled(rules, 0);
          await drafts.change(rules);
          const checked = await checkAll(calls);
          const from = random(2) === 0 ? 0 : NOW + random(real.clock - NOW);
          real.clock += MINUTE;
          const found = await replay(real.deps, draft, from, real.clock);
          const entries = (await log()).filter(
            ({ id }) => timeOfId(id) >= found.from && timeOfId(id) < found.to,
          );
          const outcomes = new Map(
            entries.map(entry => {
              const recorded = compiled(versions[entry.policyVersion - 1] as Rule[], entry.policyVersion);
              const keyName = calls.get(entry.id)?.key as string;
              // Nobody frees anything here.
              const outcome = outcomeOf(draft, entry, { recorded, keyName }) as Decision | 'depends';
              return [entry.id, outcome] as const;
            }),
          );
          for (const { id, decision } of entries) {
            const outcome = outcomes.get(id) as Decision | 'depends';
            if (outcome !== 'depends') expect([id, outcome]).toEqual([id, checked.get(id) as Decision]);
            seen[outcome === 'depends' ? 'depends' : outcome === decision ? 'same' : 'changed']++;
          }
          const { from: _, to: __, ...sums } = found;
          // Nothing depends on arguments if the draft does not read them, so the real checks say everything.
          expect(sums).toEqual(bruteForce(entries, isPlain ? checked : outcomes));
        }
        // Of each there are many with the fixed seed; otherwise the comparison would say little.
        if (seed === MIXED) expect(Math.min(seen.changed, seen.depends, seen.same)).toBeGreaterThan(100);
      });
    }

    /** The decisions of the draft about all calls so far, by the ids of their entries. */
    async function checkAll(calls: ReadonlyMap<string, Call>): Promise<Map<string, Decision>> {
      const decisions = new Map<string, Decision>();
      for (const batch of Map.groupBy(calls, ([, { at }]) => at).values()) {
        const verdicts = await drafts.check(batch.map(([, call]) => call));
        verdicts.forEach(({ decision }, index) => {
          decisions.set(batch[index]?.[0] as string, decision);
        });
      }
      return decisions;
    }

    test('a gate that people opened is not called unchanged when a draft removes it', async () => {
      const asks: Rule = { tool: 'pay', action: 'require_approval' };
      await real.begin([asks, { tool: '*', action: 'allow' }]);
      const call = { ...randomCall(seeded(1), NOW), key: 'first', session: null, serverName: 'db' };
      const [paid, other] = await real.check([
        { ...call, toolName: 'pay' },
        { ...call, toolName: 'look' },
      ]);
      const freed = { by: 'grant', is: 'freed', referenceId: '7' } as const;
      const reason = recordedReason({ answer: freed, code: 'asks', policy: 'p', rule: 0 });
      await moved([paid as Verdict], NOW, { decision: 'allow', reason });
      await moved([other as Verdict], NOW + 1);
      real.clock += HOUR;
      const outcome = async (...rules: Rule[]) => {
        const { changed, changes } = await replay(real.deps, compiled(rules, 0), 0, real.clock);
        return [changed, ...changes.map(({ toolName, from, to }) => `${toolName}: ${from} -> ${to}`)];
      };
      const rest: Rule = { tool: '*', action: 'allow' };
      expect(await outcome(rest)).toEqual([1, 'pay: pending -> allow']);
      expect(await outcome({ ...asks, when: 'true' }, rest)).toEqual([0]);
      expect(await outcome({ tool: 'pay', action: 'deny' }, rest)).toEqual([1, 'pay: allow -> deny']);
    });

    test('of a call that an earlier version recorded, only what its rules cannot change is known', async () => {
      await real.begin([{ tool: '*', action: 'allow', when: 'surface == "check"' }]);
      const call = { ...randomCall(seeded(1), NOW), key: 'first', session: null, serverName: 'db' };
      const verdicts = await real.check([{ ...call, toolName: 'look' }]);
      const [{ reason }] = verdicts as [Verdict];
      expect(reason).toBe('Rule 0 of policy "tried" allows db__look.');
      const outcome = async (draft: Rule) => {
        const { changed, depends, earlier } = await replay(real.deps, compiled([draft], 0), 0, real.clock);
        return { changed, depends, earlier };
      };
      const other: Rule = { tool: 'look', action: 'require_approval', when: 'surface == "check"' };
      await moved(verdicts, NOW);
      real.clock += HOUR;
      expect(await outcome(other)).toEqual({ changed: 1, depends: 0, earlier: 0 });
      await real.store.db.run('UPDATE audit_contexts SET reason = $1', [reason]);
      expect(await outcome(other)).toEqual({ changed: 0, depends: 1, earlier: 1 });
      const same: Rule = { tool: 'look', action: 'allow', when: 'surface == "check"' };
      expect(await outcome(same)).toEqual({ changed: 0, depends: 0, earlier: 0 });
      expect(await outcome({ tool: 'look', action: 'deny' })).toEqual({ changed: 1, depends: 0, earlier: 0 });
    });

    test('checks get their turns while a draft is replayed', async () => {
      await real.begin([{ tool: '*', action: 'allow' }]);
      const tools = Array.from({ length: 1500 }, (_, n) => `tool-${n}`);
      for (let at = 0; at < tools.length; at += 250) {
        const call = { ...randomCall(seeded(1), NOW + at), key: 'first', session: null, serverName: 'db' };
        const verdicts = await real.check(tools.slice(at, at + 250).map(toolName => ({ ...call, toolName })));
        await moved(verdicts, NOW + at);
      }
      real.clock += HOUR;
      while (await rollUp(real.deps));
      const turns = countTurns();
      const found = await replay(
        real.deps,
        compiled([{ tool: 'tool-1*', action: 'allow' }], 0),
        0,
        real.clock,
      );
      expect(turns.stop()).toBeGreaterThan(3);
      expect(found).toMatchObject({ calls: 1500, changed: 889, depends: 0 });
      expect(found.changes).toHaveLength(889);
      expect(found.changes[0]).toMatchObject({ toolName: 'tool-0', from: 'allow', to: 'deny', calls: 1 });
    });
  });
}
