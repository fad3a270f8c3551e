// P5: once a revocation (of a session, of a person's connection, or of a key with its sessions), a policy change or a
// change of the person's groups has been answered, or a list of tools with a definition that nobody has accepted,
// no check is allowed by what it ended: not in the process that answered, not in another one on the same
// PostgreSQL. Nor does a call that waits as a task run, if it is approved after that. The strict form compares commit times inside PostgreSQL: no allow was committed after the
// revocation, not even of requests that were under way. The mutants drop the locks and trust their memory.

import { afterAll, describe, expect, test } from 'bun:test';
import { ASK_ALL } from '../approvals/gate.ts';
import { Reviewing, tool } from '../mcp/reviewing.ts';
import { connected, newClient, startOAuth } from '../oauth/connect.ts';
import { newPerson, type Person } from '../operators/people.ts';
import { figures, sql, until, verdictOf, withMutant } from '../support/faults.ts';
import { type Answer, type Load, startLoad } from '../support/load.ts';
import { callOf, connect, hasRun, RecordingUpstream } from '../support/mcp.ts';
import type { Patch } from '../support/mutant.ts';
import { need } from '../support/need.ts';
import { startPostgres, type TestPostgres } from '../support/postgres.ts';
import type { ServiceOptions, TestService } from '../support/service.ts';
import { enginesWhenChanged, sized, whenChanged } from '../support/when-changed.ts';
import { newTaskLoad, startTaskLoad, type TaskLoad } from './task-load.ts';

const ROUNDS = sized(200, 10, 3);
/** At most; a mutant's run ends with its first violation. */
const mutantRounds = () => 200;
const CONNECTIONS = 6;
const ALLOW_ALL = [{ tool: '*', action: 'allow' as const }];
const DENY_ALL = [{ tool: '*', action: 'deny' as const }];

const both = await enginesWhenChanged('src/store/**', 'src/guard/**');
const server = both.includes('postgres') ? await timestampedServer() : null;
afterAll(() => server?.close());

/** What a round ends, and how. */
interface Ending {
  tokens: string[];
  end: () => Promise<{ status: number }>;
  /** For the strict form: the rows that the ending changed, and the allows that it should have stopped. */
  ended: string;
  allows: string;
  /** The tool that is called through `/mcp`; else `/v1/check` is asked. */
  tool?: string;
  /** Tasks that are approved in place of checks. */
  tasks?: TaskLoad;
  close?: () => Promise<void>;
}

const KINDS: Record<string, (service: TestService) => Promise<Ending>> = {
  session: async service => {
    const { key } = await service.newKey(ALLOW_ALL);
    const session = (await service.json('POST', '/v1/sessions', key, {})).body;
    return {
      tokens: [session.token],
      end: () => service.json('DELETE', `/v1/sessions/${session.id}`, key),
      ended: `sessions WHERE id = '${session.id}'`,
      allows: `session_id = '${session.id}'`,
    };
  },
  key: async service => {
    const { key, keyId } = await service.newKey(ALLOW_ALL);
    const session = (await service.json('POST', '/v1/sessions', key, {})).body;
    return {
      tokens: [key, session.token],
      end: () => service.admin('DELETE', `/keys/${keyId}`),
      ended: `keys WHERE id = '${keyId}'`,
      allows: `key_id = '${keyId}'`,
    };
  },
  policy: async service => {
    const { key, keyId, policyId } = await service.newKey(ALLOW_ALL);
    return {
      tokens: [key],
      end: () => service.admin('PUT', `/policies/${policyId}`, { rules: DENY_ALL }),
      ended: `policies WHERE id = '${policyId}'`,
      allows: `key_id = '${keyId}'`,
    };
  },
  taskOfKey: async service => {
    const { key, keyId, tasks, close } = await waiting(service);
    return {
      tokens: [key],
      end: () => service.admin('DELETE', `/keys/${keyId}`),
      ended: `keys WHERE id = '${keyId}'`,
      allows: `key_id = '${keyId}'`,
      tasks,
      close,
    };
  },
  taskOfPolicy: async service => {
    const { key, keyId, policyId, tasks, close } = await waiting(service);
    return {
      tokens: [key],
      end: () => service.admin('PUT', `/policies/${policyId}`, { rules: DENY_ALL }),
      ended: `policies WHERE id = '${policyId}'`,
      allows: `key_id = '${keyId}'`,
      tasks,
      close,
    };
  },
  connection: async service => {
    const { token, sessionId } = await connection(service);
    return {
      tokens: [token],
      end: () => service.admin('DELETE', `/sessions/${sessionId}`),
      ended: `sessions WHERE id = '${sessionId}'`,
      allows: `session_id = '${sessionId}'`,
    };
  },
  person: async service => {
    const { token, sessionId, person } = await connection(service);
    return {
      tokens: [token],
      end: () => service.admin('PATCH', `/operators/${person.id}`, { groups: [] }),
      ended: `operators WHERE id = '${person.id}'`,
      allows: `session_id = '${sessionId}'`,
    };
  },
  /** A tool of a reviewed server changes. */
  definition: service =>
    called(service, { trust: 'reviewed', before: [tool('a')], after: [tool('a', { title: 'A' })] }),
  /** The same of a tool server that keys share. */
  shared: service =>
    called(service, {
      trust: 'reviewed',
      shared: true,
      before: [tool('a')],
      after: [tool('a', { title: 'A' })],
    }),
  /** A trusted server hides something in a tool. */
  hidden: service =>
    called(service, { trust: 'first', before: [tool('a')], after: [tool('a', { title: 'A\u200b' })] }),
  /** Another server of the key begins to show a tool that looks like this one. */
  lookAlike: service =>
    called(service, { trust: 'first', before: [tool('a')], other: true, after: [tool('\u0430')] }),
};

