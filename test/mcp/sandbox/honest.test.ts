// Servers that mean well, confined as docs/confined.md advises: they work within what they were granted, behind a real
// service, and get no further, even where their own checks would let them.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, LegacyClient, startWithStdio, text } from '../../support/mcp.ts';
import { need, PROGRAM } from '../../support/need.ts';
import { BUN, ROOT, type TestService } from '../../support/service.ts';
import { toolFolder } from '../../support/tools.ts';
import { CONFINES } from './escapes.ts';

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'toolgate-honest-')));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const work = join(folder, 'work');
const outside = join(folder, 'outside');
for (const each of [work, outside]) mkdirSync(each);
writeFileSync(join(outside, 'secret'), 'secret');
writeFileSync(join(work, 'note.txt'), 'a note');

const MODULES = join(ROOT, 'node_modules');
const official = (name: string) => join(MODULES, '@modelcontextprotocol', name, 'dist/index.js');
const SERVER = join(import.meta.dir, 'honest-server.py');
/** Where a version manager has put a script of its own in the way, this is Python itself. */
const python =
  Bun.which('python3') &&
  Bun.spawnSync(['python3', '-c', 'import sys, sqlite3; print(sys.executable)']).stdout.toString().trim();
const PYTHON = need(Boolean(python), 'Python 3 with its sqlite3, for a confined server');
/** A virtual environment with servers of PyPI, made by `.ci/tools`. */
const venv = toolFolder('mcp-servers');
if (venv === null)
  console.warn('\n*** SKIPPED, because this machine lacks it: tool servers of PyPI (.ci/tools) ***\n');

const limits = { network: false, memory: '1GiB', processes: 16 };
const inWork = (...read: string[]) => ({ read: ['runtime', ...read], write: [work], ...limits });

const SERVERS = {
  files: {
    command: 'node',
    // Its own check would let it outside; the sandbox does not.
    args: [official('server-filesystem'), work, outside],
    sandbox: inWork(MODULES),
  },
  everything: {
    command: 'node',
    args: [official('server-everything'), 'stdio'],
    env: { GIVEN: 'by the file' },
    sandbox: { ...inWork(MODULES), write: [] },
  },
  script: { command: BUN, args: [join(ROOT, 'test/mcp/stdio-server.ts')], sandbox: inWork(ROOT) },
  ...(PYTHON && {
    python: {
      command: python as string,
      args: [SERVER, join(work, 'own.db')],
      sandbox: { ...inWork(SERVER), memory: '128MiB' },
    },
  }),
  ...(venv && {
    sqlite: {
      command: join(venv, 'bin/mcp-server-sqlite'),
      args: ['--db-path', join(work, 'shop.db')],
      sandbox: inWork(venv),
    },
    time: { command: join(venv, 'bin/mcp-server-time'), sandbox: { ...inWork(venv), write: [] } },
  }),
};

/** The executable, where `npm test` has made one, and the source. */
const STARTS = process.env[PROGRAM] ? [false, true] : [true];

