// The files that deploy Toolgate, compared with the program: every setting that they name exists, and the parts that
// must agree do. If systemd is there, it reads the unit itself.

import { describe, expect, test } from 'bun:test';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import ipaddr from 'ipaddr.js';
import { parse } from 'yaml';
import { bundle } from '../../scripts/build/bundle.ts';
import { notices } from '../../scripts/build/notices.ts';
import { SETTINGS } from '../../src/settings/settings.ts';
import { need } from '../support/need.ts';
import { sharedPostgres } from '../support/postgres.ts';
import { BUN, onPath, ROOT, startService } from '../support/service.ts';
import { whenChanged } from '../support/when-changed.ts';

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const FILES = ['Dockerfile', 'compose.yaml', 'deploy/toolgate.service'];
/** These build the program. */
const whenBuilt = whenChanged(
  'src/**',
  'dashboard/**',
  'packs/**',
  'docs/**',
  'scripts/build/**',
  'scripts/build.ts',
  'package.json',
  'Dockerfile',
  '.dockerignore',
);
const known = new Set(Object.values(SETTINGS).map(({ env }) => env));

test.each(FILES)('%s names only settings that there are', path => {
  const named = [...read(path).matchAll(/TOOLGATE_[A-Z_]*[A-Z]/g)].map(([name]) => name);
  expect(named.length).toBeGreaterThan(0);
  expect(named.filter(name => !known.has(name))).toEqual([]);
});

test.each(FILES)('%s gives them values that are read', path => {
  for (const [, name = '', value = ''] of read(path).matchAll(/\b(TOOLGATE_[A-Z_]+)(?:=|: )(\S+)/g)) {
    const given = value.replace(/\$\{\w+:-([^}]*)\}/g, '$1').replace('%S', '/var/lib');
    const setting = Object.values(SETTINGS).find(({ env }) => env === name);
    expect(() => setting?.read(given)).not.toThrow();
  }
});

test('whoever stops the service waits for the calls under way, and for what follows them', () => {
  const seconds = SETTINGS.stopGrace.read(SETTINGS.stopGrace.fallback as string) / 1000 + 15;
  const { services } = parse(read('compose.yaml'), { merge: true });
  for (const name of ['toolgate', 'replica-1', 'replica-2'])
    expect(Number.parseInt(services[name].stop_grace_period, 10)).toBeGreaterThanOrEqual(seconds);
  const unit = /^TimeoutStopSec=(\d+)s$/m.exec(read('deploy/toolgate.service'));
  expect(Number(unit?.[1])).toBeGreaterThanOrEqual(seconds);
});

describe('Dockerfile', () => {
  const text = read('Dockerfile');

  test('copies what there is, and what .dockerignore lets through', () => {
    const passed = new Set(
      read('.dockerignore')
        .matchAll(/^!(\S+)$/gm)
        .map(([, path]) => path as string),
    );
    const copied = [...text.matchAll(/^COPY (?!--from)(.*) \S+$/gm)].flatMap(([, paths = '']) =>
      paths.split(' '),
    );
    for (const path of copied.filter(each => each !== '.')) {
      expect(existsSync(join(ROOT, path))).toBe(true);
      expect(passed).toContain(path);
    }
  });

  whenBuilt('what .dockerignore lets through is enough to build from', () => {
    const context = mkdtempSync(join(tmpdir(), 'toolgate-context-'));
    const paths = [...read('.dockerignore').matchAll(/^!(\S+)$/gm)].map(([, path]) => path as string);
    const filter = (path: string) => !path.endsWith('/node_modules');
    for (const path of paths) cpSync(join(ROOT, path), join(context, path), { recursive: true, filter });
    symlinkSync(join(ROOT, 'node_modules'), join(context, 'node_modules'));
    const build = ['scripts/build.ts', 'executable'];
    const { exitCode, stderr } = Bun.spawnSync([BUN, ...build], { cwd: context });
    expect([exitCode, stderr.toString()]).toEqual([0, '']);
    const { stdout } = Bun.spawnSync([join(context, 'dist/toolgate'), '--version'], {
      cwd: context,
      env: {},
    });
    expect(stdout.toString()).toMatch(/^\d/);
    rmSync(context, { recursive: true });
  });

  test('the final image runs as somebody, keeps a volume and watches its health', () => {
    const final = text.slice(text.lastIndexOf('\nFROM '));
    expect(final).toMatch(/^USER [1-9]\d*:[1-9]\d*$/m);
    expect(final).toMatch(/^VOLUME \/data$/m);
    expect(final).toMatch(/^HEALTHCHECK .*"toolgate", "health"/m);
    expect(final).toMatch(/^ENTRYPOINT \["tini", "-s", "--", "toolgate"\]$/m);
    expect(final).toMatch(/ install .*\btini\b/);
  });

  whenBuilt('the executable needs no development dependency', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'toolgate-bundle-'));
    const carried = notices(await bundle(folder)).matchAll(/^={80}\n(\S+) /gm);
    rmSync(folder, { recursive: true });
    const { packages } = JSON.parse(read('package-lock.json'));
    const names = [...carried].map(([, name]) => name as string);
    expect(names).toContain('zod');
    expect(names).toContain('preact');
    expect(names.filter(name => packages[`node_modules/${name}`].dev === true)).toEqual([]);
  });
});