interface Shown {
  trust: 'first' | 'reviewed';
  before: object[];
  after: object[];
  shared?: true;
  /** It is another server that shows what comes after. */
  other?: true;
}

/** The tool `a` of a server, and what ends that it is callable. */
async function called(service: TestService, { trust, before, after, other, shared }: Shown): Promise<Ending> {
  const world = await Reviewing.start(service);
  const server = await world[shared ? 'connectShared' : 'connect']('up', before, trust);
  const changing = other ? await world.connect('other', []) : server;
  await world.client.tools();
  if (trust === 'reviewed') await world.accept(server, await world.tools(server));
  const changed = changing.path.split('/').at(-1);
  return {
    tokens: [world.key],
    end: async () => {
      changing.upstream.options.tools = after;
      return world.ask(changing);
    },
    ended: `tool_definitions WHERE connected_tool_id = '${changed}'`,
    allows: `key_id = '${world.keyId}'`,
    tool: 'up__a',
    close: () => world.end(),
  };
}

/** A key whose calls wait as tasks. */
async function waiting(service: TestService) {
  const upstream = new RecordingUpstream({
    era: 'modern',
    onCall: () => ({ resultType: 'complete', content: [] }),
  });
  const made = await service.newKey(ASK_ALL);
  await connect(service, made.keyId, 'up', upstream.url);
  const tasks = await newTaskLoad(service, made.key, 'up__echo');
  return { ...made, tasks, close: () => upstream.stop() };
}

interface Connectable {
  person: Person;
  keyId: string;
  clientId: string;
}
const connectables = new WeakMap<TestService, Promise<Connectable>>();

async function connectable(service: TestService): Promise<Connectable> {
  const person = await newPerson(service, 'user');
  const { keyId } = await service.newKey(ALLOW_ALL, { openTo: ['group:dev'] });
  return { person, keyId, clientId: await newClient(service) };
}

/** A client that a person has just connected. The person is the same in all rounds, since choosing a password takes long. */
async function connection(service: TestService) {
  const known = connectables.get(service) ?? connectable(service);
  connectables.set(service, known);
  const { person, keyId, clientId } = await known;
  await service.admin('PATCH', `/operators/${person.id}`, { groups: ['dev'] });
  const { access_token: token } = await connected(service, person, clientId);
  const { sessions } = (await service.admin('GET', `/sessions?keyId=${keyId}&limit=1`)).body;
  return { token, person, sessionId: sessions[0].id as string };
}

