// P24: in no window do more calls commit than a limit allows, and what is counted equals what the log allows. Limits of
// every kind under load, while replicas with wrong clocks are killed, time passes, the log cannot be written for a
// moment, new versions of the policy come and people approve what exceeds a limit. The audit log, by its own times, is
// compared with the counts and the limits. The mutants count without a lock, after the commit, beside the transaction,
// for too short a time, or go by the wrong clock.

import { expect, test } from 'bun:test';
import { canCompile } from '../support/clock.ts';
import { figures, random, SEED, sql, until, verdictOf, withMutant } from '../support/faults.ts';
import { type Answer, type Sent, startLoad } from '../support/load.ts';
import type { Patch } from '../support/mutant.ts';
import { LONG, need } from '../support/need.ts';
import type { Engine } from '../support/service.ts';
import { enginesWhenChanged, whenChanged } from '../support/when-changed.ts';
import { argsOf, type Found, meteredFaults, TOOLS, VERSIONS, type Version } from './metered.ts';
import { SkewedReplicas } from './skewed-replicas.ts';

const CLOCKED = need(canCompile(), 'cc, a compiler for the clocks');
const CYCLE = 45;
const STEPS = LONG ? 10 * CYCLE : CYCLE;
/**
 * How often a mutant is tried, each time over the end of an hour. One that goes by the wrong clock shows only there, and
 * not in every run. A run ends with the first violation.
 */
const MOST_CAMPAIGNS = 8;
/** Seconds between two steps. */
const MOST_PASSED = 14;
/** How many answers there are at least between two steps. */
const ANSWERS = 20;
const CONNECTIONS = 8;
const KEYS = 2;
const APPROVE_EVERY = 4;
/** The clocks of two replicas; SQLite has one. */
const SKEWS: Record<Engine, number[]> = { sqlite: [0], postgres: [60, -30] };
const ENV = { TOOLGATE_LOG_LEVEL: 'silent', TOOLGATE_MAX_OPEN_APPROVALS_PER_KEY: '20' };

type Happening = (campaign: Campaign) => Promise<void>;
/** By the step at which it happens. */
type Happenings = Record<number, Happening>;

interface Mutant {
  patches: Patch[];
  engine: Engine;
  skews: number[];
  happenings?: Happenings;
  steps?: number;
}

const kill =
  (index: number): Happening =>
  ({ replicas }) =>
    replicas.killAndRestart(index % replicas.size);

const nextVersion: Happening = campaign => campaign.putVersion();

/** The entries cannot be written: every check fails, and nothing of it may count. */
const breakLog: Happening = async ({ replicas, answers }) => {
  const failed = () => answers.failed;
  const before = failed();
  await sql(replicas.databaseUrl, 'ALTER TABLE audit_entries RENAME TO audit_elsewhere');
  await until('checks that fail', () => failed() >= before + CONNECTIONS);
  await sql(replicas.databaseUrl, 'ALTER TABLE audit_elsewhere RENAME TO audit_entries');
};

const HAPPENINGS: Happenings = {
  4: kill(0),
  8: nextVersion,
  12: breakLog,
  16: nextVersion,
  22: kill(1),
  28: nextVersion,
  34: nextVersion,
  40: kill(0),
};

const COUNT = 'limits?.write(tx);';
const CHECK = 'src/guard/check/check.ts';

