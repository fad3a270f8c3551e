// P20: a misbehaving upstream is contained. It never answers, trickles, floods, lies about ids, sends what is too
// large, exits, forks: its calls end with an error within their limits, calls of others are not touched, nothing of
// one answer appears in another, memory stays bounded, and our own kill -9 leaves no process behind.

import { afterAll, describe, expect, test } from 'bun:test';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { figures, inTime, newDataDir, until, withMutant } from '../support/faults.ts';
import {
  type Answering,
  connect,
  LegacyClient,
  outcomesOf,
  RecordingUpstream,
  raw,
  startWithStdio,
  stdioScript,
  streamed,
  text,
  unrecorded,
} from '../support/mcp.ts';
import type { Patch } from '../support/mutant.ts';
import { LONG } from '../support/need.ts';
import type { TestService } from '../support/service.ts';
import { whenChanged } from '../support/when-changed.ts';

const folder = newDataDir();
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const GIB = 1024 * 1024 * 1024;
const FLOOD = LONG ? GIB : GIB / 4;
/** What a service may grow by while it refuses all that. */
const MEMORY = 400 * 1024 * 1024;
/** Two endless bodies, each bounded at 16 MiB, and what fits into sockets. */
const LIMIT = 128 * 1024 * 1024;
/** What an upstream says during one call whose caller does not listen. */
const SAID = 200 * 1024 * 1024;
const MIB_OF_X = 'x'.repeat(1024 * 1024);

/** A small body that unpacks to a thousand times as much. */
const BOMB = Bun.gzipSync(new Uint8Array(128 * 1024 * 1024));

/** Bytes without an end, given away as fast as they are taken; tells how many were. */
const taken = { bytes: 0 };
function endless(type: string, start: string, headers: Record<string, string> = {}): Response {
  let first = true;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (taken.bytes > FLOOD) return controller.close();
      controller.enqueue(new TextEncoder().encode(first ? start : MIB_OF_X));
      first = false;
      taken.bytes += MIB_OF_X.length;
    },
  });
  return new Response(body, { headers: { 'Content-Type': type, ...headers } });
}

const trickle = (type: string, start: string) =>
  raw(type, async write => {
    write(start);
    for (let sent = 0; sent < 100; sent++) {
      await Bun.sleep(100);
      write(' ');
    }
  });

const foreign = { content: [{ type: 'text', text: 'foreign' }] };
const elsewhere = new RecordingUpstream();
afterAll(() => elsewhere.stop());

