// What commands take from the environment: where the service is, and names that are no settings.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { run } from '../../src/cli/program.ts';
import { startService, type TestService } from '../support/service.ts';
import { type Captured, captured } from './captured.ts';

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

async function ran(args: string[], env: Record<string, string>): Promise<Captured> {
  const io = captured(service.dataDir, env);
  await run(args, io);
  return io;
}

test('they ask the port of the service, as its own settings name it', async () => {
  const { port } = new URL(service.url);
  for (const host of ['', '0.0.0.0', '127.0.0.1']) {
    const { out } = await ran(['health'], { TOOLGATE_PORT: port, TOOLGATE_HOST: host });
    expect(out).toContain(`at http://127.0.0.1:${port}\n`);
  }
  const env = { TOOLGATE_PORT: '1', TOOLGATE_BASE_URL: service.url };
  expect((await ran(['health'], env)).out).toContain(service.url);
});

test('what Kubernetes puts into TOOLGATE_PORT is no port', async () => {
  const { err } = await ran(['health', '--json'], { TOOLGATE_PORT: 'tcp://10.0.0.1:8787' });
  expect(err).not.toContain('10.0.0.1');
});

test('where nobody answers, the message says what names the address', async () => {
  const { err, code } = await ran(['health'], { TOOLGATE_PORT: '1' });
  expect(code).toBe(3);
  expect(err).toContain('http://127.0.0.1:1 cannot be reached');
  expect(err).toContain('TOOLGATE_BASE_URL');
});

test('a variable that is no setting is named, with the one that was probably meant', async () => {
  const io = await ran(['policies', 'new', '--list'], {
    TOOLGATE_BASEURL: service.url,
    TOOLGATE_DATA_DIR: '.',
  });
  expect(io.err).toContain('TOOLGATE_BASEURL is not a setting, so it has no effect');
  expect(io.err).toContain('TOOLGATE_BASE_URL');
  expect(io.err).not.toContain('DATA_DIR');
});
