// P28: a shadow changes nothing, and what is recorded of it is true. Two worlds have the same policies and the same random
// traffic (limits, approvals, grants, hours, conditions, sessions, changed tools, new versions), and in one of them the key
// has a shadow: verdicts, entries, approvals, grants, counts, events, deliveries and notifications are the same. Then new
// versions and other shadows come while checks are under way, on two replicas: each recorded verdict is that of a version
// which was current, from the answer to a change on. The mutants count a limit, open an approval, spend one, emit an
// event, let the decision of the shadow through, put calls off, or remember the shadow.

import { expect, test } from 'bun:test';
import { figures, random, SEED, sql, until, verdictOf, withMutant } from '../support/faults.ts';
import { type Answer, startLoad } from '../support/load.ts';
import type { Patch } from '../support/mutant.ts';
import { type Engine, startService, type TestService } from '../support/service.ts';
import { enginesWhenChanged, sized, whenChanged } from '../support/when-changed.ts';
import { nextStep, type Step, World } from './shadow-worlds.ts';

const STEPS = sized(4000, 400, 200);
/** At most, since a mutant's run ends with its first violation. */
const MUTANT_STEPS = 4000;
const HOUR = 3_600_000;

const ROUND = 'src/guard/check/round.ts';
const CASES = 'src/guard/check/cases.ts';
const JUDGE = 'const shadow = shadows.judge(each, question, asking?.approvals ?? null);';

const MUTANTS: Record<string, Patch[]> = {
  'that counts the limit of the shadow': [
    {
      file: CASES,
      find: 'metered: meteredBy(considered, key.id),',
      replace: 'metered: meteredBy(considered, key.id) ?? (shadow && meteredBy(shadow, key.id)),',
    },
  ],
  'that opens an approval for the shadow': [
    {
      file: ROUND,
      find: JUDGE,
      replace: `${JUDGE}
        if (shadow?.decision === 'pending' && question === undefined) {
          const { request, person } = each;
          const { policy, held, index: at } = each.shadow;
          const rule = policy.rules[held?.index ?? at];
          const about = { rule, ruleDigest: '', argsDigest: '', definitionDigest: null };
          const facts = { drift: each.drift, freedom: null, approvalLimit: null, usedUp: false };
          const entry = auditEntry(each, decide(each.considered, facts));
          const telling = { reason: 'r', args: request.args, person, carriers: [], subscribers: [], marks: [], now: group.now };
          ask(round.deps, round.tx, entry, about, telling);
        }`,
    },
  ],
  'that spends what would free the call': [
    {
      file: ROUND,
      find: JUDGE,
      replace: `${JUDGE}
        const freed = shadow !== null && question !== undefined ? asking?.approvals.freedom(question) : null;
        if (freed) await asking.approvals.spend(round.tx, freed, group.now);`,
    },
  ],
  'that emits an event': [
    {
      file: ROUND,
      find: JUDGE,
      replace: `${JUDGE}
        if (shadow?.decision === 'deny' && asking !== null)
          for (const { webhookId } of asking.approvals.subscribers)
            round.tx.defer(
              "INSERT INTO deliveries (id, event_id, webhook_id, status, attempts, leased_until, created_at) VALUES ($1, $2, $3, 'pending', 0, 0, 0)",
              [crypto.randomUUID(), crypto.randomUUID(), webhookId],
            );`,
    },
  ],
  'that lets the decision of the shadow through': [
    {
      file: ROUND,
      find: 'const decided = decide(considered, facts);',
      replace: 'const decided = decide(each.shadow ?? considered, facts);',
    },
    {
      file: ROUND,
      find: 'const decided = decide(considered, { drift,',
      replace: 'const decided = decide(each.shadow ?? considered, { drift,',
    },
  ],
  'that puts calls off for the steps of the shadow': [
    {
      file: CASES,
      find: 'shadowSteps += made.shadow?.steps ?? 0;',
      replace: 'steps += made.shadow?.steps ?? 0;',
    },
  ],
};

const both = await enginesWhenChanged('src/store/**', 'src/guard/**', 'src/core/decision/**');

for (const engine of both) {
  test(`${engine}: with a shadow everything is as without it`, async () => {
    const { violations, judged, differing } = await compareWorlds(engine, STEPS);
    expect(violations).toEqual([]);
    expect(judged).toBeGreaterThan(STEPS / 4);
    expect(differing).toBeGreaterThan(STEPS / 20);
  });
}

