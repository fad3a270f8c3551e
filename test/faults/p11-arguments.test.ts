// P11: argument bytes never reach the disk, the logs or the database, at the most talkative log level, on
// every path a check can take, failures included; nor do the credentials. Marked arguments are searched for
// in all files and all output, in several spellings. Rules read some of them, in conditions and limits, and show others to
// approvers, on several replicas; calls of tasks wait with theirs, and results are fetched on any of them. So are what people say, what tools return and what runs know of it. What people and servers sign in with is searched for too, also in pages and answers. The
// mutants log a body, tell approvers too much, give a value away in a reason or in a span, and keep or send in plain text
// what approvers are shown. What a collector of OpenTelemetry is sent, what is exported and what is shipped is searched too.

import { expect, test } from 'bun:test';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Collector, canDecode } from '../support/collector.ts';
import { figures, newDataDir, sql, until, withMutant } from '../support/faults.ts';
import { startLoad } from '../support/load.ts';
import type { Patch } from '../support/mutant.ts';
import { LONG, need } from '../support/need.ts';
import { sharedPostgres, type TestPostgres } from '../support/postgres.ts';
import { Receiver } from '../support/receiver.ts';
import { type Engine, onPath, programOf, startService, type TestService } from '../support/service.ts';
import { enginesWhenChanged, whenChanged } from '../support/when-changed.ts';
import { Canaries, checkedCalls, REFUSED, searchFor, send } from './canaries.ts';
import { CONDITIONAL, conditionalBody, sendConditional } from './conditional-canaries.ts';
import { sendFlows } from './flow-canaries.ts';
import { Outside, sendSecrets } from './people-canaries.ts';
import { Channels, sendShown, shownBody, shownKey } from './shown-canaries.ts';
import { TaskCalls } from './task-canaries.ts';

const ROUNDS = LONG ? 5 : 1;
const SEARCHABLE = need(onPath('grep'), 'grep');
const both = await enginesWhenChanged('src/store/**', 'src/guard/**', 'src/http/**');
const postgres = both.includes('postgres') ? await sharedPostgres() : null;