const BAD: Record<string, Answering> = {
  'never answers': () => new Promise(() => {}),
  'trickles an answer': () => trickle('application/json', '{'),
  'trickles events': () => trickle('text/event-stream', ': x\n\n'),
  'sends a line without end': () => endless('text/event-stream', 'data: '),
  'sends an answer without end': () => endless('application/json', '"'),
  'sends what unpacks to far more': () =>
    new Response(BOMB, {
      headers: { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' },
    }),
  'answers another id': ({ id }) => Response.json({ jsonrpc: '2.0', id: id + 1, result: foreign }),
  'answers the id as text': ({ id }) => Response.json({ jsonrpc: '2.0', id: String(id), result: foreign }),
  'answers no id': () => Response.json({ jsonrpc: '2.0', id: null, result: foreign }),
  'streams other ids': ({ id }) =>
    streamed(send => {
      for (const other of [id - 1, id + 1, String(id), null])
        send({ jsonrpc: '2.0', id: other, result: foreign });
    }),
  'answers a list': ({ id }) => Response.json([{ jsonrpc: '2.0', id, result: foreign }]),
  'answers in words': () => new Response('foreign', { headers: { 'Content-Type': 'application/json' } }),
  'answers as a page': () => new Response('<h1>foreign</h1>', { headers: { 'Content-Type': 'text/html' } }),
  'streams garbage': () => raw('text/event-stream', write => write('data: foreign\n\ndata: {\n\n')),
  'nests too deep': ({ id }) =>
    raw('application/json', write =>
      write(`{"jsonrpc":"2.0","id":${id},"result":${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}}`),
    ),
  redirects: () => new Response(null, { status: 307, headers: { Location: elsewhere.url } }),
  fails: () => new Response('foreign', { status: 503 }),
  'ends its stream early': () => raw('text/event-stream', write => write(': x\n\n')),
};

const FOREIGN_IDS: Patch = {
  file: 'src/mcp/wire-http.ts',
  find: 'if (message !== null && message.id === id) return message;',
  replace: 'if (message !== null) return message;',
};
const UNBOUNDED: Patch = {
  file: 'src/mcp/wire.ts',
  find: 'export const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;',
  replace: 'export const MAX_MESSAGE_BYTES = 16 * 1024 * 1024 * 1024;',
};
const UNBOUNDED_ANSWERS: Patch = {
  file: 'src/mcp/duplex.ts',
  find: 'if (this.#declining >= MAX_DECLINING) return;',
  replace: '',
};
const NO_TURNS: Patch = {
  file: 'src/mcp/read-slices.ts',
  find: 'if (this.#taken < SLICE_BYTES) return null;',
  replace: 'if (this.#taken > 0) return null;',
};
const UNWATCHED: Patch = {
  file: 'src/mcp/wire-stdio.ts',
  find: '\'{ read -r _ <&3; kill -9 0; } & exec 3<&-; exec "$@"\'',
  replace: '\'exec 3<&-; exec "$@"\'',
};

describe('over HTTP', () => {
  test('every way to misbehave ends in an error, and touches no other call', async () => {
    const found = await inTime(() => misbehave(BAD));
    expect(found.uncontained).toEqual([]);
    expect([found.crossTalk, found.late]).toEqual([0, 0]);
    expect(found.takenBytes).toBeLessThan(LIMIT);
    expect(found.grownBytes).toBeLessThan(MEMORY);
    expect(elsewhere.heard).toEqual([]);
  });

  whenChanged(FOREIGN_IDS)('a mutant that takes any id is found out', async () => {
    const ways = { 'answers another id': BAD['answers another id']! };
    const found = await withMutant(
      [FOREIGN_IDS],
      async root => (await misbehave(ways, root)).uncontained.length,
    );
    expect(found).toBeGreaterThan(0);
  });

  whenChanged(UNBOUNDED)('a mutant without a bound is found out', async () => {
    const ways = { 'sends a line without end': BAD['sends a line without end']! };
    const found = await withMutant([UNBOUNDED], root => misbehave(ways, root));
    expect(found.takenBytes).toBeGreaterThan(LIMIT);
  });
});

whenChanged('src/mcp/**', 'src/http/**')(
  'notifications for a client that does not read are dropped, its result is not',
  async () => {
    const { service, end } = await startWithStdio({});
    const params = { level: 'info', data: MIB_OF_X };
    const notification = { jsonrpc: '2.0', method: 'notifications/message', params };
    const sent = Promise.withResolvers<void>();
    const upstream = new RecordingUpstream({
      onCall: ({ id }) =>
        streamed(async send => {
          for (let each = 0; each < SAID / MIB_OF_X.length; each++) {
            send(notification);
            await new Promise(setImmediate);
          }
          send({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'the result' }] } });
          sent.resolve();
        }),
    });
    const { key, keyId } = await service.newKey([{ tool: '*', action: 'allow' }]);
    await connect(service, keyId, 'up', upstream.url);
    const client = await LegacyClient.open(service, key);
    await client.tools();
    const reader = await callWithoutReading(service, key, client.sessionId);
    await sent.promise;
    await until('the call is over', async () => (await outcomesOf(service, keyId)).length === 1, 60_000);
    const said = await reader.readAll();
    expect(said.length).toBeLessThan(SAID / 2);
    expect(said).toContain('the result');
    await end();
    await upstream.stop();
  },
);

