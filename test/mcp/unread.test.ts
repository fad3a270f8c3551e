// Answers that their clients do not read: a key has as many in memory as its share has room for, whatever it calls, and
// others notice nothing of it. A client that does not read at all is disconnected, and the answers behind it come.

import { afterAll, expect } from 'bun:test';
import { readFileSync } from 'node:fs';
import { createConnection, type Socket } from 'node:net';
import { until } from '../support/faults.ts';
import { connect, LegacyClient, RecordingUpstream, text } from '../support/mcp.ts';
import { type Mutant, mutant, type Patch } from '../support/mutant.ts';
import { startService, type TestService } from '../support/service.ts';
import { whenChanged } from '../support/when-changed.ts';

const MIB = 1024 * 1024;
const LARGE = 8 * MIB;
const CALLS = 60;
const ALLOW = [{ tool: '*', action: 'allow' as const }];

/** The same program, but it does not wait for half a minute until a client reads. */
const IMPATIENT: Patch = {
  file: 'src/http/agent/mcp.ts',
  find: 'const READ_SECONDS = 30;',
  replace: 'const READ_SECONDS = 2;',
};
const large = new RecordingUpstream({
  onCall: () => ({ content: [{ type: 'text', text: 'x'.repeat(LARGE) }] }),
});
const small = new RecordingUpstream();
/** Longer than the runtime takes to notice that the time to read is over. */
const slow = new RecordingUpstream({ onCall: () => Bun.sleep(6000).then(() => ({ content: [] })) });
let running: { impatient: Mutant; service: TestService } | undefined;
let service: TestService;

/** The first test starts the service: Bun runs hooks also in a file whose tests are all left out. */
async function start(): Promise<void> {
  if (running !== undefined) return;
  const impatient = mutant(IMPATIENT);
  service = await startService({ root: impatient.root });
  running = { impatient, service };
}
afterAll(async () => {
  await running?.service.close();
  running?.impatient.remove();
  await Promise.all([large, small, slow].map(each => each.stop()));
});

/** The most memory that the service has had so far. */
function mostMemory(): number {
  const status = readFileSync(`/proc/${service.process.pid}/status`, 'utf8');
  return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
}

async function client(upstream: RecordingUpstream): Promise<LegacyClient> {
  const { key, keyId } = await service.newKey(ALLOW);
  await connect(service, keyId, 'up', upstream.url);
  const opened = await LegacyClient.open(service, key);
  await opened.tools();
  return opened;
}

/** A call whose answer is read when the test says so. */
function unread({ token, sessionId }: LegacyClient): { socket: Socket; closed: () => boolean } {
  const { hostname, port, host } = new URL(service.url);
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'up__echo' } });
  const socket = createConnection(Number(port), hostname);
  socket.pause();
  let isClosed = false;
  socket.on('close', () => {
    isClosed = true;
  });
  socket.on('error', () => {});
  const head = [
    'POST /mcp HTTP/1.1',
    `Host: ${host}`,
    `Authorization: Bearer ${token}`,
    `Mcp-Session-Id: ${sessionId}`,
    'Content-Type: application/json',
    'Accept: application/json, text/event-stream',
    `Content-Length: ${body.length}`,
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
  return { socket, closed: () => isClosed };
}

/** A client that is kept from its core for two seconds counts as one that does not read: these need a quiet machine. */
const quietTest = whenChanged('src/mcp/**', 'src/guard/rations/**', 'src/http/agent/mcp.ts');

quietTest(
  'of many large answers that nobody reads, one share of them is here, and others are served',
  async () => {
    await start();
    const [greedy, other] = [await client(large), await client(small)];
    await other.call('up__echo', { n: 0 });
    const before = mostMemory();
    const sockets = Array.from({ length: CALLS }, () => unread(greedy));
    await until('all calls are made', () => large.calls.length === CALLS);
    for (let n = 1; n <= 20; n++) expect(text(await other.call('up__echo', { n }))).toBe(`{"n":${n}}`);
    // It was 60 MiB, and 2 GiB before answers counted.
    expect(mostMemory() - before).toBeLessThan(250 * MIB);
    for (const { socket } of sockets) socket.destroy();
    expect(text(await greedy.call('up__echo')).length).toBe(LARGE);
  },
);

quietTest('a client that has read what there is may wait for the rest of its batch', async () => {
  await start();
  const { key, keyId } = await service.newKey(ALLOW);
  await connect(service, keyId, 'up', large.url);
  await connect(service, keyId, 'slow', slow.url);
  const opened = await LegacyClient.open(service, key, '2025-03-26');
  await opened.tools();
  const call = { jsonrpc: '2.0', method: 'tools/call' };
  const names = ['up__echo', 'slow__echo'];
  const { message } = await opened.post(names.map((name, id) => ({ ...call, id, params: { name } })));
  expect(message.map((each: { id: number }) => each.id)).toEqual([0, 1]);
});

quietTest('a client that does not read is disconnected, and the answers behind it come', async () => {
  await start();
  const greedy = await client(large);
  const before = large.calls.length;
  const sockets = [unread(greedy), unread(greedy)];
  await until('both calls are made', () => large.calls.length === before + 2);
  // The share has no room for it until one of them is gone.
  expect(text(await greedy.call('up__echo')).length).toBe(LARGE);
  for (const { socket } of sockets) socket.resume();
  await until('both are disconnected', () => sockets.every(each => each.closed()));
});
