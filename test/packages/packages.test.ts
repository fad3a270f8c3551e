// What people install, as they would: the npm packages unpacked where npm would put them, the Python packages by pip
// without a network. executable.test.ts has the executable, which `npm test` makes in any case.

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
import { need, needExtra } from '../support/need.ts';
import { BUN, onPath, ROOT, startService, type TestService } from '../support/service.ts';
import { whenChanged } from '../support/when-changed.ts';
import { type Built, build, output, ran } from './built.ts';

const packed = whenChanged(
  'src/**',
  'dashboard/**',
  'clients/**',
  'packs/**',
  'bin/**',
  'scripts/build/**',
  'scripts/build.ts',
  'package.json',
);
const wanted = packed === test;

/** The client is compiled and checked by what only developers have. */
const hasClient = wanted && needExtra('scripts');

let built: Built;
const folders: string[] = [];

function emptyFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'toolgate-packages-'));
  folders.push(folder);
  return folder;
}

beforeAll(async () => {
  if (!wanted) return;
  const parts = ['executable', 'service'];
  if (hasClient) parts.push('client');
  if (onPath('python3')) parts.push('python');
  built = await build(parts);
}, 300_000);
afterAll(() => {
  built?.remove();
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

packed('the build says what it makes, and how large it is', () => {
  expect(built.said).toMatch(/^\[1\/\d\] executable$/m);
  for (const line of built.said.split('\n').filter(each => each.startsWith('   ')))
    expect(line).toMatch(/ {2}[\d.]+ [kM]B$/);
});

describe('the npm packages', () => {
  const ADAPTERS = ['openai-agents', 'langchain', 'vercel-ai', 'mastra'];
  const unpack = (tarball: string, folder: string) => {
    mkdirSync(folder, { recursive: true });
    return output(['tar', 'xzf', tarball, '--strip-components=1', '-C', folder], folder);
  };

  packed.skipIf(!hasClient)('the client is what publint and the types checker want', async () => {
    const tarball = built.file('npm', /^toolgate-client-.*\.tgz$/);
    const bin = (name: string) => packagesOf('scripts', '.bin', name);
    expect(await output([bin('publint'), '--strict', tarball], ROOT)).toContain('All good');
    await output([bin('attw'), tarball, '--profile', 'esm-only'], ROOT);
  });

  packed.skipIf(!hasClient)('the client is imported by Node and asks', async () => {
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

  packed('the service starts also where install scripts were not run', async () => {
    const folder = emptyFolder();
    await unpack(built.file('npm', /^toolgate-\d/), join(folder, 'node_modules/toolgate'));
    const start = () => ran([join(folder, 'node_modules/toolgate/bin/toolgate'), '--version'], '/');
    expect(await start()).toMatchObject({ code: 3, stderr: expect.stringContaining('not installed') });
    mkdirSync(join(folder, 'node_modules/@oven/bun-here/bin'), { recursive: true });
    symlinkSync(BUN, join(folder, 'node_modules/@oven/bun-here/bin/bun'));
    expect(await start()).toMatchObject({ code: 0 });
  });

  packed('the service needs the runtime and nothing else', async () => {
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

const pip = ['python3', '-m', 'pip', '--disable-pip-version-check', '--no-input'];
const hasPip = () => onPath('python3') && Bun.spawnSync([...pip, '--version']).exitCode === 0;

describe.if(!wanted || need(hasPip(), 'python3 with pip (for the Python packages)'))(
  'the Python packages',
  () => {
    let service: TestService | undefined;
    let key: string;
    beforeAll(async () => {
      if (!wanted) return;
      service = await startService();
      ({ key } = await service.newKey([{ tool: 'get_*', action: 'allow' }]));
    });
    afterAll(() => service?.close());

    const ASK = `import toolgate
from toolgate.integrations import crewai, google_adk, langchain, openai_agents, pydantic_ai
gate = toolgate.Toolgate()
print(gate.check("a", "get_b").decision, toolgate.__file__)`;

    const ask = (path: string) =>
      output(['python3', '-c', ASK], tmpdir(), {
        PATH: process.env['PATH'],
        PYTHONPATH: path,
        TOOLGATE_API_KEY: key,
        TOOLGATE_BASE_URL: service?.url,
      });

    packed('the wheel works as it is', async () => {
      const wheel = built.file('python', /\.whl$/);
      expect(await ask(wheel)).toStartWith(`allow ${wheel}/`);
    });

    packed('pip builds the source distribution without a network, and gets the same wheel', async () => {
      const folder = emptyFolder();
      const sdist = built.file('python', /\.tar\.gz$/);
      await output([...pip, 'wheel', '--no-index', '--no-deps', '-w', folder, sdist], folder);
      const wheel = readFileSync(join(folder, readdirSync(folder)[0] as string));
      expect(wheel.equals(readFileSync(built.file('python', /\.whl$/)))).toBe(true);
    });

    packed('pip installs the wheel, and what it installs asks', async () => {
      const site = join(emptyFolder(), 'site');
      const wheel = built.file('python', /\.whl$/);
      await output([...pip, 'install', '--no-index', '--no-deps', '--target', site, wheel], ROOT);
      expect(readdirSync(join(site, 'toolgate'))).toContain('py.typed');
      expect(await output([...pip, 'list', '--path', site], ROOT)).toMatch(/^toolgate-client +\d/m);
      expect(await ask(site)).toStartWith(`allow ${site}/`);
    });
  },
);

/** What the runtime read when it started. */
function environment(service: TestService): string {
  return readFileSync(`/proc/${service.process.pid}/environ`, 'utf8');
}
