// A clean stop under load: each request gets an answer or finds the door closed, every verdict given is in
// the log, and the process ends by itself with code 0.

import { describe, expect, test } from 'bun:test';
import { connect, type Socket } from 'node:net';
import { engines, type Reply, startService, type TestService } from '../support/service.ts';
import { expectNoVerdict } from './problem.ts';

const WORKERS = 16;
const BEFORE_STOP = 300;
const STOP_MS = 60_000;
const BODY = '{"serverName":"s","toolName":"t"}';

interface Load {
  verdicts: string[];
  stopping: number;
  /** Refused, or cut while still waiting to be let in: the door closed before the request was read. */
  closed: number;
}

/** Checks until the door is closed, on a connection of its own each. */
async function worker(service: TestService, key: string, load: Load): Promise<void> {
  for (;;) {
    const reply = await ask(service, key).catch(() => null);
    if (reply === null) {
      load.closed++;
      return;
    }
    if (reply.status === 200) load.verdicts.push(reply.body.toolCallId);
    else {
      expect(reply.status).toBe(503);
      expectNoVerdict(reply);
      load.stopping++;
    }
  }
}

function ask(service: TestService, key: string): Promise<Reply> {
  return service.request('POST', '/v1/check', {
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', Connection: 'close' },
    body: BODY,
    keepalive: false,
  });
}

async function loggedIds(service: TestService, keyId: string): Promise<string[]> {
  const again = await startService({ databaseUrl: service.databaseUrl, dataDir: service.dataDir });
  const { text } = await again.admin('GET', `/audit/export?keyId=${keyId}`);
  await again.kill('SIGTERM');
  return text
    .trimEnd()
    .split('\n')
    .map(line => (JSON.parse(line) as { id: string }).id);
}

async function stopInTime(service: TestService): Promise<void> {
  service.process.kill('SIGTERM');
  const late = Bun.sleep(STOP_MS).then(() => 'still running after a minute');
  expect(await Promise.race([service.process.exited, late])).toBe(0);
}

/** A connection that stays open, and the answers that came over it. */
class Client {
  readonly #socket: Socket;
  readonly #request: string;
  readonly closed: Promise<void>;
  #received = '';

  constructor(service: TestService, key: string) {
    const { hostname, port, host } = new URL(service.url);
    this.#request = `POST /v1/check HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`;
    this.#socket = connect(Number(port), hostname);
    this.#socket.setNoDelay(true);
    this.#socket.on('data', data => {
      this.#received += data.toString();
    });
    this.#socket.on('error', () => {});
    this.closed = new Promise(resolve => this.#socket.on('close', () => resolve()));
  }

  /** Resolves once the request is handed to the kernel. */
  send(): Promise<void> {
    return new Promise(resolve => this.#socket.write(this.#request, () => resolve()));
  }

  get statuses(): string[] {
    return [...this.#received.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(found => found[1] as string);
  }
}

for (const engine of await engines()) {
  describe(engine, () => {
    test('SIGTERM under load: every recorded verdict was received, every received one is recorded', async () => {
      const service = await startService({ engine });
      const { key, keyId } = await service.newKey([{ tool: '*', action: 'allow' }]);
      const load: Load = { verdicts: [], stopping: 0, closed: 0 };
      const workers = Array.from({ length: WORKERS }, () => worker(service, key, load));
      while (load.verdicts.length < BEFORE_STOP) await Bun.sleep(1);
      await stopInTime(service);
      await Promise.all(workers);
      expect(load.closed).toBe(WORKERS);
      expect((await loggedIds(service, keyId)).sort()).toEqual(load.verdicts.sort());
      await service.close();
    });

    test('requests sent over open connections before SIGTERM are all answered', async () => {
      const service = await startService({ engine });
      const { key } = await service.newKey([{ tool: '*', action: 'allow' }]);
      const clients = Array.from({ length: WORKERS }, () => new Client(service, key));
      await Promise.all(clients.map(client => client.send()));
      while (!clients.every(client => client.statuses.length === 1)) await Bun.sleep(1);
      await Promise.all(clients.map(client => client.send()));
      await stopInTime(service);
      for (const client of clients) {
        await client.closed;
        expect(client.statuses).toHaveLength(2);
        expect(['200', '503']).toContain(client.statuses[1] as string);
      }
      await service.close();
    });

    test('SIGINT stops an idle service as well', async () => {
      const service = await startService({ engine });
      expect(await service.kill('SIGINT')).toBe(0);
      await service.close();
    });
  });
}
