// Clients that go away in the middle of what they send: no error of ours, in the log or in the metrics, on any route
// and however the length of the body is told.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import net from 'node:net';
import { until, withMutant } from '../support/faults.ts';
import type { Patch } from '../support/mutant.ts';
import { ADMIN_TOKEN, startService, type TestService } from '../support/service.ts';
import { whenChanged } from '../support/when-changed.ts';

const AT_ONCE = 50;
const FRAMINGS = {
  'a length': ['Content-Length: 100', '{'],
  chunks: ['Transfer-Encoding: chunked', '1\r\n{\r\n'],
};

const OUR_FAULT: Patch = {
  file: 'src/http/serving/body.ts',
  find: "if (!(error instanceof Error) || error.name !== 'AbortError') throw error;",
  replace: "if (error !== 'never') throw error;",
};

interface Place {
  path: string;
  token: string | null;
}

/** Where bodies are read: by whoever comes, and by credentials new and known, on every kind of route. */
async function places(service: TestService): Promise<Record<string, Place>> {
  const [known, fresh] = [
    await service.newKey([{ tool: '*', action: 'allow' }]),
    await service.newKey([{ tool: '*', action: 'allow' }]),
  ];
  await service.check(known.key, 'x', 'y');
  return {
    'sign-in': { path: '/admin/v1/sign-in', token: null },
    'a check of a known key': { path: '/v1/check', token: known.key },
    'a check of a new key': { path: '/v1/check', token: fresh.key },
    mcp: { path: '/mcp', token: known.key },
    administration: { path: '/admin/v1/policies', token: ADMIN_TOKEN },
  };
}

/** Headers and one byte of a body; closed once the service has read them, as the answer before them shows. */
function leave(url: string, { path, token }: Place, framing: string[]): Promise<void> {
  const { host, hostname, port } = new URL(url);
  const [header, begun] = framing;
  const authorization = token === null ? '' : `Authorization: Bearer ${token}\r\n`;
  return new Promise(resolve => {
    const socket = net.connect(Number(port), hostname, () =>
      socket.write(
        `GET /healthz HTTP/1.1\r\nHost: ${host}\r\n\r\n` +
          `POST ${path} HTTP/1.1\r\nHost: ${host}\r\n${authorization}Content-Type: application/json\r\n${header}\r\n\r\n${begun}`,
      ),
    );
    socket.on('data', () => socket.destroy());
    socket.on('error', () => {});
    socket.on('close', () => resolve());
  });
}

async function answered(service: TestService, status: number): Promise<number> {
  const { text } = await service.request('GET', '/metrics');
  return Number(new RegExp(`toolgate_http_requests_total{status="${status}"} (\\d+)`).exec(text)?.[1] ?? 0);
}

const errorLines = ({ output }: TestService): string[] =>
  output.split('\n').filter(line => line.includes('"level":"error"'));

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

for (const [framing, sent] of Object.entries(FRAMINGS)) {
  test(`with ${framing}: counted as 499, and nothing is said about it`, async () => {
    for (const place of Object.values(await places(service))) {
      const before = await answered(service, 499);
      await Promise.all(Array.from({ length: AT_ONCE }, () => leave(service.url, place, sent)));
      await until('499s', async () => (await answered(service, 499)) === before + AT_ONCE);
    }
    expect(await answered(service, 500)).toBe(0);
    expect(errorLines(service)).toEqual([]);
  });
}

whenChanged(OUR_FAULT)('a mutant that takes it for a failure of its own is found out', async () => {
  await withMutant([OUR_FAULT], async root => {
    const broken = await startService({ root });
    const place = (await places(broken))['sign-in'] as Place;
    await leave(broken.url, place, FRAMINGS['a length']);
    await until('a 500', async () => (await answered(broken, 500)) === 1);
    expect(errorLines(broken)).toHaveLength(1);
    await broken.close();
  });
});