const LOGGED: Patch = {
  file: 'src/http/agent/check.ts',
  find: 'const call = { serverName, toolName };',
  replace: 'const call = { serverName, toolName };\n  services.log.debug(JSON.stringify(body));',
};
const TOLD: Patch = {
  file: 'src/guard/check/round.ts',
  find: 'const telling = { reason,',
  replace: 'const telling = { reason: reason + JSON.stringify(request.args),',
};
const ECHOED: Patch = {
  file: 'src/http/server.ts',
  find: "log.debug(facts, 'refused');",
  replace: "log.debug({ ...facts, errors: known.errors }, 'refused');",
};
/** Arguments in a span, which a collector gets. */
const SPANNED: Patch = {
  file: 'src/guard/check/round.ts',
  find: 'request.span?.set(attributesOf(request, entry))',
  replace: 'request.span?.set({ ...attributesOf(request, entry), args: JSON.stringify(request.args) })',
};
/** Only a few characters of the arguments. */
const REASONED: Patch = {
  file: 'src/guard/check/cases.ts',
  find: 'const considered = consider(policy, request.call, request.principal.scope, situation);',
  replace: `const considered = consider(policy, request.call, request.principal.scope, situation);
  const { allow } = considered.passedOver;
  if (allow !== null) allow.ruleName = JSON.stringify(request.args).slice(0, 24);`,
};
/** What approvers are asked, in the log. */
const ASKED: Patch = {
  file: 'src/guard/check/round.ts',
  find: 'const referenceId = entry.referenceId as string;',
  replace: `const referenceId = entry.referenceId as string;
  const { detailsOf } = await import('../../core/approvals/details.ts');
  entry.reason = detailsOf(asking.rule, asking.request.args)?.question ?? entry.reason;`,
};
/** What is shown on another replica, also as plain text. */
const PLAIN: Patch = {
  file: 'src/guard/exchange/exchange.ts',
  find: 'for (const part of answerTo(vault, this.#kind, question, bytes))',
  replace: `giveHint(db, 'details-answer', Buffer.from(bytes).toString().slice(0, 7000));
      for (const part of answerTo(vault, this.#kind, question, bytes))`,
};
/** Tokens that clients send to be renewed, in the log. */
const NOTED: Patch = {
  file: 'src/http/oauth/token.ts',
  find: "const clientId = requireField(body, 'client_id');",
  replace: `const clientId = requireField(body, 'client_id');
  process.stderr.write(JSON.stringify(body) + '\\n');`,
};
/** Words of the person themselves in place of their digests. */
const UNDIGESTED: Patch = {
  file: 'src/core/flows/digests.ts',
  find: 'return written(upper) + written(lower);',
  replace: 'return written(upper) + written(lower) && comparable;',
};
/** What a tool server calls its task, as it is. */
const UNSEALED: Patch[] = [
  {
    file: 'src/guard/tasks/server-tasks.ts',
    find: 'const serverTaskEncrypted = vault.encrypt(JSON.stringify(serverTask), about(toolCallId));',
    replace: 'const serverTaskEncrypted = JSON.stringify(serverTask);',
  },
  {
    file: 'src/guard/tasks/server-tasks.ts',
    find: 'return JSON.parse(vault.decrypt(serverTaskEncrypted, about(toolCallId)));',
    replace: 'return JSON.parse(serverTaskEncrypted);',
  },
];
/** Idempotency keys beside their digests. */
const KEYED: Patch = {
  file: 'src/guard/check/idempotency.ts',
  find: "return { digest: vault.idempotencyDigest('key', [keyId, ...whose, surface, key]) };",
  replace: "return { digest: key + vault.idempotencyDigest('key', [keyId, ...whose, surface, key]) };",
};
/** Results of tasks in their rows. */
const KEPT: Patch[] = [
  {
    file: 'src/mcp/tasks/final-answer.ts',
    find: "{ results, now, settings }: Pick<Deps, 'results' | 'now' | 'settings'>",
    replace: '{ db, results, now, settings }: Deps',
  },
  {
    file: 'src/mcp/tasks/final-answer.ts',
    find: 'const until = now() + settings.resultsFor + SPARE_MS;',
    replace: `const until = now() + settings.resultsFor + SPARE_MS;
  db.run('UPDATE tasks SET server_task_sealed = $2 WHERE tool_call_id = $1', [toolCallId, JSON.stringify(answer)]);`,
  },
];
const PARTS = ['calls', 'details', 'people', 'tasks'] as const;
type Part = (typeof PARTS)[number];
/** What LOGGED and ECHOED do is the same on either engine, so the short form has them on one. */
const MUTANTS: Record<Engine, Record<Part, Record<string, Patch | Patch[]>>> = {
  sqlite: {
    calls: { LOGGED, TOLD, ECHOED, REASONED, SPANNED, UNDIGESTED },
    details: { ASKED },
    people: { NOTED },
    tasks: { UNSEALED, KEYED, KEPT },
  },
  postgres: { calls: { TOLD, ...(LONG && { LOGGED, ECHOED }) }, details: { PLAIN }, people: {}, tasks: {} },
};

for (const engine of both) {
  const searched = SEARCHABLE && (engine === 'sqlite' || postgres?.owned === true);
  const can = need(searched && canDecode, 'grep, the files of the database, and a collector');

  test.skipIf(!can)(`${engine}: no argument and no credential is at rest anywhere`, async () => {
    expect(await measure(engine)).toEqual([]);
  });

  for (const part of PARTS) {
    for (const [name, patch] of Object.entries(MUTANTS[engine][part])) {
      const patches = [patch].flat();
      whenChanged(...patches).skipIf(!can)(
        `${engine}: a mutant (${name}) that gives arguments away is found out`,
        async () => {
          const found = await withMutant(patches, async root => (await measure(engine, root, [part])).length);
          expect(found).toBeGreaterThan(0);
        },
      );
    }
  }
}

