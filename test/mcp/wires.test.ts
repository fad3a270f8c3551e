// One connection to an upstream, by itself: what it is opened on may end without it, what comes in and what is not
// taken is bounded, and a call under way is neither cut off as idle nor kept for ever by progress.

import { afterAll, describe, expect, test } from 'bun:test';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { OUTBOUND } from '../../src/cli/outbound.ts';
import { Upstream, type UpstreamLimits } from '../../src/mcp/upstream.ts';
import { MAX_MESSAGE_BYTES, type Wire } from '../../src/mcp/wire.ts';
import { HttpWire } from '../../src/mcp/wire-http.ts';
import { SseWire } from '../../src/mcp/wire-sse.ts';
import { StdioWire } from '../../src/mcp/wire-stdio.ts';
import { connectedTool } from '../store/stores.ts';
import { newDataDir, until } from '../support/faults.ts';
import { RecordingUpstream, stdioScript, streamed } from '../support/mcp.ts';
import { refusal } from '../support/refusal.ts';
import { SseUpstream } from '../support/sse-upstream.ts';
import { newRation } from './channel.ts';

const rules = { allowPrivate: true };
const target = (url: string) => ({ url, headers: {}, rules });
const hooks = () => ({
  signal: new AbortController().signal,
  ration: newRation(),
  onNotification: () => {},
});
const PLENTY: UpstreamLimits = { connectMs: 60_000, startMs: 60_000, patienceMs: 60_000 };

const closing: (() => unknown)[] = [];
afterAll(async () => {
  for (const close of closing) await close();
});
const ended = <T extends { stop: () => unknown }>(each: T): T => {
  closing.push(() => each.stop());
  return each;
};

function upstreamOn(
  transport: 'http' | 'sse' | 'stdio',
  open: (signal: AbortSignal) => Promise<Wire>,
  { limits = PLENTY, now = Date.now }: { limits?: UpstreamLimits; now?: () => number } = {},
): Upstream {
  const upstream = new Upstream(
    connectedTool({ transport, target: '' }),
    (_tool, signal) => open(signal),
    newRation,
    now,
    () => {},
    limits,
  );
  closing.push(() => upstream.close());
  return upstream;
}

const asking = (timeoutMs = 60_000, maxMs = 60_000) => ({ cancel: new AbortController(), timeoutMs, maxMs });
const call = (upstream: Upstream, args = {}, wanted = asking()) =>
  upstream.request('tools/call', { name: 'echo', arguments: args }, wanted);

describe('the older HTTP transport', () => {
  test('what was opened outlives the limit for opening, with the call under way', async () => {
    const calls: number[] = [];
    const server = ended(new SseUpstream({ onCall: ({ id }) => calls.push(id) }));
    const opening = new AbortController();
    const wire = await SseWire.open(target(server.url), opening.signal, newRation);
    const answered = wire.request('tools/call', { name: 'echo' }, hooks());
    await until('the call arrived', () => calls.length === 1);
    opening.abort();
    server.answer(calls[0], 'still there');
    expect((await answered).result).toMatchObject({ content: [{ text: 'still there' }] });
    wire.close();
  });

  test('a limit that is reached while it is opened ends it', async () => {
    const silent = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: () => new Promise<Response>(() => {}),
    });
    closing.push(() => silent.stop(true));
    const limits = { ...PLENTY, connectMs: 50 };
    const upstream = upstreamOn('sse', signal => SseWire.open(target(silent.url.href), signal, newRation), {
      limits,
    });
    await expect(call(upstream)).rejects.toThrow('the upstream did not answer within 0.05 s');
  });

  test('an endpoint of another origin is refused, and gets nothing', async () => {
    const elsewhere = ended(new RecordingUpstream());
    for (const endpoint of [elsewhere.url, elsewhere.url.replace('http:', ''), 'https://127.0.0.1/x']) {
      const server = ended(new SseUpstream({ endpoint }));
      const upstream = upstreamOn('sse', signal => SseWire.open(target(server.url), signal, newRation));
      await expect(call(upstream)).rejects.toThrow('the upstream named a foreign endpoint');
      expect([server.heard, elsewhere.heard]).toEqual([[], []]);
    }
  });

  test('one that asks without end gets few answers at a time, and our calls are answered', async () => {
    const server = ended(
      new SseUpstream({
        holdsAnswers: true,
        onCall: ({ id }, self) => {
          for (let each = 0; each < 500; each++) self.say({ id: `theirs ${each}`, method: 'roots/list' });
          self.answer(id, 'after all that');
        },
      }),
    );
    const upstream = upstreamOn('sse', signal => SseWire.open(target(server.url), signal, newRation));
    expect((await call(upstream)).result).toMatchObject({ content: [{ text: 'after all that' }] });
    await until('some were answered', () => server.mostHeld > 0);
    expect((await call(upstream)).error).toBeNull();
    expect(server.mostHeld).toBeLessThanOrEqual(8);
  });
});