for (const [what, patches] of Object.entries(MUTANTS)) {
  whenChanged(...patches)(`sqlite: a mutant ${what} is found out`, async () => {
    const { violations } = await withMutant(patches, root =>
      compareWorlds('sqlite', MUTANT_STEPS, { what, root }),
    );
    expect(violations.length).toBeGreaterThan(0);
  });
}

/** Half an hour before it, so that no window ends at once, and ahead of the machine's time, which entries have. */
const begin = () => Math.ceil(Date.now() / HOUR) * HOUR + HOUR / 2;

async function compareWorlds(engine: Engine, most: number, mutant?: { what: string; root: string }) {
  const chance = random(SEED);
  const now = begin();
  const bare = await World.begin(engine, false, now, mutant?.root);
  const shadowed = await World.begin(engine, true, now, mutant?.root);
  const violations: string[] = [];
  let operations = 0;
  try {
    // A mutant is looked at now and then, because a leak may be seen only in the store.
    for (let steps = 0; steps < most && violations.length === 0; steps++) {
      const step = nextStep(chance);
      operations += sizeOf(step);
      const [without, withShadow] = [await bare.take(step), await shadowed.take(step)];
      if (without !== withShadow) violations.push(`${without}\nbut with a shadow\n${withShadow}`);
      if (mutant !== undefined && steps % 50 === 49) violations.push(...(await stored(bare, shadowed)));
    }
    if (violations.length === 0) violations.push(...(await stored(bare, shadowed)));
    const { judged, differing } = await shadowed.judged();
    const where = mutant === undefined ? engine : `${engine} mutant ${mutant.what}`;
    figures(`P28 ${where}`, { seed: SEED, operations, judged, differing, violations: violations.length });
    return { violations, judged, differing };
  } finally {
    await bare.end();
    await shadowed.end();
  }
}

const sizeOf = (step: Step): number => (step.kind === 'calls' ? step.calls.length : 1);

/** What differs in the stores of the two worlds. */
async function stored(bare: World, shadowed: World): Promise<string[]> {
  const [without, withShadow] = [await bare.seen(), await shadowed.seen()];
  return Object.keys(without).flatMap(name => {
    const [a = [], b = []] = [without[name], withShadow[name]];
    const at = a.findIndex((row, index) => row !== b[index]);
    if (at < 0 && a.length === b.length) return [];
    return [`${name}: ${a[at] ?? a.length} but with a shadow ${b[at] ?? b.length}`];
  });
}

// --- changes while checks are under way ------------------------------------------------------------

const CHANGES = sized(400, 40, 20);
const CONNECTIONS = 4;
const TOOLS = ['zero', 'one', 'two'];

const REMEMBERED: Patch = {
  file: CASES,
  find: 'return policies.get(shadowPolicyId, shadowPolicyVersion);',
  replace: `const kept = REMEMBERED.get(key.id);
  if (kept !== undefined && performance.now() - kept.at < 200) return kept.policy;
  const policy = policies.get(shadowPolicyId, shadowPolicyVersion);
  REMEMBERED.set(key.id, { at: performance.now(), policy });
  return policy;
}
const REMEMBERED = new Map();
function never() {`,
};

for (const engine of both) {
  test(`${engine}: what is recorded is the verdict of a version that was current`, async () => {
    const { violations, recorded } = await changeInFlight(engine, CHANGES);
    expect(violations).toEqual([]);
    expect(recorded).toBeGreaterThan(CHANGES);
  });
}

whenChanged(REMEMBERED)('sqlite: a mutant that remembers the shadow is found out', async () => {
  const { violations } = await withMutant([REMEMBERED], root => changeInFlight('sqlite', CHANGES, root));
  expect(violations.length).toBeGreaterThan(0);
});

/** A version allows one tool, asks for the next and denies the rest, so that each says something else. */
const rulesOf = (version: number) => [
  { tool: TOOLS[version % 3], action: 'allow' },
  { tool: TOOLS[(version + 1) % 3], action: 'require_approval' },
];
const decisionOf = (version: number, tool: string): string =>
  ['allow', 'pending', 'deny'][(TOOLS.indexOf(tool) - (version % 3) + 3) % 3] as string;

interface Recorded {
  id: string;
  decision: string;
  toolName: string;
  policyId: string | null;
  policyVersion: number | null;
  shadowDecision: string | null;
}

