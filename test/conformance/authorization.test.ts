// The official MCP conformance runner against our authorization server. The test is the person in the browser: it opens the
// address that the runner prints, and agrees.

import { expect, test } from 'bun:test';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packagesOf } from '../../scripts/extras.ts';
import { connectable, consent, fieldsOf, register, startOAuth } from '../oauth/connect.ts';
import { until } from '../support/faults.ts';
import { need, needExtra } from '../support/need.ts';
import { freePort } from '../support/port.ts';
import { BUN, collect } from '../support/service.ts';

const runner = () => packagesOf('scripts', 'conformance-2026', 'dist/index.js');
const runs = () => Bun.spawnSync([BUN, runner(), '--version']).exitCode === 0;

interface Check {
  id: string;
  status: string;
  errorMessage?: string;
}

test.skipIf(!needExtra('scripts') || !need(runs(), 'a runtime that runs the MCP conformance runner'))(
  'the official conformance runner finds nothing wrong with our authorization server',
  async () => {
    await using resources = new AsyncDisposableStack();
    const folder = mkdtempSync(join(tmpdir(), 'toolgate-conformance-'));
    resources.defer(() => rmSync(folder, { recursive: true, force: true }));
    const service = await startOAuth();
    resources.defer(() => service.close());
    const { person } = await connectable(service);
    const client = { client_name: 'Conformance', redirect_uris: ['http://127.0.0.1/callback'] };
    const { body } = await register(service, client);
    const port = String(await freePort());
    const asked = ['--url', service.url, '--client-id', body.client_id, '--resource', `${service.url}/mcp`];
    const child = Bun.spawn([BUN, runner(), 'authorization', ...asked, '--port', port, '-o', folder], {
      stdout: 'pipe',
      stderr: 'pipe',
    });
    resources.defer(() => child.kill());
    const output = { text: '' };
    const ended = Promise.all([collect(child.stdout, output), collect(child.stderr, output)]);
    await until('the runner prints where to go', () => output.text.includes('/oauth/authorize?'), 60_000);
    const url = new URL(/http:\S+\/oauth\/authorize\?\S+/.exec(output.text)?.[0] ?? '');
    const page = await service.request('GET', url.pathname + url.search, {
      headers: { Cookie: person.cookie },
    });
    const answer = await consent(service, person.cookie, { ...fieldsOf(page), answer: 'connect' });
    await fetch(answer.headers.get('location') ?? '');
    await ended;
    expect([await child.exited, output.text.slice(-500)]).toEqual([0, expect.any(String)]);
    const checks = readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter(file => file.endsWith('checks.json'))
      .flatMap(file => JSON.parse(readFileSync(join(folder, file), 'utf8')) as Check[]);
    expect(checks.map(({ id, status }) => `${id}: ${status}`).sort()).toEqual([
      'authorization-code-grant: SUCCESS',
      'authorization-server-metadata-cimd: SUCCESS',
      'authorization-server-metadata: SUCCESS',
    ]);
  },
  120_000,
);
