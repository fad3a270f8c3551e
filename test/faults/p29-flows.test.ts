// P29: no call that was sent after the verdict of a marking call is decided without the mark, and no value is known that
// nobody trusted has named. Several callers of the same runs, on two replicas, while processes are killed and the store
// refuses for a moment. The mutants write marks after the commit, remember them, use one key for the digests of all runs,
// take the results of any call, or cut digests too short.

import { expect, test } from 'bun:test';
import type { Rule } from '../../src/core/policy/policy.ts';
import { figures, newDataDir, random, SEED, sql, until, withMutant } from '../support/faults.ts';
import type { Patch } from '../support/mutant.ts';
import { type Engine, startService, type TestService } from '../support/service.ts';
import { enginesWhenChanged, sized, whenChanged } from '../support/when-changed.ts';

const RULES: Rule[] = [
  { tool: 'web__read', action: 'allow', marks: 'untrusted' },
  { tool: 'crm__read', action: 'allow', known: 'results' },
  { tool: 'mail__send', action: 'allow', when: '!("untrusted" in marks)' },
  { tool: 'bank__pay', action: 'allow', when: 'known(args.to)' },
];
/** How many calls are answered, and what happens meanwhile. */
const ANSWERS = sized(20_000, 1500, 600);
const MUTANT_ANSWERS = 3000;
const CALLERS = 8;
/** A run is called so often, and then another one takes its place. */
const CALLS_PER_RUN = 40;
const RUNS = 3;
/** Every so many answers a replica is killed, or the store refuses. */
const FAULT_EVERY = 250;
const ENV = { TOOLGATE_LOG_LEVEL: 'silent' };

const RUNS_FILE = 'src/guard/check/runs.ts';

const MUTANTS: Record<string, { patches: Patch[]; engine: Engine }> = {
  'that writes marks after the commit': {
    engine: 'sqlite',
    patches: [
      {
        file: RUNS_FILE,
        find: 'if (this.#marks.length > 0) insertMarks(tx, this.#marks);',
        replace: `const late = this.#marks;
    setTimeout(() => this.#deps.db.transaction({}, async own => insertMarks(own, late)), 20);`,
      },
    ],
  },
  'that remembers marks': {
    engine: 'postgres',
    patches: [
      {
        file: RUNS_FILE,
        find: 'for (const found of await this.#find(tx, [...byRef.keys()])) {',
        replace: `for (const read of await this.#find(tx, [...byRef.keys()])) {
      const found = remembered.get(read.ref) ?? read;
      remembered.set(read.ref, found);`,
      },
      {
        file: RUNS_FILE,
        find: '/** No value that somebody can ask about has this form. */',
        replace: `const remembered = new Map<string, Awaited<ReturnType<typeof findRuns>>[number]>();
/** No value that somebody can ask about has this form. */`,
      },
      // A number of a run that another process has retired would fail, which is another fault.
    ],
  },
  'whose digests have one key for all runs': {
    engine: 'sqlite',
    patches: [
      {
        file: 'src/guard/secrets.ts',
        find: "return digestKey(createHmac('sha256', this.#runs).update(runId).digest());",
        replace: "return digestKey(createHmac('sha256', this.#runs).update(runId.slice(0, 0)).digest());",
      },
      {
        file: 'src/store/known-values.ts',
        find: 'SELECT 1 FROM run_known k WHERE k.run = CAST(wanted.run AS bigint) AND k.digest = wanted.digest)`,',
        replace: 'SELECT 1 FROM run_known k WHERE k.digest = wanted.digest)`,',
      },
    ],
  },
  'that takes the results of any call': {
    engine: 'sqlite',
    patches: [
      {
        file: 'src/guard/check/told.ts',
        find: "if (policy?.rules[entry.ruleIndex]?.known !== 'results') return null;",
        replace: "if (policy?.rules[entry.ruleIndex]?.action !== 'allow') return null;",
      },
    ],
  },
  'whose digests have 8 bits': {
    engine: 'sqlite',
    patches: [
      {
        file: 'src/core/flows/digests.ts',
        find: 'return written(upper) + written(lower);',
        replace: 'return written((upper & 0) | (lower & 0xff));',
      },
    ],
  },
};

const both = await enginesWhenChanged('src/store/**', 'src/guard/**', 'src/core/flows/**');

for (const engine of both)
  test(`${engine}: marks hold from their verdict on, and only what was named is known`, async () => {
    const { violations, marked, known } = await measure(engine, engine, ANSWERS);
    expect(violations).toEqual([]);
    expect(marked).toBeGreaterThan(10);
    expect(known).toBeGreaterThan(10);
  });

