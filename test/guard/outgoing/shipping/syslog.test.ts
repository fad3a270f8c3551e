// The audit log at a real syslog server over TLS: what it understands, and what does not count as received.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import net, { type AddressInfo } from 'node:net';
import { join } from 'node:path';
import tls from 'node:tls';
import type { SyslogTarget } from '../../../../src/core/log/shipping.ts';
import { framed, syslogMessage } from '../../../../src/core/log/syslog.ts';
import { syslogTarget } from '../../../../src/guard/outgoing/shipping/syslog.ts';
import { until } from '../../../support/faults.ts';
import { need } from '../../../support/need.ts';
import { refusal } from '../../../support/refusal.ts';
import { hasRsyslog, SyslogService } from '../../../support/rsyslog.ts';
import { batchOf } from './entries.ts';

const AT = '2026-11-17T05:03:00.021Z';

test('a message has the parts of RFC 5424, and its frame counts bytes', () => {
  const message = syslogMessage({
    severity: 'warning',
    at: AT,
    host: 'hôst näme',
    app: 'toolgate',
    kind: '',
    element: 'x@32473',
    fields: { a: 'plain', b: 'quote " bracket ] slash \\' },
    text: 'ü',
  });
  const start = `<108>1 ${AT} hstnme toolgate - - `;
  expect(message).toBe(`${start}[x@32473 a="plain" b="quote \\" bracket \\] slash \\\\"] ü`);
  expect(framed(message)).toBe(`${message.length + 1} ${message}`);
});

const rsyslog = need(hasRsyslog(), 'rsyslogd with its driver for TLS (packages rsyslog and rsyslog-gnutls)');

describe.skipIf(!rsyslog)('a real syslog server', () => {
  let service: SyslogService;
  beforeAll(async () => {
    service = await SyslogService.start();
  });
  afterAll(() => service.kill());

  const target = (more: Partial<SyslogTarget> = {}) => {
    const server = { host: 'localhost', port: service.port, caFile: service.caFile };
    return syslogTarget({ type: 'syslog', ...server, schema: 'native', ...more }, { allowPrivate: true });
  };

  test('it understands every part of every message, in order', async () => {
    const batch = batchOf(300, AT, 40);
    await target().send(batch);
    await until('everything is written down', () => service.logged.length === batch.length);
    const { logged } = service;
    expect(logged.map(each => JSON.parse(each.text))).toEqual(
      batch.map(({ seq, entry }) => ({ seq, ...entry })),
    );
    const { text, host, ...rest } = logged[1] as (typeof logged)[number];
    expect(rest).toEqual({
      pri: '110',
      time: AT,
      app: 'toolgate',
      kind: 'audit',
      data: `[toolgate@32473 id="${batch[1]?.entry.id}" seq="41" decision="allow"]`,
    });
  });

  test('what decides is the severity, and the schema may be OCSF', async () => {
    const before = service.logged.length;
    const [one] = batchOf(1, AT);
    const batch = (['allow', 'pending', 'deny'] as const).map((decision, seq) => ({
      seq,
      entry: { ...(one as NonNullable<typeof one>).entry, decision },
    }));
    await target({ schema: 'ocsf' }).send(batch);
    await until('they are written down', () => service.logged.length === before + 3);
    const found = service.logged.slice(before);
    expect(found.map(each => [Number(each.pri) % 8, JSON.parse(each.text).action])).toEqual([
      [6, 'Allowed'],
      [5, 'Pending'],
      [4, 'Denied'],
    ]);
  });

  test('nothing is sent to a server whose certificate is of somebody else or for another name', async () => {
    const before = service.logged.length;
    const failing = async (more: Partial<SyslogTarget>) =>
      String(await refusal(target(more).send(batchOf(1, AT))));
    expect(await failing({ caFile: null })).toBe('Error: TLS certificate is not trusted');
    expect(await failing({ caFile: join(service.folder, 'conf') })).toBe(
      'Error: the file has no certificates',
    );
    expect(await failing({ host: '127.0.0.1' })).toBe('Error: TLS certificate is for another host name');
    expect(await failing({ caFile: '/nowhere' })).toBe(
      'Error: the file with the certificates cannot be read',
    );
    expect(service.logged.length).toBe(before);
  });

  test('a server that is away is a failure, and gets the batch when it is back', async () => {
    const before = service.logged.length;
    await service.kill();
    expect(String(await refusal(target().send(batchOf(2, AT))))).toBe('Error: connection refused');
    await service.startAgain();
    await target().send(batchOf(2, AT));
    await until('they are written down', () => service.logged.length === before + 2);
  });

  test('a server that closes before it has read everything has not received it', async () => {
    const read = (name: string) => readFileSync(join(service.folder, name));
    const tried = (['end', 'destroy'] as const).map(async closing => {
      const hasty = tls.createServer({ key: read('key.pem'), cert: read('cert.pem') }, socket => {
        socket.on('error', () => {});
        socket[closing]();
      });
      const front = slowFront(await listening(hasty));
      const port = await listening(front);
      const error = String(await refusal(target({ port }).send(batchOf(3, AT))));
      expect(error).toMatch(
        /^Error: (the server closed the connection before the end|connection closed before the end|connection reset)$/,
      );
      for (const each of [front, hasty]) each.close();
    });
    await Promise.all(tried);
  });
});

async function listening(server: net.Server): Promise<number> {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

/**
 * Lets a handshake take its time, and nothing else. The sender gives a server as long to close the connection as the handshake
 * took, and on a busy machine this process may stand still for a while.
 */
function slowFront(port: number): net.Server {
  return net.createServer(socket => {
    socket.on('error', () => {});
    setTimeout(() => {
      const server = net.connect(port, '127.0.0.1');
      server.on('error', () => {});
      server.on('close', () => socket.destroy());
      socket.pipe(server).pipe(socket);
    }, HANDSHAKE_MS);
  });
}

const HANDSHAKE_MS = 1500;
