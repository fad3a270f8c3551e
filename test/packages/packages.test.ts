// What people install, as they would: the executable in an empty folder with a bare environment, the npm packages
// unpacked where npm would put them, the Python packages by pip without a network.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packagesOf } from '../../scripts/extras.ts';
import { connect, modern, stdioScript, text } from '../support/mcp.ts';
import { need, needExtra } from '../support/need.ts';
import {
  ADMIN_TOKEN,
  BUN,
  engines,
  onPath,
  ROOT,
  type ServiceOptions,
  startService,
  type TestService,
} from '../support/service.ts';
import { type Built, build, output, ran } from './built.ts';

/** The client is compiled and checked by what only developers have. */
const hasClient = needExtra('scripts');

let built: Built;
const folders: string[] = [];

function emptyFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'toolgate-packages-'));
  folders.push(folder);
  return folder;
}

beforeAll(async () => {
  const parts = ['executable', 'service'];
  if (hasClient) parts.push('client');
  if (onPath('python3')) parts.push('python');
  built = await build(parts);
}, 300_000);
afterAll(() => {
  built?.remove();
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** The executable with nothing in its environment but what is said here: no PATH, no HOME. */
function startBare(folder: string, env: Record<string, string> = {}, more: ServiceOptions = {}) {
  const always = { TOOLGATE_PORT: '0', TOOLGATE_PRINT_SECRETS: 'always' };
  const given = Object.entries({ ...always, ...env }).map(([name, value]) => `${name}=${value}`);
  const program = ['/usr/bin/env', '-i', ...given, built.executable];
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

const bare = (folder: string, ...args: string[]) => ran([built.executable, ...args], folder, {});

test('the build says what it makes, and how large it is', () => {
  expect(built.said).toMatch(/^\[1\/\d\] executable$/m);
  for (const line of built.said.split('\n').filter(each => each.startsWith('   ')))
    expect(line).toMatch(/ {2}[\d.]+ [kM]B$/);
});

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
    for (const engine of await engines()) {
      const plain = { engine, program: [built.executable], dataDir: emptyFolder() };
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
  const programs = () => [built.executable, join(ROOT, 'bin/toolgate')];

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

describe('the npm packages', () => {
  const ADAPTERS = ['openai-agents', 'langchain', 'vercel-ai', 'mastra'];
  const unpack = (tarball: string, folder: string) => {
    mkdirSync(folder, { recursive: true });
    return output(['tar', 'xzf', tarball, '--strip-components=1', '-C', folder], folder);
  };

  test.skipIf(!hasClient)('the client is what publint and the types checker want', async () => {
    const tarball = built.file('npm', /^toolgate-client-.*\.tgz$/);
    const bin = (name: string) => packagesOf('scripts', '.bin', name);
    expect(await output([bin('publint'), '--strict', tarball], ROOT)).toContain('All good');
    await output([bin('attw'), tarball, '--profile', 'esm-only'], ROOT);
  });

  test.skipIf(!hasClient)('the client is imported by Node and asks', async () => {
    const folder = emptyFolder();
    await unpack(built.file('npm', /client/), join(folder, 'node_modules/@toolgate/client'));
    const service = await startService();
    const { key } = await service.newKey([{ tool: 'get_*', action: 'allow' }]);
    writeFileSync(
      join(folder, 'ask.mjs'),
      `import { Toolgate, ToolCallDenied } from '@toolgate/client';
const gate = new Toolgate();
console.log((await gate.check('a', 'get_b')).decision);
await gate.guard('a', 'drop_b').catch(error => console.log(error instanceof ToolCallDenied));
for (const name of ${JSON.stringify(ADAPTERS)}) {
  const { guardTools } = await import('@toolgate/client/' + name);
  try {
    guardTools({ hosted: { type: 'hosted' } }, { server: 'a' });
  } catch (error) {
    console.log(name, error.name);
  }
}
const { guardTools } = await import('@toolgate/client/vercel-ai');
const { drop_b } = guardTools({ drop_b: { execute: () => 'dropped' } }, { server: 'a' });
await drop_b.execute({}).catch(error => console.log(error.cause instanceof ToolCallDenied));\n`,
    );
    const env = { PATH: process.env['PATH'], TOOLGATE_API_KEY: key, TOOLGATE_BASE_URL: service.url };
    const refused = ADAPTERS.map(name => `${name} InvalidConfiguration\n`).join('');
    expect(await output(['node', 'ask.mjs'], folder, env)).toBe(`allow\ntrue\n${refused}true\n`);
    await service.close();
  });

  test('the service starts also where install scripts were not run', async () => {
    const folder = emptyFolder();
    await unpack(built.file('npm', /^toolgate-\d/), join(folder, 'node_modules/toolgate'));
    const start = () => ran([join(folder, 'node_modules/toolgate/bin/toolgate'), '--version'], '/');
    expect(await start()).toMatchObject({ code: 3, stderr: expect.stringContaining('not installed') });
    mkdirSync(join(folder, 'node_modules/@oven/bun-here/bin'), { recursive: true });
    symlinkSync(BUN, join(folder, 'node_modules/@oven/bun-here/bin/bun'));
    expect(await start()).toMatchObject({ code: 0 });
  });

  test('the service needs the runtime and nothing else', async () => {
    const folder = emptyFolder();
    const home = join(folder, 'node_modules/toolgate');
    await unpack(built.file('npm', /^toolgate-\d/), home);
    symlinkSync(join(ROOT, 'node_modules/bun'), join(folder, 'node_modules/bun'));
    const { dependencies } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8'));
    expect(Object.keys(dependencies)).toEqual(['bun']);
    expect(readFileSync(join(home, 'THIRD-PARTY.txt'), 'utf8')).toMatch(/^zod .*\(MIT\)$/m);
    expect(readdirSync(join(home, 'packs'))).toContain('coding.yaml');
    const service = await startService({ program: [join(home, 'bin/toolgate')] });
    expect(environment(service)).toContain('BUN_CONFIG_MAX_HTTP_REQUESTS=65535');
    const { key } = await service.newKey([{ tool: '*', action: 'allow' }]);
    expect((await service.check(key, 'a', 'b')).body.decision).toBe('allow');
    await service.close();
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

const pip = ['python3', '-m', 'pip', '--disable-pip-version-check', '--no-input'];
const hasPip = () => onPath('python3') && Bun.spawnSync([...pip, '--version']).exitCode === 0;

describe.if(need(hasPip(), 'python3 with pip (for the Python packages)'))('the Python packages', () => {
  let service: TestService;
  let key: string;
  beforeAll(async () => {
    service = await startService();
    ({ key } = await service.newKey([{ tool: 'get_*', action: 'allow' }]));
  });
  afterAll(() => service.close());

  const ASK = `import toolgate
from toolgate.integrations import crewai, google_adk, langchain, openai_agents, pydantic_ai
gate = toolgate.Toolgate()
print(gate.check("a", "get_b").decision, toolgate.__file__)`;

  const ask = (path: string) =>
    output(['python3', '-c', ASK], tmpdir(), {
      PATH: process.env['PATH'],
      PYTHONPATH: path,
      TOOLGATE_API_KEY: key,
      TOOLGATE_BASE_URL: service.url,
    });

  test('the wheel works as it is', async () => {
    const wheel = built.file('python', /\.whl$/);
    expect(await ask(wheel)).toStartWith(`allow ${wheel}/`);
  });

  test('pip builds the source distribution without a network, and gets the same wheel', async () => {
    const folder = emptyFolder();
    const sdist = built.file('python', /\.tar\.gz$/);
    await output([...pip, 'wheel', '--no-index', '--no-deps', '-w', folder, sdist], folder);
    const wheel = readFileSync(join(folder, readdirSync(folder)[0] as string));
    expect(wheel.equals(readFileSync(built.file('python', /\.whl$/)))).toBe(true);
  });

  test('pip installs the wheel, and what it installs asks', async () => {
    const site = join(emptyFolder(), 'site');
    const wheel = built.file('python', /\.whl$/);
    await output([...pip, 'install', '--no-index', '--no-deps', '--target', site, wheel], ROOT);
    expect(readdirSync(join(site, 'toolgate'))).toContain('py.typed');
    expect(await output([...pip, 'list', '--path', site], ROOT)).toMatch(/^toolgate-client +\d/m);
    expect(await ask(site)).toStartWith(`allow ${site}/`);
  });
});