for (const [what, { patches, engine }] of Object.entries(MUTANTS)) {
  if (!both.includes(engine)) continue;
  whenChanged(...patches)(`${engine}: a mutant ${what} is found out`, async () => {
    const found = await withMutant(patches, async root => {
      const measured = await measure(`${engine} mutant ${what}`, engine, MUTANT_ANSWERS, root);
      return measured.violations.length;
    });
    expect(found).toBeGreaterThan(0);
  });
}

// --- measuring -----------------------------------------------------------------------------------

interface Found {
  violations: string[];
  /** How many calls were denied for a mark, and allowed for a known value. */
  marked: number;
  known: number;
}

/** Of a mutant nothing fails, so that what is found is its own fault. */
async function measure(where: string, engine: Engine, most: number, root?: string): Promise<Found> {
  const world = await World.start(engine, root);
  try {
    const callers = Array.from({ length: CALLERS }, (_, index) =>
      world.call(index, most, root !== undefined),
    );
    const faults = root === undefined ? world.faults(most) : 0;
    await Promise.all(callers);
    figures(`P29 ${where}`, {
      seed: SEED,
      operations: world.answered,
      failed: world.failed,
      marked: world.found.marked,
      known: world.found.known,
      faults: await faults,
      violations: world.found.violations.length,
    });
    return world.found;
  } finally {
    await world.close();
  }
}

/** What callers know of a run. Times are when something was sent, or its answer received. */
interface RunModel {
  name: string;
  calls: number;
  firstMarking: number;
  marked: number;
  /** The values that somebody trusted may have named, and since when they are known for certain. */
  named: Map<string, number>;
}

class World {
  readonly found: Found = { violations: [], marked: 0, known: 0 };
  answered = 0;
  failed = 0;
  readonly #replicas: TestService[];
  readonly #start: () => Promise<TestService>;
  readonly #databaseUrl: string;
  readonly #key: string;
  readonly #runs: RunModel[] = [];
  /** Values that were named elsewhere: in other runs, and by tools that nobody trusts. */
  readonly #elsewhere: string[] = [];
  readonly #chance = random(SEED);
  #made = 0;

  static async start(engine: Engine, root?: string): Promise<World> {
    const dataDir = newDataDir();
    const options = { engine, env: ENV, dataDir, ...(root && { root }) };
    const first = await startService(options);
    const start = () => startService({ ...options, databaseUrl: first.databaseUrl });
    const replicas = engine === 'postgres' ? [first, await start()] : [first];
    const { key } = await first.newKey(RULES);
    return new World(replicas, start, key);
  }

  private constructor(replicas: TestService[], start: () => Promise<TestService>, key: string) {
    this.#replicas = replicas;
    this.#start = start;
    this.#databaseUrl = (replicas[0] as TestService).databaseUrl;
    this.#key = key;
    for (let count = 0; count < RUNS; count++) this.#runs.push(this.#newRun());
  }