test.skipIf(!SEARCHABLE)('simulate and test write nothing anywhere', async () => {
  const given = newDataDir();
  const work = newDataDir();
  const canaries = new Canaries();
  const policy = join(given, 'policy.json');
  const cases = join(given, 'cases.json');
  await Bun.write(policy, JSON.stringify({ name: 'p', ...CONDITIONAL }));
  const call = JSON.parse(conditionalBody(canaries, 0, 'of a case'));
  const calls = [{ server: 'x', tool: call.toolName, args: call.args, want: { decision: 'deny' } }];
  await Bun.write(cases, JSON.stringify({ policy: 'policy.json', calls }));
  const run = (...args: string[]) =>
    Bun.spawnSync([...programOf(), ...args], {
      cwd: work,
      env: { PATH: process.env['PATH'] ?? '', HOME: work, TMPDIR: work, BUN_TMPDIR: work },
    });
  const simulate = (args: string) => run('simulate', policy, `x__${call.toolName}`, '--args', args);
  const shown = canaries.at('an argument that is shown');
  const simulated = simulate(JSON.stringify({ a: shown }));
  const refused = simulate(`{"a": "${canaries.at('arguments that are no JSON')}`);
  expect(simulated.stdout.toString()).toContain(shown);
  expect([simulated.exitCode, refused.exitCode, run('test', cases).exitCode]).toEqual([0, 64, 1]);
  expect(searchFor(canaries, [work], [refused.stdout.toString(), refused.stderr.toString()])).toEqual([]);
  for (const folder of [given, work]) rmSync(folder, { recursive: true });
});

/** The places whose markers were found. */
async function measure(engine: Engine, root?: string, parts: readonly Part[] = PARTS): Promise<string[]> {
  const channels = await Channels.start();
  const collector = await Collector.start();
  const shipped = await Receiver.start();
  const outside = parts.includes('people') ? await Outside.start() : null;
  const settings = outside?.settings ?? {};
  const replicas = await startReplicas(engine, channels, collector, shipped, parts, settings, root);
  const service = replicas[0] as TestService;
  const canaries = new Canaries();
  const found = new Set<string>();
  const said: string[] = [];
  const tasks = parts.includes('tasks') ? await TaskCalls.begin(replicas, canaries) : null;
  try {
    for (let round = 0; round < ROUNDS; round++) {
      if (parts.includes('calls')) await everyPath(service, canaries);
      if (parts.includes('details')) await everyDetail(replicas, canaries, channels);
      await tasks?.everyWay();
      if (outside !== null)
        said.push(...(await sendSecrets(service, outside, (kind, secret) => canaries.watch(kind, secret))));
    }
    const last = await everySpan(service, collector);
    // A mutant gives arguments away elsewhere, and sealing takes seconds.
    if (!root) await until('all was shipped', () => timesShipped(shipped, last) >= 2);
    said.push((await service.admin('GET', '/audit/export')).text);
    for (const place of await search(replicas, engine, canaries, [
      ...said,
      ...toldTo(collector),
      ...shipped.arrivals.map(({ text }) => text),
    ]))
      found.add(place);
    // A mutant that is found out need not be killed to give itself away.
    if (root === undefined || found.size === 0) {
      await tasks?.leaveOpen();
      await killUnderLoad(service, canaries, channels);
    }
  } finally {
    for (const each of replicas) await each.kill('SIGKILL');
    await tasks?.close();
    await channels.close();
    await outside?.close();
    await collector.close();
    await shipped.close();
  }
  if (root === undefined || found.size === 0)
    for (const place of await search(replicas, engine, canaries, toldTo(collector))) found.add(place);
  for (const { dataDir } of replicas) rmSync(dataDir, { recursive: true, force: true });
  const hits = [...found].sort();
  figures(`P11 ${engine}${root ? ' mutant' : ''}`, {
    operations: canaries.size,
    violations: hits.length,
  });
  return hits;
}

/** Resolves once the collector has what was done before: it is sent in the order in which it ended. */
async function everySpan(service: TestService, collector: Collector): Promise<string> {
  const { key } = await service.newKey([]);
  const { toolCallId } = (await service.check(key, 'the', 'last')).body;
  await collector.until(() => collector.of('/v1/traces').some(({ plain }) => plain.includes(toolCallId)));
  return toolCallId;
}

/** By how many targets an entry was received. */
const timesShipped = ({ arrivals }: Receiver, id: string): number =>
  arrivals.filter(({ text }) => text.includes(id)).length;

/** All that it was sent: spans, log records and metrics. */
const toldTo = ({ requests }: Collector): string[] => [
  Buffer.concat(requests.map(({ plain }) => plain)).toString('latin1'),
];