describe.skipIf(!CONFINES).each(STARTS)('confined servers of a service (from its source: %p)', source => {
  let service: TestService;
  let end: () => Promise<void>;
  let client: LegacyClient;
  const temporary = mkdtempSync(join(folder, 'tmp-'));

  beforeAll(async () => {
    const env = { TMPDIR: temporary, SECRET_OF_THE_SERVICE: 'secret' };
    ({ service, end } = await startWithStdio(SERVERS, { source, env }));
    const { key, keyId } = await service.newKey([{ tool: '*', action: 'allow' }]);
    for (const name of Object.keys(SERVERS))
      await connect(service, keyId, name, { transport: 'stdio', server: name });
    client = await LegacyClient.open(service, key);
  });
  afterAll(() => end());

  const failed = async (name: string, args: object) => (await client.call(name, args)).result.isError;
  const said = async (name: string, args: object) => text(await client.call(name, args));

  test('all of them offer their tools, and are said to be confined wholly', async () => {
    const servers = new Set((await client.tools()).map(({ name }) => name.split('__')[0]));
    expect([...servers].sort()).toEqual(Object.keys(SERVERS).sort());
    const { body } = await service.admin('GET', '/server-file');
    for (const each of body.stdioServers) expect(each.confinement.notEnforced).toEqual([]);
    expect(body.stdioServers[0].confinement.enforced).toEqual([
      'read',
      'write',
      'network',
      'memory',
      'processes',
    ]);
  });

  test('server-filesystem reads, writes, moves and searches its folder, and not another one', async () => {
    expect(await said('files__read_text_file', { path: join(work, 'note.txt') })).toContain('a note');
    const path = join(work, 'new.txt');
    expect(await failed('files__write_file', { path, content: 'written' })).toBeFalsy();
    expect(await failed('files__create_directory', { path: join(work, 'deep/er') })).toBeFalsy();
    expect(
      await failed('files__move_file', { source: path, destination: join(work, 'deep/er/new.txt') }),
    ).toBeFalsy();
    expect(await said('files__search_files', { path: work, pattern: '**/new.txt' })).toContain(
      'deep/er/new.txt',
    );
    rmSync(join(work, 'deep'), { recursive: true });
    expect(await said('files__read_text_file', { path: join(outside, 'secret') })).toMatch(/EACCES/);
    expect(await said('files__write_file', { path: join(outside, 'new'), content: 'x' })).toMatch(/EACCES/);
    expect(readdirSync(outside)).toEqual(['secret']);
  });

  test('server-everything answers, and its environment has nothing of the service', async () => {
    expect(await said('everything__echo', { message: 'hello' })).toContain('hello');
    const names = Object.keys(JSON.parse(await said('everything__get-env', {})));
    expect(names).toContain('GIVEN');
    expect(names.filter(each => /TOOLGATE|SECRET|^BUN/.test(each))).toEqual([]);
  });

  test('a server on Bun answers', async () => {
    expect(await said('script__echo', { n: 1 })).toBe('{"n":1}');
  });

  describe.skipIf(!PYTHON)('a server of Python’s standard library', () => {
    const ask = async (tool: string, ...args: unknown[]) =>
      JSON.parse(await said(`python__${tool}`, { with: args }));
    const error = async (tool: string, ...args: unknown[]) => {
      const { result } = await client.call(`python__${tool}`, { with: args });
      expect(result.isError).toBe(true);
      return result.content[0].text;
    };

    test('keeps its database, in the mode with a write-ahead log, too', async () => {
      await ask('sql', 'create table if not exists goods (name text)');
      expect(await ask('sql', 'pragma journal_mode = wal')).toEqual([['wal']]);
      await ask('sql', "insert into goods values ('apple')");
      expect(await ask('sql', 'select distinct name from goods')).toEqual([['apple']]);
      expect(existsSync(join(work, 'own.db'))).toBe(true);
    });

    test('has a folder for temporary files for itself, which is gone when it has ended', async () => {
      const [place, content] = await ask('temporary');
      expect([place.startsWith(temporary), content]).toEqual([true, 'kept']);
      expect(await error('sql', `attach '${join(temporary, 'x.db')}' as x`)).toBe('OperationalError');
    });

    test('answers however much it writes to its standard error', async () => {
      expect(await ask('complain', 4 << 20)).toBe('complained');
    });

    test('gets neither to other files, nor to the network, nor to other programs, nor beyond its memory', async () => {
      expect(await error('read', join(outside, 'secret'))).toBe('PermissionError');
      expect(await error('read', join(service.dataDir, 'toolgate.yaml'))).toBe('PermissionError');
      expect(await error('resolve', '127.0.0.1')).toBe('PermissionError');
      expect(await error('child', 'sh', '-c', 'echo x')).toBe('PermissionError');
      expect(await error('allocate', 256 << 20)).toBe('MemoryError');
      expect(await ask('allocate', 16 << 20)).toBe(16 << 20);
    });
  });

  describe.skipIf(venv === null)('servers of PyPI', () => {
    test('mcp-server-sqlite keeps its tables', async () => {
      await client.call('sqlite__create_table', { query: 'create table if not exists t (n integer)' });
      await client.call('sqlite__write_query', { query: 'insert into t values (7)' });
      expect(await said('sqlite__read_query', { query: 'select n from t' })).toContain('7');
    });

    test('mcp-server-time knows the zones', async () => {
      expect(await said('time__get_current_time', { timezone: 'Europe/Berlin' })).toContain('Europe/Berlin');
    });
  });
});

test.skipIf(!CONFINES)('nothing is left of their temporary folders', () => {
  const left = readdirSync(folder).filter(each => each.startsWith('tmp-'));
  expect(left.flatMap(each => readdirSync(join(folder, each)))).toEqual([]);
});
