// P30: one caller never takes another's share. Five keys and fifty addresses take all that they can get (bodies in chunks
// of one byte and bodies that never end, arguments of thousands of members, batches of long lists, answers that nobody
// reads, sessions with thousands of names), all at once, while another key goes on asking: none of its checks fails, few
// calls of the others are decided between two of its own, and memory stays bounded. The mutants lack one ration each.

import { expect } from 'bun:test';
import { readFileSync } from 'node:fs';
import { figures, inTime, sql, until, withMutant } from '../support/faults.ts';
import { type Greed, type GreedyAnswers, startGreedy } from '../support/greedy.ts';
import { ANSWERED_WITHIN_MS, type Answer, isLate, startLoad, took } from '../support/load.ts';
import { connect } from '../support/mcp.ts';
import type { Patch } from '../support/mutant.ts';
import { LONG } from '../support/need.ts';
import { type Engine, engines, startService, type TestService } from '../support/service.ts';
import { whenChanged } from '../support/when-changed.ts';

const QUIET_MS = LONG ? 5000 : 1000;
const ATTACK_MS = LONG ? 20_000 : 5000;
const MUTANT_ATTACK_MS = 20_000;
const GOOD_CLIENTS = 4;
const MEMORY = 512 * 1024 * 1024;
/** What shares are kept by. */
const KEPT_BY = ['src/guard/rations/**', 'src/guard/check/**', 'src/http/serving/**', 'src/mcp/**'];
/** How many large calls of one key may be decided between two of another's. */
const MOST_BETWEEN = 16;

type Keys = Record<'allowed' | 'second' | 'calling' | 'minting' | 'asking', string>;

const EVERYTHING = (keys: Keys): Greed[] => [
  { kind: 'chunks', atOnce: 50 },
  { kind: 'pages', atOnce: 50 },
  { kind: 'hoard', key: keys.calling, atOnce: 40 },
  { kind: 'members', key: keys.allowed, atOnce: 20 },
  { kind: 'manyMembers', key: keys.second, atOnce: 10 },
  { kind: 'members', key: keys.asking, atOnce: 20 },
  { kind: 'lists', key: keys.second, atOnce: LONG ? 4 : 2 },
  { kind: 'pings', key: keys.second, atOnce: 4 },
  { kind: 'unread', key: keys.calling, atOnce: LONG ? 40 : 20 },
  { kind: 'shortLines', key: keys.calling, atOnce: LONG ? 4 : 2 },
  { kind: 'mint', key: keys.minting, atOnce: 10 },
  { kind: 'sessions', key: keys.minting, atOnce: 20 },
];

interface Broken {
  patches: Patch[];
  greeds: (keys: Keys) => Greed[];
}

const MUTANTS: Record<string, Broken> = {
  'in which requests hold any number of bytes': {
    patches: [
      {
        file: 'src/http/serving/body.ts',
        find: '  ration.grow(length);\n',
        replace: '',
      },
    ],
    greeds: keys => [{ kind: 'hoard', key: keys.allowed, atOnce: 700 }],
  },
  'in which large bodies take no turns': {
    patches: [
      {
        file: 'src/http/serving/body.ts',
        find: 'if (bytes.length > SMALL_BYTES) await ration.turn();',
        replace: '',
      },
    ],
    greeds: keys => [{ kind: 'members', key: keys.allowed, atOnce: 60 }],
  },
  'in which answers hold any number of bytes': {
    patches: [
      {
        file: 'src/guard/rations/answer-ration.ts',
        find: 'if (!this.isLarge || this.#isFree) return null;',
        replace: 'if (bytes >= 0) return null;',
      },
    ],
    greeds: keys => [{ kind: 'unread', key: keys.calling, atOnce: 80 }],
  },
};

for (const engine of await engines()) {
  whenChanged(...KEPT_BY)(`${engine}: another key is answered, however much callers take`, async () => {
    const found = await inTime(() => measure(engine, EVERYTHING));
    expect(found.faults).toEqual([]);
    expect(found.operations).toBeGreaterThan(GOOD_CLIENTS);
  });

  whenChanged(...KEPT_BY)(
    `${engine}: a key whose large calls wait for approval is revoked at once`,
    async () => {
      const service = await startService({ engine });
      const greedy = await startGreedy();
      const asking = await service.newKey([{ tool: '*', action: 'require_approval' }]);
      const { key: good } = await service.newKey([{ tool: '*', action: 'allow' }]);
      const check = async (token: string) =>
        (await service.json('POST', '/v1/check', token, { serverName: 'x', toolName: 'good' })).status;
      const kinds = ['members', 'manyMembers'] as const;
      const greeds = kinds.map(kind => ({ kind, key: asking.key, atOnce: 20 }));
      greedy.begin({ url: service.url, greeds });
      await until('large calls wait for approval', async () => {
        const { body } = await service.admin('GET', '/approvals?status=pending');
        return body.approvals.length > 0;
      });
      const answers: number[] = [];
      for (let at = 0; at < 20; at++) answers.push(await check(good));
      const revoked = await service.admin('DELETE', `/keys/${asking.keyId}`);
      expect([answers.filter(status => status !== 200), revoked.status]).toEqual([[], 204]);
      expect(await check(asking.key)).toBe(401);
      await greedy.stop();
      await service.close();
    },
  );
}

for (const [what, { patches, greeds }] of Object.entries(MUTANTS)) {
  whenChanged(...patches)(`a mutant ${what} is found out`, async () => {
    const found = await withMutant(patches, root => measure('sqlite', greeds, root));
    expect(found.faults).not.toEqual([]);
  });
}