  #newRun(): RunModel {
    const name = `run-${SEED}-${this.#made++}`;
    return { name, calls: 0, firstMarking: Infinity, marked: Infinity, named: new Map() };
  }

  /** One caller, until there are enough answers, or a mutant is found out. */
  async call(index: number, most: number, isMutant: boolean): Promise<void> {
    while (this.answered < most && !(isMutant && this.found.violations.length > 0)) {
      const place = Math.floor(this.#chance() * RUNS);
      const run = this.#runs[place] as RunModel;
      if (++run.calls > CALLS_PER_RUN) {
        this.#runs[place] = this.#newRun();
        this.#elsewhere.push(...run.named.keys());
        this.#elsewhere.splice(0, this.#elsewhere.length - 100);
      }
      await this.#step(run, index);
    }
  }

  async #step(run: RunModel, caller: number): Promise<void> {
    const dice = this.#chance();
    if (dice < 0.08) return this.#mark(run);
    if (dice < 0.45) return this.#send(run, caller);
    if (dice < 0.55) return this.#tell(run);
    if (dice < 0.65) return this.#result(run, 'crm', 202);
    if (dice < 0.75) return this.#result(run, 'web', 404);
    return this.#pay(run, dice < 0.87);
  }

  async #mark(run: RunModel): Promise<void> {
    run.firstMarking = Math.min(run.firstMarking, performance.now());
    const verdict = await this.#check(run, 'web__read');
    if (verdict?.decision === 'allow') run.marked = Math.min(run.marked, performance.now());
  }

  async #send(run: RunModel, caller: number): Promise<void> {
    const sent = performance.now();
    const verdict = await this.#check(run, 'mail__send');
    if (verdict === null) return;
    if (verdict.decision === 'allow' && sent > run.marked)
      this.#violated(`caller ${caller}: a call of ${run.name} was decided without the mark of its run`);
    if (verdict.decision === 'deny' && performance.now() < run.firstMarking)
      this.#violated(`caller ${caller}: ${run.name} has a mark that nothing gave it`);
    if (verdict.decision === 'deny') this.found.marked++;
  }

  #newValue(): string {
    return `to-${Math.floor(this.#chance() * 1e12).toString(36)}@example.org`;
  }

  async #tell(run: RunModel): Promise<void> {
    const value = this.#newValue();
    run.named.set(value, Infinity);
    const reply = await this.#post('/v1/told', run, { text: `Pay it to <${value}>, please.` });
    if (reply?.status === 202) run.named.set(value, performance.now());
  }

  /** A tool returns a value, and its result is reported. Only one of the two tools is trusted. */
  async #result(run: RunModel, server: 'crm' | 'web', wanted: number): Promise<void> {
    const value = this.#newValue();
    if (server === 'web') run.firstMarking = Math.min(run.firstMarking, performance.now());
    const verdict = await this.#check(run, `${server}__read`);
    if (verdict?.decision !== 'allow') return;
    if (server === 'web') run.marked = Math.min(run.marked, performance.now());
    else run.named.set(value, Infinity);
    const reply = await this.#post('/v1/told', run, {
      toolCallId: verdict.toolCallId,
      structured: { found: [value] },
    });
    if (server === 'web') this.#elsewhere.push(value);
    else if (reply?.status === 202) run.named.set(value, performance.now());
    if (reply !== null && reply.status < 500 && reply.status !== wanted)
      this.#violated(`a result of ${server} was answered with ${reply.status}`);
  }

  /** Pays to a value that was named in the run, or to one that nobody trusted has named there. */
  async #pay(run: RunModel, named: boolean): Promise<void> {
    const values = [...run.named.keys()];
    const pick = (list: readonly string[]) => list[Math.floor(this.#chance() * list.length)];
    const value = (named ? pick(values) : pick(this.#elsewhere)) ?? this.#newValue();
    const sent = performance.now();
    const since = run.named.get(value);
    const verdict = await this.#check(run, 'bank__pay', { to: value });
    if (verdict === null) return;
    if (verdict.decision === 'allow') this.found.known++;
    if (verdict.decision === 'allow' && !run.named.has(value))
      this.#violated(`${run.name} knows a value that nobody trusted has named`);
    if (verdict.decision === 'deny' && since !== undefined && sent > since)
      this.#violated(`${run.name} does not know a value although that it was named is confirmed`);
  }

  #violated(what: string): void {
    this.found.violations.push(what);
  }

  async #check(
    run: RunModel,
    tool: string,
    args: object = {},
  ): Promise<{ decision: string; toolCallId: string } | null> {
    const [serverName, toolName] = tool.split('__');
    const reply = await this.#post('/v1/check', run, { serverName, toolName, args });
    if (reply?.status !== 200) return null;
    return reply.body;
  }

  /** Null if there was no answer: a replica was killed. */
  async #post(path: string, run: RunModel, body: object) {
    const replica = this.#replicas[Math.floor(this.#chance() * this.#replicas.length)] as TestService;
    try {
      const reply = await replica.request('POST', path, {
        headers: {
          Authorization: `Bearer ${this.#key}`,
          'Content-Type': 'application/json',
          'Toolgate-Run': run.name,
        },
        body: JSON.stringify(body),
      });
      if (reply.status < 500) this.answered++;
      else this.failed++;
      return reply;
    } catch {
      this.failed++;
      return null;
    }
  }

  /** Kills replicas and lets the store refuse, by turns, until there are enough answers. Returns how often. */
  async faults(most: number): Promise<number> {
    let count = 0;
    for (let next = FAULT_EVERY; next < most; next += FAULT_EVERY) {
      await until('answers', () => this.answered >= next || this.answered >= most, 60_000);
      if (count % 2 === 0) await this.#kill((count / 2) % this.#replicas.length);
      else await this.#refuse(count % 4 === 1 ? 'audit_entries' : 'run_marks');
      count++;
    }
    return count;
  }

  async #kill(index: number): Promise<void> {
    await this.#replicas[index]?.kill('SIGKILL');
    this.#replicas[index] = await this.#start();
  }

  /** For a moment, nothing can be written to a table. */
  async #refuse(table: string): Promise<void> {
    const before = this.failed;
    await sql(this.#databaseUrl, `ALTER TABLE ${table} RENAME TO ${table}_elsewhere`);
    await until('calls that fail', () => this.failed > before + CALLERS);
    await sql(this.#databaseUrl, `ALTER TABLE ${table}_elsewhere RENAME TO ${table}`);
  }

  async close(): Promise<void> {
    for (const replica of this.#replicas) await replica.kill('SIGKILL');
  }
}