/** Two on PostgreSQL if details or results pass between them. */
async function startReplicas(
  engine: Engine,
  channels: Channels,
  collector: Collector,
  shipped: Receiver,
  parts: readonly Part[],
  settings: Record<string, string>,
  root?: string,
): Promise<TestService[]> {
  const shipping = Object.fromEntries(
    ['native', 'ocsf'].map(schema => [schema, { type: 'http', url: shipped.url, schema }]),
  );
  const databaseUrl = engine === 'postgres' ? await talkativeDatabase() : null;
  const replicas: TestService[] = [];
  const wanted = databaseUrl !== null && (parts.includes('details') || parts.includes('tasks')) ? 2 : 1;
  while (replicas.length < wanted) {
    const dataDir = newDataDir();
    const temp = join(dataDir, 'temp');
    mkdirSync(temp);
    writeFileSync(join(dataDir, 'toolgate.yaml'), JSON.stringify({ channels: channels.declared, shipping }));
    replicas.push(
      await startService({
        dataDir,
        ...(databaseUrl && { databaseUrl }),
        env: {
          TOOLGATE_LOG_LEVEL: 'trace',
          TMPDIR: temp,
          BUN_TMPDIR: temp,
          TOOLGATE_MAX_OPEN_APPROVALS_PER_KEY: '1000000',
          TOOLGATE_TRUSTED_PROXIES: '127.0.0.1/32',
          OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
          OTEL_BSP_SCHEDULE_DELAY: '20',
          OTEL_METRIC_EXPORT_INTERVAL: '1000',
          // They name an address, which is that of the first replica.
          ...(replicas.length === 0 && settings),
        },
        ...(root && { root }),
      }),
    );
  }
  return replicas;
}

/** What approvers are shown, also while the audit log cannot be written. */
async function everyDetail(
  replicas: readonly TestService[],
  canaries: Canaries,
  channels: Channels,
): Promise<void> {
  const service = replicas[0] as TestService;
  const key = await shownKey(service, channels);
  await sendShown(replicas, key, canaries, channels);
  await sql(service.databaseUrl, 'ALTER TABLE audit_entries RENAME TO audit_elsewhere');
  for (let number = 0; number < 12; number++) {
    const body = () => shownBody(canaries, number, 'not recorded');
    await send(service, key, canaries, { place: 'details that are not recorded', body, expected: 500 });
  }
  await sql(service.databaseUrl, 'ALTER TABLE audit_elsewhere RENAME TO audit_entries');
}

/** Every statement and every parameter goes to the server's log, for this database only. */
async function talkativeDatabase(): Promise<string> {
  const databaseUrl = await (postgres as TestPostgres).createDatabase();
  const name = new URL(databaseUrl).pathname.slice(1);
  await sql(
    databaseUrl,
    `ALTER DATABASE ${name} SET log_statement = 'all'`,
    `ALTER DATABASE ${name} SET log_min_duration_statement = 0`,
    `ALTER DATABASE ${name} SET log_parameter_max_length_on_error = -1`,
  );
  return databaseUrl;
}

async function everyPath(service: TestService, canaries: Canaries): Promise<void> {
  const { key } = await service.newKey([
    { tool: 'allowed', action: 'allow' },
    { tool: 'asked', action: 'require_approval' },
  ]);
  const session = (await service.json('POST', '/v1/sessions', key, { scopeTools: ['files__asked'] })).body
    .token;
  canaries.watch('a key', key);
  canaries.watch('a session token', session);
  for (const token of [key, session]) {
    for (const call of checkedCalls('recorded', 200)) await send(service, token, canaries, call);
  }
  for (const request of REFUSED) await send(service, key, canaries, request);
  const conditional = await conditionalKey(service);
  await sendConditional(service, conditional, canaries, 'recorded', 200);
  for (const stored of UNREADABLE) {
    const unreadable = await conditionalKey(service, stored);
    for (let number = 0; number < 3; number++) {
      const body = () => conditionalBody(canaries, number, 'of a policy that cannot be read');
      await send(service, unreadable, canaries, { place: 'an unreadable policy', body, expected: 500 });
    }
  }
  await sendFlows(service, canaries);
  await refusedPolicy(service, canaries);
  await service.check(key, 'files', 'allowed', { args: {} });
  await service.request('POST', `/v1/check?args=${canaries.at('a query')}`, {
    body: canaries.at('no credential'),
  });
  await sql(service.databaseUrl, 'ALTER TABLE audit_entries RENAME TO audit_elsewhere');
  for (const call of checkedCalls('not recorded', 500)) await send(service, key, canaries, call);
  await sendConditional(service, conditional, canaries, 'not recorded', 500);
  await sql(service.databaseUrl, 'ALTER TABLE audit_elsewhere RENAME TO audit_entries');
}