/** A caller whose socket takes nothing in until it is told to: what came by then is what was kept for it. */
async function callWithoutReading(service: TestService, key: string, sessionId: string) {
  const { hostname, port } = new URL(service.url);
  const socket = createConnection(Number(port), hostname).pause();
  await once(socket, 'connect');
  const body = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"up__echo"}}';
  socket.write(
    `POST /mcp HTTP/1.1\r\nHost: ${hostname}:${port}\r\nAuthorization: Bearer ${key}\r\n` +
      `Mcp-Session-Id: ${sessionId}\r\nContent-Type: application/json\r\nConnection: close\r\n` +
      `Accept: application/json, text/event-stream\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  const readAll = async () => {
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.resume();
    await once(socket, 'close');
    return Buffer.concat(chunks).toString('latin1');
  };
  return { readAll };
}

interface Found {
  good: number;
  /** Calls that could not be recorded in time, and good ones that were not answered in time. */
  late: number;
  crossTalk: number;
  uncontained: string[];
  takenBytes: number;
  grownBytes: number;
}

async function misbehave(ways: Record<string, Answering>, root?: string): Promise<Found> {
  const bad = new RecordingUpstream({ onCall: call => ways[call.params.arguments.way]!(call) });
  const good = new RecordingUpstream();
  const env = { TOOLGATE_UPSTREAM_TIMEOUT: root === undefined ? '2s' : '60s' };
  const { service, end } = await startWithStdio({}, { env, ...(root && { root }) });
  taken.bytes = 0;
  try {
    const { key, keyId } = await service.newKey([{ tool: '*', action: 'allow' }]);
    await connect(service, keyId, 'bad', bad.url);
    await connect(service, keyId, 'good', good.url);
    const client = await LegacyClient.open(service, key);
    await client.tools();
    const before = memoryOf(service);
    const load = keepCalling(client);
    const uncontained: string[] = [];
    let unjudged = 0;
    await Promise.all(
      Object.keys(ways).map(async way => {
        const said = await client.call('bad__echo', { way });
        if (unrecorded(said)) unjudged++;
        else if (said.result?.isError !== true || said.text.includes('foreign'))
          uncontained.push(`${way}: ${said.text.slice(0, 200)}`);
      }),
    );
    const { calls, crossTalk, late: unanswered } = await load.stop();
    const late = unanswered + unjudged;
    const grownBytes = memoryOf(service) - before;
    figures(`P20 http${root ? ' mutant' : ''}`, {
      operations: calls,
      faults: Object.keys(ways).length,
      uncontained: uncontained.length,
      crossTalk,
      late,
      takenMiB: Math.round(taken.bytes / 1024 / 1024),
      grownMiB: Math.round(grownBytes / 1024 / 1024),
      violations: uncontained.length + crossTalk + (taken.bytes > LIMIT ? 1 : 0),
    });
    return { good: calls, late, crossTalk, uncontained, takenBytes: taken.bytes, grownBytes };
  } finally {
    await end();
    await bad.stop();
    await good.stop();
  }
}

/** A client of a good upstream that checks that every answer is its own. */
function keepCalling(client: LegacyClient) {
  let going = true;
  let calls = 0;
  let late = 0;
  let crossTalk = 0;
  const one = async () => {
    while (going) {
      const n = crypto.randomUUID();
      const said = await client.call('good__echo', { n }, { progressToken: n });
      calls++;
      if (unrecorded(said) || text(said).includes('did not answer within')) late++;
      else if (text(said) !== JSON.stringify({ n })) crossTalk++;
    }
  };
  const all = Promise.all(Array.from({ length: 4 }, one));
  const stop = async () => {
    await until('enough good calls', () => calls > 50);
    going = false;
    await all;
    return { calls, crossTalk, late };
  };
  return { stop, calls: () => calls };
}

function memoryOf(service: TestService): number {
  const status = readFileSync(`/proc/${service.process.pid}/status`, 'utf8');
  return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) * 1024;
}

describe('over stdio', () => {
  test('a server that is silent, lies, asks, floods or exits is contained, and comes back', async () => {
    const journal = join(folder, 'stdio');
    const env = { TOOLGATE_UPSTREAM_TIMEOUT: '3s' };
    const { service, end } = await startWithStdio({ script: stdioScript('good', journal) }, { env });
    const { key, keyId } = await service.newKey([{ tool: '*', action: 'allow' }]);
    const id = await connect(service, keyId, 'cmd', { transport: 'stdio', server: 'script' });
    const client = await LegacyClient.open(service, key);
    const before = memoryOf(service);
    expect(text(await client.call('cmd__echo', { how: 'foreign', n: 1 }))).toBe('{"how":"foreign","n":1}');
    expect(text(await client.call('cmd__echo', { how: 'stderr', n: 'CANARY' }))).toContain('CANARY');
    for (const how of ['silent', 'asks', 'long line', 'exit']) {
      const said = await client.call('cmd__echo', { how });
      expect([how, said.result.isError]).toEqual([how, true]);
      await service.admin('POST', `/keys/${keyId}/connected-tools/${id}/test`);
      expect(text(await client.call('cmd__other', { after: how }))).toBe(JSON.stringify({ after: how }));
    }
    const written = readFileSync(journal, 'utf8');
    expect(written).toContain('notifications/cancelled');
    expect(written).toContain('declined -32601');
    expect(service.output).not.toContain('CANARY');
    expect(memoryOf(service) - before).toBeLessThan(MEMORY);
    const pids = [...written.matchAll(/pid (\d+)/g)].map(found => found[1]!);
    await until('all but the last are gone', () => pids.slice(0, -1).every(pid => !lives(pid)));
    await end();
    await until('the last is gone', () => !lives(pids.at(-1)!));
  });

  test('a silent call times out however much is said of others, and nothing said of one reaches another', async () => {
    const journal = join(folder, 'chatty');
    const env = { TOOLGATE_UPSTREAM_TIMEOUT: '2s' };
    const { service, end } = await startWithStdio({ script: stdioScript('good', journal) }, { env });
    const { key, keyId } = await service.newKey([{ tool: '*', action: 'allow' }]);
    await connect(service, keyId, 'cmd', { transport: 'stdio', server: 'script' });
    const client = await LegacyClient.open(service, key);
    await client.tools();
    const alone = await client.call('cmd__echo', { n: 'alone' });
    expect(alone.messages.map(each => each.method)).toEqual(['notifications/message', undefined]);
    let silent = true;
    let calls = 0;
    let crossTalk = 0;
    const ended = client.call('cmd__echo', { how: 'silent' }, { progressToken: 'mine' }).then(said => {
      silent = false;
      return said;
    });
    const chat = async () => {
      while (silent) {
        const n = crypto.randomUUID();
        const said = await client.call('cmd__echo', { n });
        // Any word that comes within the time-out could be taken for one of the silent call.
        await Bun.sleep(20);
        calls++;
        if (said.text.replaceAll(n, '').match(/[0-9a-f]{8}-[0-9a-f]{4}/) !== null) crossTalk++;
      }
    };
    await Promise.all([chat(), chat(), chat()]);
    expect(text(await ended)).toContain('did not answer within 2 s');
    figures('P20 stdio', { operations: calls, faults: 1, violations: crossTalk });
    expect([calls > 2, crossTalk]).toEqual([true, 0]);
    await end();
  });

  whenChanged('src/mcp/**')(
    'one that asks without end and reads nothing costs neither memory nor other calls',
    async () => {
      const found = await inTime(() => flood());
      expect([found.answer, found.crossTalk, found.late]).toEqual(['after all that', 0, 0]);
      expect(found.grownBytes).toBeLessThan(FLOOD_MEMORY);
      expect(found.meanwhile).toBeGreaterThan(MEANWHILE);
    },
  );

  whenChanged(NO_TURNS)('a mutant that leaves others no turn is found out', async () => {
    const found = await withMutant([NO_TURNS], root => flood(root));
    // The calls are answered too late, or too few of them at all.
    expect(found.late > 0 || found.meanwhile <= MEANWHILE).toBe(true);
  });

  whenChanged(UNBOUNDED_ANSWERS)('a mutant that answers whatever is asked is found out', async () => {
    const found = await withMutant([UNBOUNDED_ANSWERS], root => flood(root, ASKED / 4));
    expect(found.grownBytes).toBeGreaterThan(FLOOD_MEMORY);
  });

  test('our own kill -9 leaves no process behind, nor what it forked', async () => {
    expect(await orphans()).toBe(0);
  });

  whenChanged(UNWATCHED)('a mutant without the watcher leaves some', async () => {
    expect(await withMutant([UNWATCHED], orphans)).toBeGreaterThan(0);
  });
});

/** A child’s requests, and what refusing them may cost. */
const ASKED = 64 * 1024 * 1024;
const FLOOD_MEMORY = 200 * 1024 * 1024;
/**
 * Calls of a good upstream that are answered while the thousand slices of a flood are read: some hundreds, or next to none.
 * On a machine whose other work keeps the flood from flowing, 68 were answered in its pauses.
 */
const MEANWHILE = 120;

async function flood(root?: string, bytes = ASKED) {
  const good = new RecordingUpstream();
  const script = stdioScript('good', join(folder, 'flood'));
  const { service, end } = await startWithStdio({ script }, root ? { root } : {});
  try {
    const { key, keyId } = await service.newKey([{ tool: '*', action: 'allow' }]);
    await connect(service, keyId, 'cmd', { transport: 'stdio', server: 'script' });
    await connect(service, keyId, 'good', good.url);
    const client = await LegacyClient.open(service, key);
    await client.tools();
    const before = memoryOf(service);
    const load = keepCalling(client);
    const answer = text(await client.call('cmd__echo', { how: 'floods', bytes }));
    const meanwhile = load.calls();
    const { calls, crossTalk, late } = await load.stop();
    const grownBytes = memoryOf(service) - before;
    figures(`P20 flood${root ? ' mutant' : ''}`, {
      operations: calls,
      faults: 1,
      late,
      meanwhile,
      grownMiB: Math.round(grownBytes / 1024 / 1024),
      violations: crossTalk + (grownBytes > FLOOD_MEMORY ? 1 : 0) + (meanwhile > MEANWHILE ? 0 : 1),
    });
    return { answer, crossTalk, late, meanwhile, grownBytes };
  } finally {
    await end();
    await good.stop();
  }
}

const lives = (pid: string): boolean =>
  existsSync(`/proc/${pid}`) && !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));

async function orphans(root?: string): Promise<number> {
  const journal = join(folder, crypto.randomUUID());
  const script = stdioScript('fork', journal);
  const { service } = await startWithStdio({ script }, { dataDir: folder, ...(root && { root }) });
  const { key, keyId } = await service.newKey([{ tool: '*', action: 'allow' }]);
  await connect(service, keyId, 'one', { transport: 'stdio', server: 'script' });
  await connect(service, keyId, 'two', { transport: 'stdio', server: 'script' });
  const client = await LegacyClient.open(service, key);
  expect((await client.tools()).length).toBe(4);
  const pids = [...readFileSync(journal, 'utf8').matchAll(/(?:pid|fork) (\d+)/g)].map(found => found[1]!);
  expect(pids.length).toBe(4);
  expect(pids.every(lives)).toBe(true);
  await service.kill('SIGKILL');
  const left = () => pids.filter(lives);
  await until('they are gone', () => left().length === 0, root === undefined ? 60_000 : 1000).catch(() => {});
  const count = left().length;
  for (const pid of left()) process.kill(Number(pid), 'SIGKILL');
  figures(`P20 orphans${root ? ' mutant' : ''}`, {
    operations: pids.length,
    faults: 1,
    violations: count,
  });
  return count;
}