const MUTANTS: Record<string, Mutant> = {
  'that takes no lock': {
    patches: [
      {
        file: 'src/guard/check/limits.ts',
        find: 'tx.lock({ exclusive: locks }),',
        replace: 'tx.lock({ exclusive: locks.slice(0, 0) }),',
      },
    ],
    engine: 'postgres',
    skews: [0, 0],
  },
  'that counts after the commit': {
    patches: [
      { file: CHECK, find: COUNT, replace: 'this.#uncounted = limits;' },
      {
        file: CHECK,
        find: 'this.#log.committed();',
        replace: `this.#log.committed();
    const uncounted = this.#uncounted;
    setTimeout(() => this.#deps.db.transaction({}, async tx => uncounted?.write(tx)), 1);`,
      },
      {
        file: CHECK,
        find: 'readonly #log = new AuditWriter();',
        replace: 'readonly #log = new AuditWriter();\n  #uncounted: LimitFacts | null = null;',
      },
    ],
    engine: 'sqlite',
    skews: [0],
    happenings: { 2: kill(0) },
  },
  'whose counts are not undone': {
    patches: [
      {
        file: CHECK,
        find: COUNT,
        replace: 'await this.#deps.db.transaction({}, async own => limits?.write(own));',
      },
    ],
    engine: 'postgres',
    skews: [0],
    happenings: { 0: breakLog },
    steps: 2,
  },
  'whose rolling window ends a part too early': {
    patches: [
      {
        file: 'src/core/policy/limit.ts',
        find: '(Math.floor(now / part) + 1) * part',
        replace: 'Math.floor(now / part) * part',
      },
    ],
    engine: 'sqlite',
    skews: [0],
  },
  'that decides by the later clock': {
    patches: [
      {
        file: 'src/guard/check/limits.ts',
        find: 'decidedAt: Math.min(before, storeTime)',
        replace: 'decidedAt: Math.max(before, storeTime)',
      },
    ],
    engine: 'postgres',
    skews: SKEWS.postgres,
  },
};

const both = await enginesWhenChanged('src/store/**', 'src/guard/**', 'src/core/policy/**');

for (const engine of both) {
  test.skipIf(!CLOCKED)(`${engine}: no limit is exceeded, and every allow is counted once`, async () => {
    const { violations, allowed, freed, steps } = await measure(engine, {
      engine,
      skews: SKEWS[engine],
      happenings: HAPPENINGS,
      steps: STEPS,
    });
    expect(violations).toEqual([]);
    expect(steps).toBe(STEPS);
    expect(freed).toBeGreaterThan(0);
    // All limits have been used up, and their windows have passed, more than once.
    expect(allowed).toBeGreaterThan(200);
  });
}

for (const [what, mutant] of Object.entries(MUTANTS)) {
  if (!both.includes(mutant.engine)) continue;
  whenChanged(...mutant.patches).skipIf(!CLOCKED)(
    `${mutant.engine}: a mutant ${what} is found out`,
    async () => {
      const violations = await withMutant(mutant.patches, async root => {
        let found = 0;
        for (let campaign = 0; campaign < MOST_CAMPAIGNS && found === 0; campaign++) {
          const tried = { ...mutant, seed: SEED + campaign };
          found = (await measure(`${mutant.engine} mutant ${what}`, tried, root)).violations.length;
        }
        return found;
      });
      expect(violations).toBeGreaterThan(0);
    },
  );
}

// --- measuring -----------------------------------------------------------------------------------

/** How often a mutant is looked at. */
const LOOK_EVERY = 5;

async function measure(
  where: string,
  {
    engine,
    skews,
    happenings = {},
    steps: most = CYCLE,
    seed = SEED,
  }: Omit<Mutant, 'patches'> & { seed?: number },
  root?: string,
): Promise<Found & { steps: number }> {
  const chance = random(seed);
  const options = { engine, skews, env: ENV, ...(root && { root }) };
  const replicas = await SkewedReplicas.start(options, secondsToTheHour() - 170);
  try {
    const campaign = await Campaign.begin(replicas, chance);
    let found = await campaign.found(true);
    let steps = 0;
    for (; steps < most && !(root && found.violations.length > 0); steps++) {
      await campaign.answersMore(ANSWERS);
      await happenings[steps % CYCLE]?.(campaign);
      if (steps % APPROVE_EVERY === 0) await campaign.approveNext();
      await replicas.pass(1 + Math.floor(chance() * MOST_PASSED));
      if (root && steps % LOOK_EVERY === 0) found = await campaign.found(true);
    }
    await campaign.end();
    found = await campaign.found(false);
    const { answered, failed } = campaign.answers;
    figures(`P24 ${where}`, {
      seed,
      operations: answered,
      failed,
      allowed: found.allowed,
      freed: found.freed,
      faults: steps,
      violations: found.violations.length,
    });
    return { ...found, steps };
  } finally {
    await replicas.close();
  }
}