describe('compose.yaml', () => {
  const { services, networks, volumes } = parse(read('compose.yaml'), { merge: true });

  test('one embedded service by default, the rest in the profile', () => {
    const always = Object.keys(services).filter(name => services[name].profiles === undefined);
    expect(always).toEqual(['toolgate']);
  });

  test('our image is built here and taken from no registry', () => {
    const ours = Object.values<Record<string, string>>(services).filter(({ image }) => image === 'toolgate');
    expect(ours.map(({ build, pull_policy }) => [build, pull_policy])).toEqual(
      ours.map(() => ['.', 'build']),
    );
    expect(ours.length).toBe(3);
  });

  test('the replicas are alike and believe the proxy alone', () => {
    expect(services['replica-2']).toEqual(services['replica-1']);
    const { ipv4_address: proxy } = services.proxy.networks.front;
    expect(services['replica-1'].environment.TOOLGATE_TRUSTED_PROXIES).toBe(`${proxy}/32`);
  });

  test('the proxy’s address is one that nobody else is given', () => {
    const [{ subnet, ip_range: given }] = networks.front.ipam.config;
    const proxy = ipaddr.parse(services.proxy.networks.front.ipv4_address);
    expect(proxy.match(ipaddr.parseCIDR(subnet))).toBe(true);
    expect(proxy.match(ipaddr.parseCIDR(given))).toBe(false);
  });

  test('the database counts as healthy once it is reached as the replicas reach it', () => {
    const [, command, ...args] = services.postgres.healthcheck.test;
    expect([command, args[args.indexOf('-h') + 1]]).toEqual(['pg_isready', '127.0.0.1']);
  });

  test('replicas that start at once on one folder share the secrets that the first of them makes', async () => {
    const postgres = await sharedPostgres();
    if (!need(postgres !== null, 'PostgreSQL') || postgres === null) return;
    const dataDir = mkdtempSync(join(tmpdir(), 'toolgate-cluster-'));
    const env = { TOOLGATE_MASTER_KEY: '', TOOLGATE_ADMIN_TOKEN: '' };
    const databaseUrl = await postgres.createDatabase();
    const replicas = await Promise.all([1, 2].map(() => startService({ dataDir, databaseUrl, env })));
    const token = readFileSync(join(dataDir, 'admin.token'), 'utf8').trim();
    for (const replica of replicas)
      expect((await replica.json('GET', '/admin/v1/policies', token)).status).toBe(200);
    await Promise.all(replicas.map(replica => replica.close()));
    rmSync(dataDir, { recursive: true });
  });

  test('the database is reached by nobody else, and every volume and network is declared', () => {
    expect(services.postgres.ports).toBeUndefined();
    expect(services.postgres.networks).toEqual(['back']);
    expect(networks.back.internal).toBe(true);
    // biome-ignore lint/suspicious/noExplicitAny: parsed YAML
    for (const service of Object.values<any>(services)) {
      for (const volume of service.volumes ?? []) expect(volumes).toHaveProperty(volume.split(':')[0]);
      const named = Array.isArray(service.networks) ? service.networks : Object.keys(service.networks ?? {});
      for (const name of named) expect(networks).toHaveProperty(name);
    }
  });

  test('ports are published on this machine only', () => {
    const ports = Object.values<{ ports?: string[] }>(services).flatMap(each => each.ports ?? []);
    expect(ports.length).toBe(2);
    for (const port of ports) expect(port).toStartWith('127.0.0.1:');
  });
});

describe.if(onPath('systemd-analyze'))('deploy/toolgate.service, read by systemd', () => {
  const analyze = (...args: string[]) => {
    const { exitCode, stdout, stderr } = Bun.spawnSync(['systemd-analyze', ...args]);
    return { exitCode, said: `${stdout}${stderr}` };
  };

  test('has no mistakes, and little exposure', () => {
    const folder = mkdtempSync(join(tmpdir(), 'toolgate-unit-'));
    const unit = join(folder, 'toolgate.service');
    writeFileSync(unit, read('deploy/toolgate.service').replaceAll('/usr/local/bin/toolgate', '/bin/true'));
    expect(analyze('verify', unit)).toEqual({ exitCode: 0, said: '' });
    const { said } = analyze('security', '--offline=true', unit);
    expect(Number(/exposure level for \S+: ([\d.]+)/.exec(said)?.[1])).toBeLessThan(2);
    rmSync(folder, { recursive: true });
  });
});
