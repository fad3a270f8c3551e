// The first start and the ones after: what is printed, what is kept, and that the log holds no secret.

import { describe, expect, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { cookieOf, send } from '../operators/people.ts';
import { newDataDir, until, withMutant } from '../support/faults.ts';
import type { Patch } from '../support/mutant.ts';
import { need } from '../support/need.ts';
import { sharedPostgres } from '../support/postgres.ts';
import {
  type Engine,
  engines,
  failToStart,
  onPath,
  programOf,
  type Reply,
  startService,
  type TestService,
} from '../support/service.ts';
import { enginesWhenChanged, whenChanged } from '../support/when-changed.ts';
import { expectProblem } from './problem.ts';

const KEY = /tg_key_[0-9A-Za-z]{49}/g;
const SETUP = /https?:\S+\/dashboard\/setup\?token=(\S+)/;
const PASSWORD = 'violet kettle orbit lantern';

const logLines = (output: string) =>
  output
    .split('\n')
    .filter(line => line.startsWith('{'))
    .join('\n');

/** A store that no service has seen, and a folder for one. */
async function nowhere(engine: Engine): Promise<{ databaseUrl: string; dataDir: string }> {
  const dataDir = newDataDir();
  const postgres = engine === 'postgres' ? await sharedPostgres() : null;
  return {
    dataDir,
    databaseUrl: (await postgres?.createDatabase()) ?? `sqlite:${join(dataDir, 'toolgate.db')}`,
  };
}

const keysIn = (...services: TestService[]): string[] => [
  ...new Set(services.flatMap(each => each.output.match(KEY) ?? [])),
];

test('on a terminal they are printed, unless nothing may be', async () => {
  for (const [given, isPrinted] of [
    ['terminal', true],
    ['never', false],
  ] as const) {
    const dataDir = newDataDir();
    let text = '';
    const terminal = {
      cols: 200,
      rows: 50,
      data: (_: unknown, bytes: Uint8Array) => (text += Buffer.from(bytes)),
    };
    const env = {
      PATH: process.env['PATH'],
      HOME: dataDir,
      TOOLGATE_PORT: '0',
      TOOLGATE_DATA_DIR: dataDir,
      TOOLGATE_PRINT_SECRETS: given,
    };
    const child = Bun.spawn([...programOf(), 'serve'], { cwd: dataDir, env, terminal });
    await until('it serves', () => /serves on/.test(text) && text.includes('Admin token'));
    expect([/tg_key_/.test(text), existsSync(join(dataDir, 'printed-secrets.txt'))]).toEqual([
      isPrinted,
      !isPrinted,
    ]);
    child.kill('SIGTERM');
    await child.exited;
    rmSync(dataDir, { recursive: true });
  }
});

/** A service that is killed at a moment of its first start. */
const KILLED: Record<string, Patch> = {
  'after the key was made, and before it was shown': {
    file: 'src/guard/first-start.ts',
    find: '    await show(key);\n',
    replace: "    process.kill(process.pid, 'SIGKILL');\n    await show(key);\n",
  },
  'after the key was shown, and before that was noted': {
    file: 'src/guard/first-start.ts',
    find: '    await show(key);\n',
    replace: "    await show(key);\n    process.kill(process.pid, 'SIGKILL');\n",
  },
};

for (const engine of await enginesWhenChanged(
  'src/store/**',
  'src/guard/first-start.ts',
  'src/process/printed-secrets.ts',
)) {
  describe(engine, () => {
    test('a first start whose port is taken loses nothing: the key is shown by the one that serves', async () => {
      const store = await nowhere(engine);
      const other = createServer().listen(0, '127.0.0.1');
      const { port } = other.address() as { port: number };
      const env = { TOOLGATE_PORT: String(port) };
      expect(await failToStart({ ...store, env })).toContain('is taken');
      other.close();
      const service = await startService(store);
      const [key = ''] = keysIn(service);
      expect((await service.check(key, 'github', 'get_issue')).body.decision).toBe('allow');
      await service.close();
      rmSync(store.dataDir, { recursive: true });
    });

    for (const [when, patch] of Object.entries(KILLED)) {
      whenChanged(patch, 'src/store/**')(
        `a kill ${when} leaves a store whose next start shows one`,
        async () => {
          const store = await nowhere(engine);
          await withMutant([patch], root => startService({ ...store, root }).catch(() => null));
          const service = await startService(store);
          const [key = '', ...others] = keysIn(service);
          expect(others).toEqual([]);
          expect((await service.check(key, 'github', 'get_issue')).body.decision).toBe('allow');
          const { keys } = (await service.admin('GET', '/keys')).body;
          const live = keys.filter((each: { revokedAt: string | null }) => each.revokedAt === null);
          expect(live).toHaveLength(1);
          expect((await service.admin('GET', '/policies')).body.policies).toHaveLength(1);
          await service.kill('SIGTERM');
          const again = await startService(store);
          expect(keysIn(again)).toEqual([]);
          expect((await again.check(key, 'github', 'get_issue')).body.decision).toBe('allow');
          await again.close();
          rmSync(store.dataDir, { recursive: true });
        },
      );
    }

    test('a store that has lost its master key is refused by the name of the file, and nothing is written', async () => {
      const store = await nowhere(engine);
      const env = { TOOLGATE_MASTER_KEY: '', TOOLGATE_ADMIN_TOKEN: '' };
      await (await startService({ ...store, env })).kill('SIGTERM');
      const [kept, lost] = [join(store.dataDir, 'kept'), join(store.dataDir, 'master.key')];
      renameSync(lost, kept);
      rmSync(join(store.dataDir, 'admin.token'));
      const files = () => readdirSync(store.dataDir).filter(name => !/-wal$|-shm$/.test(name));
      const content = () => (engine === 'sqlite' ? readFileSync(join(store.dataDir, 'toolgate.db')) : null);
      const before = [files(), content()];
      const output = await failToStart({ ...store, env });
      expect(output).toContain(`${lost} is missing`);
      expect(output).toContain('set TOOLGATE_MASTER_KEY');
      expect([files(), content()]).toEqual(before);
      expect(existsSync(lost)).toBe(false);
      renameSync(kept, lost);
      const service = await startService({ ...store, env });
      expect(existsSync(join(store.dataDir, 'admin.token'))).toBe(true);
      await service.kill('SIGTERM');
      rmSync(store.dataDir, { recursive: true });
    });

    test('prints one key with a curl line that works, and never again', async () => {
      const env = { TOOLGATE_ADMIN_TOKEN: '', TOOLGATE_MASTER_KEY: '', TOOLGATE_LOG_LEVEL: 'trace' };
      const first = await startService({ engine, env });
      const { databaseUrl, dataDir } = first;
      const [key, ...others] = new Set(first.output.match(KEY));
      expect(others).toEqual([]);
      const link = SETUP.exec(first.output);
      expect(link).not.toBeNull();

      const command = first.output.split('\n').find(line => line.trim().startsWith('curl '));
      expect(command).toContain(key as string);
      if (need(onPath('curl'), 'curl')) {
        const run = Bun.spawnSync(['sh', '-c', command as string]);
        expect(JSON.parse(run.stdout.toString())).toMatchObject({ decision: 'allow' });
      }
      expect((await first.check(key as string, 'github', 'delete_repo')).body.decision).toBe('deny');
      expect((await first.check(key as string, 'github', 'create_issue')).body.decision).toBe('pending');

      const adminToken = readFileSync(join(dataDir, 'admin.token'), 'utf8').trim();
      expect(adminToken).toMatch(/^tg_adm_[0-9A-Za-z]{49}$/);
      for (const file of ['admin.token', 'master.key']) {
        expect(statSync(join(dataDir, file)).mode & 0o777).toBe(0o600);
      }
      const keys = await first.json('GET', '/admin/v1/keys', adminToken);
      expect(keys.body.keys).toHaveLength(1);
      await first.kill('SIGTERM');

      const second = await startService({ databaseUrl, dataDir, env });
      expect(second.output).not.toMatch(KEY);
      const again = SETUP.exec(second.output);
      expect(again).not.toBeNull();
      expect(again?.[1]).not.toBe(link?.[1] as string);
      expect((await second.check(key as string, 'github', 'get_issue')).body.decision).toBe('allow');
      expect((await second.json('GET', '/admin/v1/keys', adminToken)).status).toBe(200);
      expect((await second.json('GET', '/admin/v1/policies', adminToken)).body.policies).toHaveLength(1);
      await second.kill('SIGTERM');

      const master = readFileSync(join(dataDir, 'master.key'), 'utf8').trim();
      const printed = first.output + second.output;
      for (const secret of [adminToken, master]) expect(printed).not.toContain(secret);
      for (const secret of [key as string, link?.[1] as string, again?.[1] as string]) {
        expect(logLines(printed)).not.toContain(secret);
      }
      await first.close();
    });

    test('where standard output is no terminal, secrets are in a file for its owner, and not in the output', async () => {
      const env = { TOOLGATE_PRINT_SECRETS: '' };
      const first = await startService({ engine, env });
      const file = join(first.dataDir, 'printed-secrets.txt');
      const kept = () => readFileSync(file, 'utf8');
      const said = `Your first key and the link to create the first operator are in ${file}`;
      await until('it is said', () => first.output.includes(said));
      expect(statSync(file).mode & 0o777).toBe(0o600);
      const [key = ''] = kept().match(KEY) ?? [];
      const link = SETUP.exec(kept())?.[1] as string;
      expect((await first.check(key, 'github', 'create_issue')).body.decision).toBe('pending');
      await until('the call is told', () => first.output.includes(`Links    in ${file}`));
      const [approval = ''] = kept().match(/https?:\S+\/v1\/approve\/tg_apr_\w+/) ?? [];
      expect((await fetch(approval)).status).toBe(200);
      await first.kill('SIGTERM');

      const second = await startService({ databaseUrl: first.databaseUrl, dataDir: first.dataDir, env });
      await until('it is said', () =>
        second.output.includes(`The link to create the first operator is in ${file}`),
      );
      const links = [...kept().matchAll(new RegExp(SETUP, 'g'))].map(found => found[1]);
      expect(links).toHaveLength(1);
      expect(links).not.toContain(link);
      expect(kept()).toContain(key);
      const person = { token: links[0], email: 'ann@example.com', password: PASSWORD };
      expect((await second.json('POST', '/admin/v1/setup', null, person)).status).toBe(201);
      await second.kill('SIGTERM');

      const third = await startService({ databaseUrl: first.databaseUrl, dataDir: first.dataDir, env });
      await third.kill('SIGTERM');
      expect(kept()).not.toMatch(SETUP);
      for (const { output } of [first, second, third])
        for (const secret of [key, ...links, link, 'tg_key_', 'tg_apr_', 'setup?token='])
          expect(output).not.toContain(secret as string);
      await first.close();
    });

    test('the set-up link makes the first operator, once', async () => {
      const service = await startService({ engine });
      const token = SETUP.exec(service.output)?.[1] as string;
      const setUp = (body: object) => service.json('POST', '/admin/v1/setup', null, body);
      const person = { token, email: 'ann@example.com', password: PASSWORD };
      const short = await setUp({ ...person, password: 'short' });
      expectProblem(short, 400, 'invalid_input', ['/password']);
      expectProblem(await setUp({ ...person, email: 'nobody' }), 400, 'invalid_input', ['/email']);
      expectProblem(await setUp({ ...person, token: 'wrong' }), 410, 'gone');

      const replies = await Promise.all([
        setUp(person),
        setUp(person),
        setUp({ ...person, email: 'bob@example.com' }),
      ]);
      expect(replies.map(reply => reply.status).sort()).toEqual([201, 410, 410]);
      expectProblem(await setUp(person), 410, 'gone');
      const made = replies.find(reply => reply.status === 201);
      expect(made?.body).toMatchObject({ role: 'admin', email: expect.stringContaining('@example.com') });
      expect(made?.text).not.toContain(PASSWORD);
      const me = await send(service, 'GET', '/admin/v1/me', { cookie: cookieOf(made as Reply) });
      expect(JSON.parse(made?.text ?? '')).toMatchObject({ email: me.body.email });
      const changes = await service.admin('GET', '/changes?limit=1');
      expect(changes.body.changes[0]).toMatchObject({ actor: 'system', action: 'operator.setup' });
      await service.kill('SIGTERM');

      const again = await startService({ databaseUrl: service.databaseUrl, dataDir: service.dataDir });
      expect(again.output).not.toMatch(SETUP);
      await again.kill('SIGTERM');
      expect(service.output + again.output).not.toContain(PASSWORD);
      await service.close();
    });

    test('a store belongs to one master key; with another the start is refused', async () => {
      const service = await startService({ engine });
      const { databaseUrl, dataDir } = service;
      await service.kill('SIGTERM');
      const env = { TOOLGATE_MASTER_KEY: Buffer.alloc(32, 8).toString('base64') };
      const output = await failToStart({ databaseUrl, dataDir, env });
      expect(output).toContain('The master key is not the one this store was made with');
      expect(output).toContain('It was read from TOOLGATE_MASTER_KEY');
      await service.close();
    });
  });
}

/** These are about locks, and no other engine has replicas. */
describe.if((await engines()).includes('postgres'))('postgres alone', () => {
  test('a first start says what takes its time', async () => {
    const store = await nowhere('postgres');
    const service = await startService(store);
    const said = ['connecting to PostgreSQL', '"name":"guard"', '"msg":"serving"'];
    const places = said.map(text => service.output.indexOf(text));
    expect(places).toEqual(places.toSorted((one, other) => one - other));
    expect(places).not.toContain(-1);
    await service.close();
    rmSync(store.dataDir, { recursive: true });
  });

  test('of replicas with one data folder, the set-up link in its file is the one that holds', async () => {
    const { databaseUrl, dataDir } = await nowhere('postgres');
    const env = { TOOLGATE_PRINT_SECRETS: 'never' };
    const replicas = await Promise.all(
      Array.from({ length: 3 }, () => startService({ databaseUrl, dataDir, env })),
    );
    const kept = readFileSync(join(dataDir, 'printed-secrets.txt'), 'utf8');
    expect(new Set(kept.match(KEY))).toHaveProperty('size', 1);
    const body = { token: SETUP.exec(kept)?.[1], email: 'ann@example.com', password: PASSWORD };
    expect((await (replicas[0] as TestService).json('POST', '/admin/v1/setup', null, body)).status).toBe(201);
    for (const each of replicas) await each.close();
    rmSync(dataDir, { recursive: true });
  });

  test('of replicas that start at once exactly one shows the key, and one set-up link holds', async () => {
    const { databaseUrl } = await nowhere('postgres');
    const replicas = await Promise.all(
      Array.from({ length: 3 }, () => startService({ databaseUrl, dataDir: newDataDir() })),
    );
    const [first] = replicas as [TestService];
    const keys = keysIn(...replicas);
    expect(keys).toHaveLength(1);
    for (const each of replicas) {
      expect((await each.check(keys[0] ?? '', 'github', 'get_issue')).body.decision).toBe('allow');
    }
    const links = replicas.map(each => SETUP.exec(each.output)?.[1]);
    const answers = [];
    for (const [at, token] of links.entries()) {
      const body = { token, email: `ann-${at}@example.com`, password: PASSWORD };
      answers.push((await first.json('POST', '/admin/v1/setup', null, body)).status);
    }
    expect(answers.sort()).toEqual([201, 410, 410]);
    for (const each of replicas) {
      await each.close();
      rmSync(each.dataDir, { recursive: true });
    }
  });
});
