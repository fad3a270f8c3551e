// Shipping as it is declared and seen: the server file is read strictly, secrets are masked, and the API, the command
// line and the metrics say how far each target has come. A target that hangs does not delay the others.

import { afterAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError, loadConfig } from '../../src/settings/config.ts';
import { until } from '../support/faults.ts';
import { Receiver } from '../support/receiver.ts';
import { ADMIN_TOKEN, BUN, ROOT, startService } from '../support/service.ts';

const folder = mkdtempSync(join(tmpdir(), 'toolgate-shipping-'));
const file = join(folder, 'toolgate.yaml');
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const SECRET = 'canary-of-a-secret';
const URL = `https://siem.example.com/in/${SECRET}`;

function load(shipping: unknown, env: Record<string, string> = {}) {
  writeFileSync(file, JSON.stringify({ shipping }), { mode: 0o600 });
  return loadConfig(env, folder).config;
}

function complaint(shipping: unknown, env: Record<string, string> = {}): string {
  try {
    load(shipping, env);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  throw new Error(`it was accepted: ${JSON.stringify(shipping)}`);
}

const cli = (words: string[], env: Record<string, string> = {}) =>
  Bun.spawnSync([BUN, join(ROOT, 'src/cli/main.ts'), ...words], {
    cwd: folder,
    env: { PATH: process.env['PATH'] ?? '', ...env },
  });

describe('the server file', () => {
  test('a target of type http has defaults, and makes the file a secret', () => {
    const config = load({ siem: { type: 'http', url: URL } });
    expect({ ...config.shipping }).toEqual({
      siem: { type: 'http', url: URL, headers: {}, shape: 'ndjson', compress: false, schema: 'native' },
    });
    expect(config.serverFile?.secret).toBe(true);
    expect(load({}).serverFile?.secret).toBe(false);
  });

  test('the command `config` lists targets without secrets', () => {
    load({ siem: { type: 'http', url: URL, headers: { Authorization: SECRET } } });
    const { stdout, exitCode } = cli(['config']);
    expect(exitCode).toBe(0);
    expect(stdout.toString()).toContain('siem: http, siem.example.com, schema native');
    expect(stdout.toString()).not.toContain(SECRET);
  });

  const WRONG: [shipping: unknown, message: string][] = [
    [[], 'must be an object: { <name>: { type, url, … } }.'],
    [{ 'a b': {} }, '"a b" is no name'],
    [{ siem: 'x' }, '.siem must be an object'],
    [{ siem: { url: URL } }, '.siem needs "type": one of http'],
    [{ siem: { type: 'htp', url: URL } }, '.siem.type is "htp": it must be one of http'],
    [{ siem: { type: 'http' } }, '.siem needs "url"'],
    [{ siem: { type: 'http', url: `ftp://${SECRET}` } }, '.siem.url must be an http:// or https:// address'],
    [{ siem: { type: 'http', url: URL, header: {} } }, 'unknown field "header"'],
    [{ siem: { type: 'http', url: URL, headers: { Host: 'x' } } }, '"Host", which the service sets itself'],
    [{ siem: { type: 'http', url: URL, shape: 'hec' } }, '.shape is "hec": it must be one of ndjson, splunk'],
    [{ siem: { type: 'http', url: URL, compress: 'yes' } }, '.compress must be true or false'],
    [{ siem: { type: 'http', url: URL, schema: 'ecs' } }, '.schema is "ecs": it must be one of native, ocsf'],
  ];
  test.each(WRONG)('%j stops the start', (shipping, message) => {
    const said = complaint(shipping);
    expect(said).toContain(message);
    expect(said).not.toContain(SECRET);
  });

  test('more targets than can be served are refused', () => {
    const many = Object.fromEntries(
      Array.from({ length: 21 }, (_, n) => [`t${n}`, { type: 'http', url: URL }]),
    );
    expect(complaint(many)).toContain('has 21 targets: at most 20 are possible');
  });

  test('only a sealed log can be shipped', () => {
    const shipping = { siem: { type: 'http', url: URL } };
    expect(complaint(shipping, { TOOLGATE_SEALING: 'false' })).toContain('only sealed entries are shipped');
  });
});

test('the API, the command line and the metrics tell how far each target has come', async () => {
  const good = await Receiver.start();
  const hanging = await Receiver.start(() => 'hang');
  const shipping = {
    archive: { type: 'http', url: good.url },
    siem: { type: 'http', url: hanging.url },
    away: { type: 'http', url: 'http://127.0.0.1:1/' },
  };
  load(shipping);
  const service = await startService({ env: { TOOLGATE_CONFIG: file } });
  const targets = async () => (await service.admin('GET', '/shipping')).body.targets;
  const { key } = await service.newKey([{ tool: '*', action: 'allow' }]);
  const checked = await service.check(key, 's', 't');
  await until('one target has it, one refused, one hangs', async () => {
    const [archive, , away] = await targets();
    return archive.state === 'ok' && away.state === 'failing' && hanging.arrivals.length > 0;
  });
  expect(JSON.parse(good.arrivals[0]?.text ?? '')).toMatchObject({ seq: 0, id: checked.body.toolCallId });
  const time = expect.stringMatching(/^\d{4}-.*Z$/);
  const common = { type: 'http', lastError: null, lastErrorAt: null, failures: 0 };
  const behind = { shippedTo: null, shippedAt: null, lagEntries: 1, lagSeconds: expect.any(Number) };
  expect(await targets()).toEqual([
    {
      ...common,
      name: 'archive',
      to: new globalThis.URL(good.url).host,
      state: 'ok',
      shippedTo: 0,
      shippedAt: time,
      lagEntries: 0,
      lagSeconds: 0,
    },
    { ...common, ...behind, name: 'siem', to: new globalThis.URL(hanging.url).host, state: 'unused' },
    {
      ...common,
      ...behind,
      name: 'away',
      to: '127.0.0.1:1',
      state: 'failing',
      failures: expect.any(Number),
      lastError: 'connection refused',
      lastErrorAt: time,
    },
  ]);
  const env = { TOOLGATE_BASE_URL: service.url, TOOLGATE_ADMIN_TOKEN: ADMIN_TOKEN };
  const listed = cli(['shipping'], env).stdout.toString();
  expect(listed).toMatch(/^NAME +TYPE +TO +STATE +SHIPPED TO +LAG +LAST ERROR\n/);
  expect(listed).toMatch(/^archive +http +127\.0\.0\.1:\d+ +ok +0 +none +-\n/m);
  expect(listed).toMatch(/^away +http +127\.0\.0\.1:1 +failing +- +1 entry, \d+ s +connection refused \(/m);
  expect(JSON.parse(cli(['shipping', '--json'], env).stdout.toString()).targets.length).toBe(3);
  const metrics = (await service.request('GET', '/metrics')).text;
  expect(metrics).toContain('toolgate_shipping_lag_seconds{target="archive"} 0\n');
  expect(metrics).toMatch(/toolgate_shipping_lag_seconds\{target="away"\} [1-9]/);
  expect(metrics).toContain('toolgate_shipping_entries_total{target="archive"} 1\n');
  expect(metrics).toContain('toolgate_shipping_attempts_total{target="archive",outcome="ok"} 1\n');
  expect(service.output).toContain('the audit log could not be shipped');
  await service.close();
  await Promise.all([good.close(), hanging.close()]);
});