async function measure(engine: Engine, greedsOf: (keys: Keys) => Greed[], root?: string) {
  // Every address is one that the header names.
  const env = { TOOLGATE_TRUSTED_PROXIES: '127.0.0.1/32' };
  const service = await startService({ engine, env, ...(root && { root }) });
  const greedy = await startGreedy();
  const keys = await prepare(service, greedy.toolServer);
  const { key: token, keyId } = await service.newKey([{ tool: '*', action: 'allow' }]);
  const quiet = await ask(service, token, () => Bun.sleep(QUIET_MS));
  greedy.begin({ url: service.url, greeds: greedsOf(keys) });
  let memory = 0;
  const attacked = await ask(service, token, async ({ good, load }) => {
    const faulty = () => memory >= MEMORY || faultsOf(good, load.unanswered).length > 0;
    const look = () => {
      memory = Math.max(memory, memoryOf(service));
    };
    const end = performance.now() + (root ? MUTANT_ATTACK_MS : ATTACK_MS);
    // A mutant has shown enough with the first fault.
    while (performance.now() < end && !(root && faulty())) {
      look();
      await Bun.sleep(50);
      if (root && (await mostBetween(service, keyId)) > MOST_BETWEEN) break;
    }
    await until('good answers', () => good.length > GOOD_CLIENTS);
  });
  const answers = await greedy.stop();
  const between = await mostBetween(service, keyId);
  const faults = [
    ...faultsOf(attacked.good, attacked.unanswered),
    ...(root ? [] : idle(greedsOf(keys), answers)),
    ...(service.process.exitCode === null ? [] : ['the process ended']),
    ...(memory < MEMORY ? [] : [`memory reached ${mib(memory)} MiB`]),
    ...(between <= MOST_BETWEEN ? [] : [`${between} large calls were decided between two good ones`]),
  ];
  await service.kill('SIGKILL');
  await service.close();
  figures(`P30 ${engine}${root ? ' mutant' : ''}`, {
    operations: attacked.good.length,
    faults: countOf(answers),
    quietP99Ms: at(quiet.good, 0.99),
    p50Ms: at(attacked.good, 0.5),
    p99Ms: at(attacked.good, 0.99),
    slowestMs: at(attacked.good, 1 - 1e-9),
    memoryMiB: mib(memory),
    mostBetween: between,
    violations: faults.length,
  });
  return { operations: attacked.good.length, faults, late: attacked.good.filter(isLate).length };
}

/** Five keys; two of them have a tool server with long lists and large answers. */
async function prepare(service: TestService, toolServer: string): Promise<Keys> {
  const allow = () => service.newKey([{ tool: '*', action: 'allow' }]);
  const [allowed, second, calling, minting] = [await allow(), await allow(), await allow(), await allow()];
  const asking = await service.newKey([{ tool: '*', action: 'require_approval' }]);
  for (const { keyId } of [second, calling]) await connect(service, keyId, 'greedy', toolServer);
  return {
    allowed: allowed.key,
    second: second.key,
    calling: calling.key,
    minting: minting.key,
    asking: asking.key,
  };
}

type Asking = { good: Answer[]; load: { readonly unanswered: number } };

/** Asks as a good client does, as long as the work takes. */
async function ask(service: TestService, token: string, work: (asking: Asking) => Promise<void>) {
  const good: Answer[] = [];
  const load = startLoad({
    connections: GOOD_CLIENTS,
    url: () => service.url,
    next: () => ({ token, body: JSON.stringify({ serverName: 'x', toolName: 'good' }) }),
    answered: answer => good.push(answer),
  });
  await work({ good, load });
  await load.stop();
  return { good, unanswered: load.unanswered };
}

/** The most entries of one other key that lie between two of the good key's, in the order in which they were decided. */
async function mostBetween(service: TestService, keyId: string): Promise<number> {
  const entries = await sql<{ keyId: string }>(
    service.databaseUrl,
    `SELECT key_id AS "keyId" FROM audit WHERE tool_name IN ('good', 'greedy') ORDER BY id`,
  );
  let most = 0;
  let counts = new Map<string, number>();
  for (const each of entries) {
    if (each.keyId === keyId) counts = new Map();
    else {
      const count = (counts.get(each.keyId) ?? 0) + 1;
      counts.set(each.keyId, count);
      most = Math.max(most, count);
    }
  }
  return most;
}

/** An attack that nobody answered did not take place. */
function idle(greeds: readonly Greed[], answers: GreedyAnswers): string[] {
  const kinds = new Set(greeds.map(each => each.kind));
  return [...kinds].filter(kind => answers[kind] === undefined).map(kind => `nothing came of ${kind}`);
}

function faultsOf(good: readonly Answer[], unanswered: number): string[] {
  const wrong = good.filter(each => each.status !== 200).map(each => `a good client got ${each.text}`);
  const late = good.filter(each => took(each) > ANSWERED_WITHIN_MS);
  const lost = unanswered > 0 ? [`${unanswered} good requests were not answered`] : [];
  return [...wrong, ...late.map(() => 'a good client was answered late'), ...lost];
}

const countOf = (answers: GreedyAnswers): number =>
  Object.values(answers)
    .flatMap(Object.values)
    .reduce((sum: number, each: number) => sum + each, 0);

const mib = (bytes: number): number => Math.round(bytes / 1024 / 1024);

function at(answers: readonly Answer[], share: number): number {
  const times = answers.map(took).sort((a, b) => a - b);
  return Number((times[Math.floor(times.length * share)] ?? 0).toFixed(1));
}

function memoryOf({ process: { pid, exitCode } }: TestService): number {
  if (exitCode !== null) return 0;
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) * 1024;
}
