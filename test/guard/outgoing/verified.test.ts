// Certificates are verified by everything that sends, also where NODE_TLS_REJECT_UNAUTHORIZED says not to. The senders of
// send.ts and of client/ have tests of their own.

import { afterAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TLSSocket } from 'node:tls';
import { need } from '../../support/need.ts';
import { ROOT, startService } from '../../support/service.ts';

/** How each of them sends something to the port, as code. */
const SENDERS: Record<string, string> = {
  pinnedFetch: `
    const { PinnedFetch } = await load('guard/outgoing/pinned-fetch.ts');
    await new PinnedFetch({ allowPrivate: true }).fetch(https, { headers: {} });`,
  telemetry: `
    const { Exporter } = await load('telemetry/exporter.ts');
    const nothing = () => {};
    const exporter = new Exporter({ url: https, headers: {}, queueSize: 1, batchSize: 1, delayMs: 0, timeoutMs: 5000,
      compress: false, encode: () => new Uint8Array(1), dropped: nothing, failing: nothing });
    exporter.add(1);
    await exporter.stop();`,
  mail: `
    const { sendEmail } = await load('guard/approvals/notify/email.ts');
    const links = { approveUrl: https, denyUrl: https, reviewUrl: https };
    const message = { id: '1', referenceId: '2', keyName: 'k', sessionLabel: null, personEmail: null, serverName: 's',
      toolName: 't', reason: 'r', ...links, expiresAt: '2026-08-01T12:34:56.000Z', approverGroup: null, votesNeeded: 1,
      proof: null, details: null, reviewFirst: false, marks: [] };
    await sendEmail({ smtpUrl: 'smtps://localhost:' + port, from: 'a@example.com', to: ['b@example.com'] }, message);`,
  doctor: `
    const { unreachable } = await load('doctor/reach.ts');
    const fault = await unreachable(https, { allowPrivate: true }, AbortSignal.timeout(5000));
    if (fault === null) await fetch(https, { tls: { rejectUnauthorized: false } });`,
  commandLine: `
    const { Http } = await load('cli/http.ts');
    await new Http('https://localhost:' + port, 'a-token').get('/');`,
  hook: `
    const { Service } = await load('cli/hook/service.ts');
    await new Service('https://localhost:' + port).askForVerdict('/', 'a-key', new Uint8Array(1));`,
  postgres: `
    const { options } = await load('store/engine/postgres-connection.ts');
    const url = 'postgres://u:p@localhost:' + port + '/d?sslmode=verify-full';
    await new Bun.SQL(options({ url, pooling: 'session', patience: 1 })).unsafe('SELECT 1').execute();`,
};

describe.skipIf(!need(Bun.which('openssl') !== null, 'openssl on PATH, for servers with TLS'))(
  'sends',
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'toolgate-verified-'));
    const file = join(folder, 'x.crt');
    const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
    const name = ['-subj', '/CN=test', '-addext', 'subjectAltName=DNS:localhost'];
    Bun.spawnSync([
      'openssl',
      'req',
      '-x509',
      ...kind,
      '-keyout',
      join(folder, 'x.key'),
      '-out',
      file,
      ...name,
    ]);
    const identity = { key: readFileSync(join(folder, 'x.key')), cert: readFileSync(file) };
    const servers: Server[] = [];
    afterAll(() => {
      for (const each of servers) each.close();
      rmSync(folder, { recursive: true });
    });

    /** Who has sent something over an encrypted connection, where the program is started with these variables. */
    async function sentWith(env: Record<string, string>): Promise<string[]> {
      const sent = new Set<string>();
      const scripts = await Promise.all(
        Object.entries(SENDERS).map(async ([sender, code]) => {
          const port = await listen(sender, () => sent.add(sender));
          return `await (async (port, https) => {${code}})(${port}, 'https://localhost:${port}/').catch(() => {});`;
        }),
      );
      const script = `
      const load = path => import(${JSON.stringify(join(ROOT, 'src/'))} + path);
      ${scripts.join('\n')}
      process.exit(0);`;
      const child = Bun.spawn([process.execPath, '-e', script], {
        env: { ...process.env, ...env },
        stderr: 'ignore',
      });
      expect(await child.exited).toBe(0);
      return [...sent].sort();
    }

    async function listen(sender: string, seen: () => void): Promise<number> {
      const server = createServer(socket => {
        socket.on('error', () => {});
        if (sender !== 'postgres') return encrypted(socket, sender === 'mail', seen);
        // The client asks for encryption first.
        socket.once('data', () => {
          socket.write('S');
          encrypted(socket, false, seen);
        });
      });
      servers.push(server);
      const { promise, resolve } = Promise.withResolvers<void>();
      server.listen(0, '127.0.0.1', resolve);
      await promise;
      return (server.address() as { port: number }).port;
    }

    function encrypted(socket: Socket, greets: boolean, seen: () => void): void {
      const over = new TLSSocket(socket, { isServer: true, ...identity });
      over.on('error', () => {});
      over.once('data', () => {
        seen();
        over.destroy();
      });
      if (greets) over.write('220 here\r\n');
    }

    test('nothing to a server whose certificate nobody vouches for, whatever a variable says', async () => {
      expect(await sentWith({ NODE_TLS_REJECT_UNAUTHORIZED: '0' })).toEqual([]);
    }, 60_000);

    test('to one that an authority of the company vouches for', async () => {
      expect(await sentWith({ NODE_EXTRA_CA_CERTS: file })).toEqual(Object.keys(SENDERS).sort());
    }, 60_000);
  },
);

test('a start warns that the variable is not obeyed', async () => {
  const service = await startService({ env: { NODE_TLS_REJECT_UNAUTHORIZED: '0' } });
  await service.kill('SIGTERM');
  expect(service.output).toContain('NODE_TLS_REJECT_UNAUTHORIZED is not obeyed');
  await service.close();
});