/** What the shadow was between two changes: `from` when the change was answered, `to` when the next one was sent. */
interface Current {
  policyId: string;
  version: number;
  sent: number;
  answered: number;
}

async function changeInFlight(engine: Engine, changes: number, root?: string) {
  const options = { engine, ...(root && { root }) };
  const first = await startService(options);
  const replicas: TestService[] = [first];
  const answers: Answer[] = [];
  try {
    if (engine === 'postgres')
      replicas.push(await startService({ ...options, databaseUrl: first.databaseUrl }));
    const shadows = await Promise.all([1, 2].map(() => newShadow(first)));
    const { key, keyId } = await first.newKey([{ tool: '*', action: 'allow' }], {
      shadowPolicyId: shadows[0]?.policyId,
    });
    const history: Current[] = [{ ...(shadows[0] as Version), sent: 0, answered: 0 }];
    let asked = 0;
    const loads = replicas.map(replica =>
      startLoad({
        connections: CONNECTIONS,
        url: () => replica.url,
        next: () => ({
          token: key,
          body: JSON.stringify({ serverName: 's', toolName: TOOLS[asked++ % TOOLS.length] }),
        }),
        answered: answer => answers.push(answer),
      }),
    );
    for (let change = 0; change < changes; change++) {
      const enough = answers.length + CONNECTIONS;
      await until('answers', () => answers.length >= enough);
      history.push(await changed(replicas[change % replicas.length] as TestService, keyId, shadows, history));
    }
    await Promise.all(loads.map(load => load.stop()));
    const entries = await sql<Recorded>(
      first.databaseUrl,
      `SELECT id, decision, tool_name AS "toolName", shadow_policy_id AS "policyId",
         shadow_policy_version AS "policyVersion", shadow_decision AS "shadowDecision" FROM audit`,
    );
    const violations = faultsOf(answers, entries, history);
    figures(`P28 ${engine} changes${root ? ' mutant' : ''}`, {
      seed: SEED,
      operations: answers.length,
      faults: changes,
      recorded: entries.length,
      violations: violations.length,
    });
    return { violations: violations.slice(0, 5), recorded: entries.length };
  } finally {
    for (const replica of replicas.toReversed()) await replica.close();
  }
}

interface Version {
  policyId: string;
  version: number;
}

async function newShadow(service: TestService): Promise<Version> {
  const name = crypto.randomUUID();
  const made = await service.admin('POST', '/policies', { name, rules: rulesOf(1) });
  return { policyId: made.body.id, version: 1 };
}

/** A new version of the shadow, and now and then the other shadow. */
async function changed(
  service: TestService,
  keyId: string,
  shadows: Version[],
  history: readonly Current[],
): Promise<Current> {
  const current = history.at(-1) as Current;
  const other = shadows.find(each => each.policyId !== current.policyId) as Version;
  const own = shadows.find(each => each.policyId === current.policyId) as Version;
  const sent = performance.now();
  if (history.length % 4 === 0) {
    const { status } = await service.admin('PATCH', `/keys/${keyId}`, { shadowPolicyId: other.policyId });
    expect(status).toBe(200);
    return { ...other, sent, answered: performance.now() };
  }
  own.version++;
  const put = await service.admin('PUT', `/policies/${own.policyId}`, { rules: rulesOf(own.version) });
  expect(put.body.version).toBe(own.version);
  return { ...own, sent, answered: performance.now() };
}

/** Each call was allowed, and its shadow is one that was current at some time between its request and its answer. */
function faultsOf(answers: readonly Answer[], entries: readonly Recorded[], history: readonly Current[]) {
  const byId = new Map(entries.map(entry => [entry.id, entry]));
  return answers.flatMap(answer => {
    const verdict = verdictOf(answer);
    const entry = byId.get(verdict?.toolCallId ?? '');
    if (verdict?.decision !== 'allow' || entry === undefined) return [`${answer.status} ${answer.text}`];
    const { policyId, policyVersion, toolName, shadowDecision } = entry;
    const version = Number(policyVersion);
    const current = history.some(
      (each, at) =>
        each.policyId === policyId &&
        each.version === version &&
        each.sent <= answer.receivedAt &&
        (history[at + 1]?.answered ?? Number.POSITIVE_INFINITY) >= answer.sentAt,
    );
    if (!current) return [`version ${version} of ${policyId} was not current`];
    return decisionOf(version, toolName) === shadowDecision
      ? []
      : [`${shadowDecision} by version ${version}`];
  });
}