const NO_LOCKS: Patch = {
  file: 'src/guard/check/check.ts',
  find: 'return [...people, POLICIES_LOCK, ...servers, ...Array.from(keyIds, keyLock)];',
  replace: 'return keyIds.size < 0 ? [...people, POLICIES_LOCK, ...servers, keyLock("")] : [];',
};
const NO_SERVER_LOCK: Patch = {
  file: 'src/guard/check/check.ts',
  find: 'const servers = Array.from(ids, toolServerLock);',
  replace: 'const servers = Array.from(ids, toolServerLock).slice(ids.size);',
};
const TRUSTING: Patch[] = [
  {
    file: 'src/guard/check/facts.ts',
    find: 'const key = this.#keys.get(principal.keyId);',
    replace:
      'const key = this.#keys.get(principal.keyId);\n    if (key !== undefined) return { key, person: null };',
  },
];
const CACHED_POLICY: Patch[] = [
  {
    file: 'src/guard/check/policies.ts',
    find: 'kept?.version === policyVersion ? kept',
    replace: 'kept !== undefined ? kept',
  },
  {
    file: 'src/guard/check/policies.ts',
    find: 'return kept?.version === version ? kept : null;',
    replace: 'return kept ?? null;',
  },
];
const TRUSTING_PEOPLE: Patch[] = [
  {
    file: 'src/guard/check/facts.ts',
    find: 'return isOpenTo(this.#openTo.get(keyId) ?? [], person) ? person : null;',
    replace: "return isOpenTo(this.#openTo.get(keyId) ?? [], person) || keyId !== '' ? person : null;",
  },
  // Without this, the session ends with the right to the key, and the check is not needed.
  {
    file: 'src/guard/people/operators.ts',
    find: 'await endClosed(tx, deps, { personId: id });',
    replace: '',
  },
];
const TRUSTING_DEFINITIONS: Patch[] = [
  {
    file: 'src/guard/check/facts.ts',
    find: 'const facts = new DefinitionFacts(await shownDefinitions(tx, [...ids], [...names]), lock);',
    replace:
      "const rows = await ((globalThis as any)[[...ids].join(' ')] ??= shownDefinitions(tx, [...ids], [...names]));\n" +
      '    const facts = new DefinitionFacts(rows, lock);',
  },
  // Without this, a replica that was shown the change itself decides nothing by what it remembers.
  {
    file: 'src/mcp/call.ts',
    find: 'connectedTool: { ...calledTool(connectedTool, upstream), seenDigest },',
    replace:
      'connectedTool: { ...calledTool(connectedTool, upstream), seenDigest: seenDigest && undefined },',
  },
];
/** What each can break. A connection is a session, so its mutants are those of sessions. */
const MEMORY: [kinds: string[], patches: Patch[]][] = [
  [['session', 'key'], TRUSTING],
  [['policy', 'taskOfPolicy'], CACHED_POLICY],
  [['person'], TRUSTING_PEOPLE],
  [['definition', 'shared', 'hidden', 'lookAlike'], TRUSTING_DEFINITIONS],
];
const ALL = Object.keys(KINDS);
/** Whose allows follow each other so closely that some are committed too late as soon as nothing prevents it. */
const CLOSE = ALL.filter(kind => !kind.startsWith('task'));
/** A task takes several requests, so there are fewer rounds with them. */
const roundsOf = (kind: string): number => (kind.startsWith('task') ? Math.ceil(ROUNDS / 4) : ROUNDS);
const KEPT = ALL.map((kind): [string, Found] => [kind, { rounds: roundsOf(kind), late: 0, lateCommits: 0 }]);

describe('one process on SQLite', () => {
  test('no allow after the answer', async () => {
    expect(await measure(ALL, {}, 1, roundsOf)).toEqual(KEPT);
  });

  for (const [kinds, patches] of MEMORY) {
    whenChanged(...patches)(
      `${kinds.join(', ')}: a mutant that trusts what it remembers is found out`,
      async () => {
        const found = await withMutant(patches, root => measure(kinds, { root }, 1, mutantRounds));
        for (const [kind, each] of found) expect(tooLate(each), kind).toBeGreaterThan(0);
      },
    );
  }
});

describe.skipIf(server === null)('two processes on one PostgreSQL', () => {
  const store = async (root?: string): Promise<ServiceOptions> => ({
    databaseUrl: await server!.createDatabase(),
    ...(root && { root }),
  });

  test('no allow after the answer, none committed after the change', async () => {
    expect(await measure(ALL, await store(), 2, roundsOf)).toEqual(KEPT);
  });

  for (const [kinds, patches] of MEMORY) {
    whenChanged(...patches)(
      `${kinds.join(', ')}: a mutant that trusts what it remembers is found out`,
      async () => {
        const found = await withMutant(patches, async root =>
          measure(kinds, await store(root), 2, mutantRounds),
        );
        for (const [kind, each] of found) expect(tooLate(each), kind).toBeGreaterThan(0);
      },
    );
  }

  whenChanged(NO_LOCKS)(
    'a mutant without the locks commits allows too late, whatever was ended',
    async () => {
      const found = await withMutant([NO_LOCKS], async root =>
        measure(CLOSE, await store(root), 2, mutantRounds),
      );
      for (const [kind, { lateCommits }] of found) expect(lateCommits, kind).toBeGreaterThan(0);
    },
  );

  whenChanged(NO_SERVER_LOCK)('a mutant without the lock of the tool server that keys share', async () => {
    const [[, found] = []] = await withMutant([NO_SERVER_LOCK], async root =>
      measure(['shared'], await store(root), 2, mutantRounds),
    );
    expect(found?.lateCommits).toBeGreaterThan(0);
  });
});

