// The executable, in an empty folder with a bare environment: the one that `npm test` has made for all tests, or one made
// here. The other packages are in packages.test.ts.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compile } from '../../scripts/build/bundle.ts';
import { connect, modern, stdioScript, text } from '../support/mcp.ts';
import { PROGRAM } from '../support/need.ts';
import {
  ADMIN_TOKEN,
  ROOT,
  type ServiceOptions,
  startService,
  type TestService,
} from '../support/service.ts';
import { enginesWhenChanged } from '../support/when-changed.ts';
import { output, ran } from './built.ts';

const ENGINES = await enginesWhenChanged('src/store/**', 'scripts/build/**');
const folders: string[] = [];

function emptyFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'toolgate-packages-'));
  folders.push(folder);
  return folder;
}

const made = process.env[PROGRAM];
const executable = made ?? join(emptyFolder(), 'toolgate');
beforeAll(async () => {
  if (made === undefined) await compile(executable);
}, 300_000);
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** The executable with nothing in its environment but what is said here: no PATH, no HOME. */
function startBare(folder: string, env: Record<string, string> = {}, more: ServiceOptions = {}) {
  const always = { TOOLGATE_PORT: '0', TOOLGATE_PRINT_SECRETS: 'always' };
  const given = Object.entries({ ...always, ...env }).map(([name, value]) => `${name}=${value}`);
  const program = ['/usr/bin/env', '-i', ...given, executable];
  return startService({ dataDir: folder, program, ...more });
}

/** Makes the first operator, signs in, and loads every file that the page names. */
async function showsDashboard(service: TestService): Promise<void> {
  const token = /setup\?token=(\S+)/.exec(service.output)?.[1];
  const person = { email: 'admin@example.com', password: 'a long pass phrase here' };
  expect((await service.json('POST', '/admin/v1/setup', null, { token, ...person })).status).toBe(201);
  const signedIn = await service.json('POST', '/admin/v1/sign-in', null, person);
  const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? '';
  const page = await service.request('GET', '/dashboard', { headers: { cookie } });
  expect(page.status).toBe(200);
  const files = [...page.text.matchAll(/"(\/dashboard\/assets\/[^"]+)"/g)].map(([, path = '']) => path);
  expect(files.length).toBeGreaterThan(1);
  for (const file of files) expect((await service.request('GET', file)).text.length).toBeGreaterThan(1000);
}

const bare = (folder: string, ...args: string[]) => ran([executable, ...args], folder, {});