/** An HTTP server on a bare socket: answers every request with this head and then chunks without end. */
async function lying(head: string, start: string): Promise<{ url: string; sent: () => number }> {
  let sent = 0;
  const chunk = `10000\r\n${'x'.repeat(65536)}\r\n`;
  const answer = (socket: Socket) => {
    socket.write(
      `HTTP/1.1 ${head}\r\nTransfer-Encoding: chunked\r\n\r\n${start.length.toString(16)}\r\n${start}\r\n`,
    );
    const pour = () => {
      while (!socket.destroyed && sent < 16 * MAX_MESSAGE_BYTES) {
        sent += 65536;
        if (!socket.write(chunk)) return;
      }
      socket.destroy();
    };
    socket.on('drain', pour);
    pour();
  };
  const server: Server = createServer(socket => {
    socket.on('error', () => {});
    socket.once('data', () => answer(socket));
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', resolve);
  await promise;
  closing.push(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as { port: number }).port}/mcp`, sent: () => sent };
}

const LIES: Record<string, [head: string, start: string]> = {
  'a small length beside chunks': ['200 OK\r\nContent-Type: application/json\r\nContent-Length: 5', '"'],
  'no length': ['200 OK\r\nContent-Type: application/json', '"'],
  'an error status': ['500 Oh\r\nContent-Type: application/json\r\nContent-Length: 5', '"'],
  'an event without end': ['200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 5', 'data: '],
  'a packed answer': [
    '200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: 5',
    '"',
  ],
};

describe('an answer without end is given up at 16 MiB', () => {
  for (const [name, [head, start]] of Object.entries(LIES)) {
    test(name, async () => {
      const server = await lying(head, start);
      const wire = new HttpWire(target(server.url));
      await expect(wire.request('tools/list', {}, hooks())).rejects.toThrow(/too large/);
      expect(server.sent()).toBeLessThan(4 * MAX_MESSAGE_BYTES);
    });
  }

  test('as the stream of the older transport', async () => {
    const [head, start] = LIES['an event without end']!;
    const server = await lying(head, start);
    await expect(SseWire.open(target(server.url), new AbortController().signal, newRation)).rejects.toThrow(
      /too large/,
    );
    expect(server.sent()).toBeLessThan(4 * MAX_MESSAGE_BYTES);
  });
});

describe('a call under way', () => {
  test('is not cut off as idle, however long it takes', async () => {
    let now = 1000;
    const release = Promise.withResolvers<unknown>();
    const server = ended(new RecordingUpstream({ onCall: () => release.promise }));
    const open = async () => new HttpWire(target(server.url));
    const upstream = upstreamOn('http', open, { now: () => now });
    const answered = call(upstream);
    await until('the call arrived', () => server.calls.length === 1);
    now += 3_600_000;
    upstream.closeIfIdle(now - 1000);
    expect([upstream.health.state, server.sessions.size]).toEqual(['ready', 1]);
    release.resolve({ content: [] });
    expect((await answered).result).toEqual({ content: [] });
    // It was used a moment ago; an hour later nobody has.
    upstream.closeIfIdle(now - 1000);
    expect(upstream.health.state).toBe('ready');
    now += 3_600_000;
    upstream.closeIfIdle(now - 1000);
    expect(upstream.health.state).toBe('idle');
    await until('the upstream was told', () => server.sessions.size === 0);
    // The next one is made on a new connection, not on the one that was closed.
    expect((await call(upstream)).result).toEqual({ content: [] });
    expect([server.calls.length, server.of('tools/call').length]).toEqual([2, 2]);
    expect(server.of('initialize')).toHaveLength(2);
  });

  test('is ended by its overall limit, whatever progress is reported', async () => {
    let left = 500;
    const server = ended(
      new RecordingUpstream({
        onCall: ({ id, params }) =>
          streamed(async send => {
            const { progressToken } = params._meta;
            for (; left > 0; left--) {
              send({
                jsonrpc: '2.0',
                method: 'notifications/progress',
                params: { progressToken, progress: 1 },
              });
              await Bun.sleep(20);
            }
            send({ jsonrpc: '2.0', id, result: { content: [] } });
          }),
      }),
    );
    const upstream = upstreamOn('http', async () => new HttpWire(target(server.url)));
    await upstream.connect();
    const params = { name: 'echo', _meta: { progressToken: 'ours' } };
    const asked = upstream.request('tools/call', params, asking(60_000, 500));
    await expect(asked).rejects.toThrow('did not finish within 0.5 s');
    expect(left).toBeGreaterThan(0);
    left = 0;
    await until('the upstream was told', () => server.of('notifications/cancelled').length === 1);
  });
});

describe('a caller who hangs up again and again leaves a bounded number of requests at a server that takes none', () => {
  test.each(['http', 'sse'])('%s', async transport => {
    const script = join(import.meta.dir, 'hang-up.ts');
    const env = { ...process.env, ...OUTBOUND };
    const child = Bun.spawn([process.execPath, script, transport], {
      env,
      stdout: 'pipe',
      stderr: 'inherit',
    });
    const { most, refused } = JSON.parse(await new Response(child.stdout).text());
    // Some that we have given up may be noticed there a moment later.
    expect(most).toBeGreaterThan(0);
    expect(most).toBeLessThan(1200);
    expect(refused > 0).toBe(transport === 'sse');
  });
});

test('a stream that ended is opened again, and what is said on it is heard', async () => {
  const server = ended(new RecordingUpstream());
  const upstream = upstreamOn('http', async () => new HttpWire(target(server.url)));
  await upstream.connect();
  for (let round = 0; round < 2; round++) {
    await until('it listens', () => server.listening === 1);
    const before = upstream.changes;
    server.say('notifications/tools/list_changed');
    await until('it was heard', () => upstream.changes === before + 1);
    server.endStreams();
  }
  await until('it listens again', () => server.listening === 1);
  upstream.close();
  await until('it listens no more', () => server.listening === 0);
});

const QUIET = { stderr: 'drop' as const, onDropped: () => {}, newRation };

describe('a command', () => {
  const folder = newDataDir();
  const started = (behaviour: string, file: string) =>
    new StdioWire({ env: {}, args: [], ...stdioScript(behaviour, join(folder, file)) }, QUIET);

  test('that takes long to start: whoever calls is told, and it is not killed', async () => {
    const limits = { ...PLENTY, patienceMs: 50 };
    let wires = 0;
    const open = async () => {
      wires++;
      return started('slow start', 'slow');
    };
    const upstream = upstreamOn('stdio', open, { limits });
    const failed = await call(upstream).catch(error => error.message);
    expect(failed).toContain('the command is still starting');
    expect(failed).toContain('of the 60 s that TOOLGATE_UPSTREAM_START gives it');
    writeFileSync(join(folder, 'slow.go'), '');
    await upstream.connect();
    expect((await call(upstream, { n: 1 })).result).toMatchObject({ content: [{ text: '{"n":1}' }] });
    expect(wires).toBe(1);
  });

  test('that never says it is ready is given up, and the message says what to do', async () => {
    const limits = { ...PLENTY, startMs: 50 };
    const upstream = upstreamOn('stdio', async () => started('slow start', 'never'), { limits });
    const failed = await upstream.connect().catch(error => error.message);
    expect(failed).toContain('did not say that it is ready within 0.05 s of its start');
    expect(failed).toContain('TOOLGATE_STDIO_STDERR=inherit');
    expect(upstream.health).toMatchObject({ state: 'down', error: `${failed}; restarts again in 1 s` });
  });

  test('what it writes to standard error is counted, and goes nowhere', async () => {
    let dropped = 0;
    const shell = { command: 'sh', args: ['-c', 'printf 12345 >&2; printf 67 >&2; cat'], env: {} };
    const count = (bytes: number) => {
      dropped += bytes;
    };
    const wire = new StdioWire(shell, { stderr: 'drop', onDropped: count, newRation });
    await until('all of it was counted', () => dropped === 7);
    wire.close();
  });

  test('that is still starting when the connection is closed is ended', async () => {
    const upstream = upstreamOn('stdio', async () => started('slow start', 'closed'));
    const opening = upstream.connect();
    await until('it runs', () => existsSync(join(folder, 'closed')));
    upstream.close();
    await expect(opening).rejects.toThrow('the connection was closed');
    expect(upstream.health.state).toBe('idle');
    const pid = /pid (\d+)/.exec(readFileSync(join(folder, 'closed'), 'utf8'))?.[1];
    await until('it is gone', () => !existsSync(`/proc/${pid}`));
  });

  const ENDS: Record<string, [argv: string[], says: string]> = {
    'is not there': [['no-such-program-here'], '"command" in the server file is the program alone'],
    'has its arguments beside it': [['sleep 1'], 'its arguments go into "args"'],
    'cannot be executed': [['/etc/passwd'], 'cannot be executed'],
    'is killed': [['sh', '-c', 'kill -9 $$'], 'the command was killed; TOOLGATE_STDIO_STDERR=inherit'],
    'ends by itself': [['false'], 'exit code 1; TOOLGATE_STDIO_STDERR=inherit shows its output'],
  };
  for (const [name, [[command = '', ...args], says]] of Object.entries(ENDS)) {
    test(`that ${name}`, async () => {
      const upstream = upstreamOn('stdio', async () => new StdioWire({ command, args, env: {} }, QUIET));
      await expect(upstream.connect()).rejects.toThrow(says);
    });
  }

  test('whose words make us fail is ended, and is not said to have written too much', async () => {
    const wire = started('good', 'good');
    wire.onNotification = () => {
      throw new Error('at line 3');
    };
    const answer = wire.request('tools/call', { name: 'echo' }, hooks());
    expect(await refusal(answer)).toMatchObject({ message: 'the command cannot be read' });
    const pid = /pid (\d+)/.exec(readFileSync(join(folder, 'good'), 'utf8'))?.[1];
    await until('it is gone', () => !existsSync(`/proc/${pid}`));
  });

  test('that does not read is not sent more than it may leave lying', async () => {
    const upstream = upstreamOn('stdio', async () => started('deaf', 'deaf'));
    await upstream.connect();
    const args = { text: 'x'.repeat(4 * 1024 * 1024) };
    const cancelled = Array.from({ length: 20 }, () => {
      const wanted = asking();
      const asked = call(upstream, args, wanted).catch(error => error.message);
      return { wanted, asked };
    });
    await until('some are refused', async () => {
      const last = await Promise.race([cancelled.at(-1)!.asked, Bun.sleep(10).then(() => null)]);
      return last === 'the upstream does not take what it was sent before';
    });
    for (const { wanted } of cancelled) wanted.cancel.abort();
    // Nobody waits for those that were sent, and they still lie there.
    await expect(call(upstream)).rejects.toThrow('does not take what it was sent before');
  });
});