/** A server that remembers when each transaction was committed. */
async function timestampedServer(): Promise<TestPostgres | null> {
  const started = await startPostgres();
  if (!need(started?.owned === true, 'a PostgreSQL of our own, to switch commit timestamps on')) return null;
  await sql(started!.url, 'ALTER SYSTEM SET track_commit_timestamp = on');
  await started!.stop('fast');
  await started!.start();
  return started;
}

interface Found {
  rounds: number;
  /** Allows of requests that were sent after the ending was answered. */
  late: number;
  /** Allows that were committed after the ending was. */
  lateCommits: number;
}

const tooLate = ({ late, lateCommits }: Found) => late + lateCommits;

/** All kinds on the same processes, one after the other. */
async function measure(
  kinds: readonly string[],
  options: ServiceOptions,
  processes: 1 | 2,
  roundsOf: (kind: string) => number,
): Promise<[kind: string, found: Found][]> {
  const first = await startOAuth(options);
  const services = [first];
  try {
    if (processes === 2) services.push(await startOAuth({ ...options, databaseUrl: first.databaseUrl }));
    const found: [string, Found][] = [];
    for (const kind of kinds)
      found.push([kind, await measureKind(kind, services, roundsOf(kind), options.root !== undefined)]);
    return found;
  } finally {
    for (const service of services) await service.close();
  }
}

async function measureKind(
  kind: string,
  services: TestService[],
  rounds: number,
  isMutant: boolean,
): Promise<Found> {
  const first = services[0] as TestService;
  const found: Found = { rounds: 0, late: 0, lateCommits: 0 };
  let operations = 0;
  while (found.rounds < rounds && !(isMutant && tooLate(found) > 0)) {
    const ending = await KINDS[kind]!(first);
    const { checked, late } = await endUnderLoad(services, ending);
    await ending.close?.();
    found.rounds++;
    found.late += late;
    operations += checked;
    if (services.length === 2) found.lateCommits += await lateCommits(first.databaseUrl, ending);
  }
  const where = `${kind}, ${services.length === 1 ? 'sqlite' : 'two on postgres'}${isMutant ? ' mutant' : ''}`;
  figures(`P5 ${where}`, {
    operations,
    faults: found.rounds,
    late: found.late,
    lateCommits: found.lateCommits,
    violations: found.late + found.lateCommits,
  });
  return found;
}

async function endUnderLoad(
  services: TestService[],
  ending: Ending,
): Promise<{ checked: number; late: number }> {
  const answers: Answer[] = [];
  const loads = services.map(service => keepChecking(service, ending, answer => answers.push(answer)));
  const allowed = () => answers.filter(isAllowed).length;
  const enough = (ending.tasks === undefined ? 3 * CONNECTIONS : 3) * services.length;
  await until('allows before the end', () => allowed() > enough);
  const { status } = await ending.end();
  const endedAt = performance.now();
  const after = () => answers.filter(answer => answer.sentAt > endedAt);
  if (status >= 300) throw new Error(`the ending itself was answered with ${status}`);
  await until('answers after the end', () => after().length > enough);
  await Promise.all(loads.map(load => load.stop()));
  const late = after().filter(isAllowed).length;
  return { checked: answers.length, late };
}

const isAllowed = (answer: Answer): boolean => hasRun(answer) || verdictOf(answer)?.decision === 'allow';

function keepChecking(
  service: TestService,
  { tokens, tool: name, tasks }: Ending,
  answered: (answer: Answer) => void,
): Load {
  if (tasks !== undefined) return startTaskLoad(service, tasks, answered);
  const body = JSON.stringify({ serverName: 'files', toolName: 'read' });
  const asking = (token: string) => (name === undefined ? { token, body } : callOf(token, name));
  return startLoad({
    connections: CONNECTIONS,
    url: () => service.url,
    next: connection => asking(tokens[connection % tokens.length]!),
    answered,
  });
}

async function lateCommits(databaseUrl: string, { ended, allows }: Ending): Promise<number> {
  const [row] = await sql<{ late: number }>(
    databaseUrl,
    `SELECT count(*) AS late FROM audit_entries e JOIN audit_contexts c ON c.id = e.context
     WHERE e.decision = 'allow' AND ${allows} AND pg_xact_commit_timestamp(e.xmin) > (SELECT pg_xact_commit_timestamp(xmin) FROM ${ended})`,
  );
  return Number(row?.late);
}