describe('the executable, in an empty folder, with a bare environment', () => {
  test('serves, keeps its data there, and serves again', async () => {
    const folder = emptyFolder();
    let service = await startBare(folder);
    const key = /tg_key_\w{49}/.exec(service.output)?.[0] ?? '';
    expect((await service.check(key, 'github', 'get_issue')).body.decision).toBe('allow');
    expect((await service.check(key, 'github', 'delete_repo')).body.decision).toBe('deny');
    expect((await service.request('GET', '/docs')).text).toContain('API reference');
    expect((await service.request('GET', '/openapi.json')).body).toEqual(
      JSON.parse(readFileSync(join(ROOT, 'openapi.json'), 'utf8')),
    );
    expect((await service.request('GET', '/llms.txt')).text).toStartWith('# Toolgate');
    expect((await service.request('GET', '/docs/quick-start.md')).text).toStartWith('# Quick start');
    await showsDashboard(service);
    expect(await service.kill('SIGTERM')).toBe(0);
    expect(readdirSync(folder)).toEqual(['data']);
    service = await startBare(folder);
    expect((await service.check(key, 'github', 'get_issue')).body.decision).toBe('allow');
    await service.close();
  });

  test('serves on every engine', async () => {
    for (const engine of ENGINES) {
      const plain = { engine, program: [executable], dataDir: emptyFolder() };
      const service = await startService(plain);
      const { key } = await service.newKey([{ tool: '*', action: 'allow' }]);
      expect((await service.check(key, 'a', 'b')).body.decision).toBe('allow');
      expect(environment(service)).toContain('BUN_CONFIG_MAX_HTTP_REQUESTS=65535');
      await service.close();
    }
  });

  test('forwards to a stdio server', async () => {
    const folder = emptyFolder();
    const stdioServers = { echo: stdioScript('good', join(folder, 'heard')) };
    writeFileSync(join(folder, 'toolgate.yaml'), JSON.stringify({ stdioServers }));
    const service = await startBare(folder, { TOOLGATE_ADMIN_TOKEN: ADMIN_TOKEN });
    const { key, keyId } = await service.newKey([{ tool: '*', action: 'allow' }]);
    await connect(service, keyId, 'desk', { transport: 'stdio', server: 'echo' });
    const params = { name: 'desk__echo', arguments: { word: 'hello' } };
    expect(text(await modern(service, key, 'tools/call', params))).toBe('{"word":"hello"}');
    await service.close();
  });

  test('works offline on policy files', async () => {
    const folder = emptyFolder();
    writeFileSync(join(folder, 'p.yaml'), 'name: p\nrules:\n  - { tool: get_*, action: allow }\n');
    expect(await bare(folder, 'lint', 'p.yaml')).toMatchObject({ code: 0 });
    expect((await bare(folder, 'simulate', 'p.yaml', 'a__get_b')).stdout).toContain('allow');
    expect((await bare(folder, 'policies', 'new', '--from', 'github', '--print')).stdout).toContain(
      'github__get_me',
    );
    expect((await bare(folder, 'chek')).code).toBe(64);
    expect((await bare(folder, '--version')).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});

describe('the folder a command is called in has no say', () => {
  const programs = () => [executable, join(ROOT, 'bin/toolgate')];

  test('neither by bunfig.toml, tsconfig.json or jsconfig.json nor by .env', async () => {
    const folder = emptyFolder();
    writeFileSync(join(folder, 'bunfig.toml'), 'preload = ["./own.ts"]\n');
    writeFileSync(join(folder, 'own.ts'), 'console.log("this ran");\n');
    const paths = JSON.stringify({ compilerOptions: { paths: { '*': ['./own.ts'] } } });
    for (const name of ['tsconfig.json', 'jsconfig.json']) writeFileSync(join(folder, name), paths);
    writeFileSync(join(folder, '.env'), 'TOOLGATE_PORT=1\n');
    for (const program of programs()) {
      const env = { PATH: process.env['PATH'] };
      const settings = JSON.parse(await output([program, 'config', '--json'], folder, env));
      expect(settings[0]).toMatchObject({ env: 'TOOLGATE_PORT', origin: 'default' });
    }
  });

  test('the launcher is found through links, from anywhere', async () => {
    const folder = emptyFolder();
    symlinkSync(join(ROOT, 'bin/toolgate'), join(folder, 'first'));
    symlinkSync('first', join(folder, 'second'));
    const env = { PATH: `${folder}:${process.env['PATH']}` };
    expect(await output(['second', '--version'], '/', env)).toMatch(/^\d/);
    expect((await ran(['second', 'check', 'a'], '/', env)).code).toBe(64);
  });
});

/** What the runtime read when it started. */
function environment(service: TestService): string {
  return readFileSync(`/proc/${service.process.pid}/environ`, 'utf8');
}

test('no page installs a package that is not ours', () => {
  const pages = ['*.md', 'docs/**/*.md', 'examples/*.md', 'examples/*/*.md', 'clients/*/README.md'].flatMap(
    pattern => [...new Bun.Glob(pattern).scanSync({ cwd: ROOT })],
  );
  expect(pages.length).toBeGreaterThan(20);
  const text = pages.map(page => readFileSync(join(ROOT, page), 'utf8')).join('\n');
  const named = [...text.matchAll(/(?:pip|npm) install ([^#`\n]*)/g)].flatMap(([, words = '']) =>
    words.split(' '),
  );
  expect(named).toContain('<toolgate>/clients/python');
  // By name, somebody else's would be installed: ours come from the files that the build makes.
  expect(named.filter(word => /^@?toolgate/.test(word))).toEqual([]);
});