const secondsToTheHour = (): number => 3600 - (Math.floor(Date.now() / 1000) % 3600);

/** The load on all replicas, and what people do meanwhile. */
class Campaign {
  readonly replicas: SkewedReplicas;
  readonly answers = { answered: 0, failed: 0 };
  readonly #policyId: string;
  readonly #tokens: string[];
  readonly #chance: () => number;
  readonly #loads: { stop: () => Promise<void> }[];
  /** Calls that somebody approved, to be made again. */
  readonly #approved: Sent[] = [];
  readonly #pending: { token: string; referenceId: string }[] = [];
  #approvals = 0;
  /** All versions of the policy so far. */
  readonly #versions: Version[] = [VERSIONS[0] as Version];

  static async begin(replicas: SkewedReplicas, chance: () => number): Promise<Campaign> {
    const service = replicas.service(0);
    const policy = await service.admin('POST', '/policies', { name: 'metered', ...VERSIONS[0] });
    if (policy.status !== 201) throw new Error(policy.text);
    const tokens: string[] = [];
    for (let number = 0; number < KEYS; number++) {
      const made = await service.admin('POST', '/keys', { name: `key ${number}`, policyId: policy.body.id });
      const { token } = (await service.json('POST', '/v1/sessions', made.body.key, {})).body;
      tokens.push(made.body.key, token);
    }
    return new Campaign(replicas, policy.body.id, tokens, chance);
  }

  private constructor(replicas: SkewedReplicas, policyId: string, tokens: string[], chance: () => number) {
    this.replicas = replicas;
    this.#policyId = policyId;
    this.#tokens = tokens;
    this.#chance = chance;
    this.#loads = Array.from({ length: replicas.size }, (_, index) =>
      startLoad({
        connections: CONNECTIONS,
        url: () => replicas.service(index).url,
        next: () => this.#approved.pop() ?? this.#next(),
        answered: answer => this.#take(answer),
      }),
    );
  }

  async answersMore(count: number): Promise<void> {
    const enough = this.answers.answered + count;
    await until('answers', () => this.answers.answered >= enough, 60_000);
  }

  async putVersion(): Promise<void> {
    const next = VERSIONS[this.#versions.length % VERSIONS.length] as Version;
    this.#versions.push(next);
    const put = await this.replicas.service(0).admin('PUT', `/policies/${this.#policyId}`, next);
    if (put.status !== 200) throw new Error(put.text);
  }

  /** Somebody approves a call that waits, every second time for a while, and it is made again. */
  async approveNext(): Promise<void> {
    const pending = this.#pending.shift();
    if (pending === undefined) return;
    const { token, referenceId } = pending;
    const duration = this.#approvals++ % 2 === 0 ? {} : { duration: '2m' };
    const path = `/approvals/${referenceId}/resolve`;
    await this.replicas.service(0).admin('POST', path, { action: 'approve', ...duration });
    this.#approved.push({ token, body: bodyOf('asked', { referenceId }) });
  }

  async end(): Promise<void> {
    await Promise.all(this.#loads.map(load => load.stop()));
    await this.replicas.kill();
  }

  found(underWay: boolean): Promise<Found> {
    return meteredFaults(this.replicas.databaseUrl, this.#policyId, this.#versions, underWay);
  }

  #pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.#chance() * list.length)] as T;
  }

  #next(): Sent {
    const toolName = this.#pick(TOOLS);
    return { token: this.#pick(this.#tokens), body: bodyOf(toolName) };
  }

  #take(answer: Answer): void {
    const verdict = verdictOf(answer);
    this.answers[verdict === null ? 'failed' : 'answered']++;
    if (verdict?.decision === 'pending')
      this.#pending.push({ token: answer.token, referenceId: verdict.referenceId ?? '' });
  }
}

function bodyOf(toolName: string, more: { referenceId?: string } = {}): string {
  return JSON.stringify({ serverName: 'bank', toolName, args: argsOf(toolName), ...more });
}
