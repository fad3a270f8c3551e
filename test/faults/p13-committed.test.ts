// P13: nothing reaches an upstream without a committed allow. A recording upstream whose every tool is called at
// most once, so that a call and its audit entry are told apart by name, under kills of the service, time-outs,
// retries, cancellations and batches. The mutants forward before the entry is safe.

import { expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { figures, newDataDir, random, SEED, sql, until, withMutant } from '../support/faults.ts';
import { connect, LegacyClient, modern, RecordingUpstream } from '../support/mcp.ts';
import type { Patch } from '../support/mutant.ts';
import { type Engine, startService, type TestService } from '../support/service.ts';
import { enginesWhenChanged, sized, whenChanged } from '../support/when-changed.ts';

const KILLS = sized(40, 4, 2);
/** On one store: every call has a tool of its own, and thousands of tools are slow to list. */
const KILLS_EACH = sized(4, 4, 2);
/** At most; a mutant's run ends with its first violation. */
const MUTANT_KILLS = 40;
const CALLS_BETWEEN = 60;
const CALLERS = 12;
const UPSTREAM_SECONDS = 2;

const FORWARD_FIRST: Patch = {
  file: 'src/mcp/call.ts',
  find: 'const verdict = await (asked.once === undefined ? submitted : submitted.catch(asConflict));',
  replace: `const early = forwardAndTell(services, call, tool, { toolCallId: crypto.randomUUID() });
  early.catch(() => {});
  const verdict = await (asked.once === undefined ? submitted : submitted.catch(asConflict));
  if (verdict.decision === 'allow') return early;`,
};
const BEFORE_COMMIT: Patch = {
  file: 'src/guard/check/commit.ts',
  find: `tx =>
        this.#work.decideGroup(tx, requests),
      );`,
  replace: `async tx => {
        const early = await this.#work.decideGroup(tx, requests);
        group.forEach((each, index) => each.answer(early.results[index] as Result));
        await new Promise(resolve => setTimeout(resolve, 50));
        return early;
      });`,
};

for (const engine of await enginesWhenChanged('src/store/**', 'src/guard/**', 'src/mcp/**')) {
  test(`${engine}: every call that an upstream got has its entry`, async () => {
    const found = await measure(engine, KILLS);
    expect(found.calls).toBeGreaterThan(KILLS * 20);
    expect(found.violations).toBe(0);
  });

  for (const [name, patch] of Object.entries({ FORWARD_FIRST, BEFORE_COMMIT })) {
    whenChanged(patch)(`${engine}: a mutant that forwards first (${name}) is found out`, async () => {
      const found = await withMutant(
        [patch],
        async root => (await measure(engine, MUTANT_KILLS, root)).violations,
      );
      expect(found).toBeGreaterThan(0);
    });
  }
}

interface Found {
  calls: number;
  violations: number;
}

/** Tools by what the policy says of them: y… yes, n… no, a… ask. Each name is used once. */
function toolNames(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${'yyyyyyna'[index % 8]}${index}`);
}

async function measure(engine: Engine, kills: number, root?: string): Promise<Found> {
  const chance = random(SEED);
  const found = { kills: 0, calls: 0, violations: 0 };
  while (found.kills < kills && !(root !== undefined && found.violations > 0)) {
    const { calls, violations } = await measureStore(engine, chance, root);
    found.kills += KILLS_EACH;
    found.calls += calls;
    found.violations += violations;
  }
  figures(`P13 ${engine}${root ? ' mutant' : ''}`, {
    seed: SEED,
    operations: found.calls,
    faults: found.kills,
    violations: found.violations,
  });
  return found;
}

/** One store from its beginning through a few kills. */
async function measureStore(engine: Engine, chance: () => number, root?: string): Promise<Found> {
  const kills = KILLS_EACH;
  const names = toolNames((kills + 1) * CALLS_BETWEEN * 2);
  const upstream = new RecordingUpstream({
    tools: names.map(name => ({ name, inputSchema: { type: 'object' } })),
    onCall: async () => {
      if (chance() < 0.02) await Bun.sleep(UPSTREAM_SECONDS * 1500);
      // The service then has to initialize again and to send a call once more.
      if (chance() < 0.05) upstream.sessions.clear();
      return { content: [] };
    },
  });
  const dataDir = newDataDir();
  const options = {
    engine,
    dataDir,
    env: { TOOLGATE_UPSTREAM_TIMEOUT: `${UPSTREAM_SECONDS}s` },
    ...(root && { root }),
  };
  let service = await startService(options);
  const again = { ...options, databaseUrl: service.databaseUrl };
  const { key, keyId } = await service.newKey([
    { tool: 'y*', action: 'allow' },
    { tool: 'a*', action: 'require_approval' },
  ]);
  await connect(service, keyId, 'up', upstream.url);
  const client = await LegacyClient.open(service, key, '2025-03-26');
  await client.tools();
  const load = callEach(names, () => client.at(service), chance);
  let killed = 0;
  let violations = 0;
  try {
    for (; killed < kills && !(root !== undefined && violations > 0); killed++) {
      const target = upstream.calls.length + Math.floor((0.5 + 0.5 * chance()) * CALLS_BETWEEN);
      await until('calls arrive', () => upstream.calls.length >= target || load.done, 60_000);
      load.paused = true;
      await service.kill('SIGKILL');
      violations = await unrecorded(service, upstream, keyId);
      service = await startService(again);
      load.paused = false;
    }
  } finally {
    await load.stop();
    await service.close();
  }
  violations = Math.max(violations, await unrecorded(service, upstream, keyId));
  await upstream.stop();
  rmSync(dataDir, { recursive: true, force: true });
  return { calls: upstream.calls.length, violations };
}

/** Calls that the upstream got without an entry that allows them, and tools that it got twice. */
async function unrecorded(service: TestService, upstream: RecordingUpstream, keyId: string): Promise<number> {
  const rows = await sql<{ tool: string }>(
    service.databaseUrl,
    `SELECT tool_name AS tool FROM audit WHERE decision = 'allow' AND surface = 'mcp' AND key_id = '${keyId}'`,
  );
  const allowed = new Set(rows.map(each => each.tool));
  const reached = upstream.calls.map(each => each.params.name as string);
  const twice = reached.length - new Set(reached).size;
  return reached.filter(name => !allowed.has(name)).length + twice;
}

/** Calls every tool once, in both eras, alone and in batches, some of them cancelled at any moment. */
function callEach(names: string[], client: () => LegacyClient, chance: () => number) {
  let next = 0;
  let stopped = false;
  const state = { done: false, paused: false, stop: async () => {} };
  const caller = async () => {
    while (!stopped && next < names.length) {
      // Names are not to be used up while nobody is there.
      if (state.paused) {
        await Bun.sleep(5);
        continue;
      }
      const first = names[next++] as string;
      const kind = chance();
      const more = kind < 0.15 ? names.slice(next, next + 3) : [];
      next += more.length;
      await callOnce(client(), [first, ...more], kind).catch(() => Bun.sleep(5));
    }
  };
  const callers = Promise.all(Array.from({ length: CALLERS }, caller)).then(() => {
    state.done = true;
  });
  state.stop = async () => {
    stopped = true;
    await callers;
  };
  return state;
}

async function callOnce(client: LegacyClient, names: string[], kind: number): Promise<void> {
  const params = (name: string) => ({ name: `up__${name}`, arguments: { n: name } });
  const message = (name: string) => ({
    jsonrpc: '2.0',
    id: name,
    method: 'tools/call',
    params: params(name),
  });
  const name = names[0] as string;
  if (names.length > 1) await client.post(names.map(message));
  else if (kind < 0.3) {
    const signal = AbortSignal.timeout(1 + Math.floor(kind * 20));
    await modern(client.service, client.token, 'tools/call', params(name), { signal });
  } else if (kind < 0.45) {
    const call = client.post(message(name));
    await Promise.all([client.notify('notifications/cancelled', { requestId: name }), call]);
  } else if (kind < 0.7) await modern(client.service, client.token, 'tools/call', params(name));
  else await client.post(message(name));
}