/** As they may be found in the store: cut off, and with a condition that no version of the program accepts. */
const UNREADABLE = [
  '{"rules":[{"tool"',
  '{"rules":[{"tool":"*","action":"allow","when":"args.a =="}],"limits":{}}',
];

/** Its shadow has the same rules, so that it reads the same arguments. */
async function conditionalKey(service: TestService, stored?: string): Promise<string> {
  const name = `conditional-${crypto.randomUUID()}`;
  const policyOf = async (name: string): Promise<string> => {
    const policy = await service.admin('POST', '/policies', { name, ...CONDITIONAL });
    if (policy.status !== 201) throw new Error(policy.text);
    return policy.body.id;
  };
  const policyId = await policyOf(name);
  const shadowPolicyId = await policyOf(`${name}-shadow`);
  if (stored !== undefined) {
    const where = `policy_id = '${policyId}'`;
    await sql(service.databaseUrl, `UPDATE policy_versions SET rules = '${stored}' WHERE ${where}`);
  }
  return (await service.admin('POST', '/keys', { name, policyId, shadowPolicyId })).body.key;
}

/** What stands in a policy that is refused is kept nowhere either. */
async function refusedPolicy(service: TestService, canaries: Canaries): Promise<void> {
  const marker = canaries.at('a condition that was refused');
  for (const when of [`args.a == "${marker}" &&`, `${marker} == 1`, `args.a.matches("[${marker}")`]) {
    const rules = [{ tool: '*', action: 'allow', when }];
    const refused = await service.admin('POST', '/policies', { name: 'refused', rules });
    if (refused.status !== 400) throw new Error(refused.text);
  }
}

/** Kills it while it evaluates conditions and holds details. */
async function killUnderLoad(service: TestService, canaries: Canaries, channels: Channels): Promise<void> {
  const tokens = [await conditionalKey(service), await shownKey(service, channels)] as const;
  let number = 0;
  let answers = 0;
  const load = startLoad({
    connections: 8,
    url: () => service.url,
    next: () => {
      const bodyOf = number % 2 === 0 ? conditionalBody : shownBody;
      const token = tokens[number % 2] as string;
      return { token, body: bodyOf(canaries, number++ >> 1, 'under load') };
    },
    answered: () => answers++,
  });
  await until('answers', () => answers > 30);
  await service.kill('SIGKILL');
  await load.stop();
}

async function search(
  replicas: readonly TestService[],
  engine: Engine,
  canaries: Canaries,
  said: readonly string[] = [],
): Promise<string[]> {
  const texts = [...said];
  for (const replica of replicas) {
    const { exitCode, signalCode } = replica.process;
    const alive = exitCode === null && signalCode === null;
    texts.push(replica.output, alive ? (await replica.request('GET', '/metrics')).text : '');
  }
  const folders = replicas.map(each => each.dataDir);
  if (engine === 'sqlite') return searchFor(canaries, folders, texts);
  const server = postgres as TestPostgres;
  const files = await serverFiles(server, (replicas[0] as TestService).databaseUrl);
  return searchFor(canaries, [...folders, ...files], [...texts, server.logText()]);
}

/** The whole data folder of the server, but for the other databases in it. */
async function serverFiles({ dataDir }: TestPostgres, databaseUrl: string): Promise<string[]> {
  const [own] = await sql<{ oid: number }>(
    databaseUrl,
    'CHECKPOINT',
    'SELECT oid FROM pg_database WHERE datname = current_database()',
  );
  const shared = readdirSync(dataDir).filter(name => name !== 'base');
  return [...shared, join('base', String(own?.oid))].map(name => join(dataDir, name));
}
