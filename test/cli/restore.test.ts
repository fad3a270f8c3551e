// toolgate restore, and backup --verify: a copy that was made under load is proved, takes the place of a store, and has
// every entry; what cannot be used is refused with its reason, and nothing is lost.

import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import {
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../../src/cli/program.ts';
import { claimStore } from '../../src/guard/first-start.ts';
import { lockDescriptor } from '../../src/store/engine/file-lock.ts';
import { MIGRATIONS, migrate } from '../../src/store/engine/migrate.ts';
import { openSqlite } from '../../src/store/engine/sqlite.ts';
import { Clock, entries, MINUTE, sealerOn, write } from '../guard/log/sealing.ts';
import { sql } from '../support/faults.ts';
import { programOf, ROOT, startService, type TestService } from '../support/service.ts';
import { captured } from './captured.ts';

const SEALED = 300;
const NOBODY = 65_534;
const MASTER_KEY = Buffer.alloc(32, 7).toString('base64');
const folder = mkdtempSync(join(tmpdir(), 'toolgate-restore-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A new data folder below the test's folder. */
let folders = 0;
const dataDir = () => join(folder, `data-${++folders}`);
const storeIn = (dir: string) => join(dir, 'toolgate.db');

async function toolgate(dir: string, args: string, env: Record<string, string> = {}) {
  const io = captured(folder, { TOOLGATE_DATA_DIR: dir, TOOLGATE_MASTER_KEY: MASTER_KEY, ...env });
  await run(args.split(' '), io);
  return { code: io.code ?? 0, out: io.out, err: io.err };
}

const rows = <T>(path: string, statement: string) => sql<T>(`sqlite:${path}`, statement);
const idsIn = async (path: string) =>
  new Set((await rows<{ id: string }>(path, 'SELECT id FROM audit')).map(row => row.id));

/** A store with a sealed and signed log of an hour ago. */
async function sealedStore(dir: string): Promise<void> {
  const db = openSqlite(storeIn(dir), error => {
    throw error;
  });
  await migrate(db, Date.now());
  const clock = new Clock();
  clock.now = Date.now() - 60 * MINUTE;
  const { deps, settle } = await sealerOn(db, clock);
  await claimStore(deps, 'the test');
  await write(db, entries(SEALED, clock.now));
  clock.now += 10 * MINUTE;
  await settle();
  await db.close();
}

const original = dataDir();
let service: TestService;
let key: string;
beforeAll(async () => {
  await sealedStore(original);
  service = await startService({ dataDir: original, databaseUrl: `sqlite:${storeIn(original)}` });
  ({ key } = await service.newKey([{ tool: '*', action: 'allow' }]));
});
afterAll(() => service.close());

describe('a backup made under load', () => {
  const restored = dataDir();
  let before: Set<string>;
  beforeAll(async () => {
    const answered: string[] = [];
    let going = true;
    const load = Array.from({ length: 4 }, async () => {
      while (going) answered.push((await service.check(key, 'files', 'read')).body.toolCallId);
    });
    await Promise.all(Array.from({ length: 50 }, () => service.check(key, 'files', 'read')));
    before = new Set(answered);
    const { code, err } = await toolgate(original, 'backup nightly.db --verify');
    going = false;
    await Promise.all(load);
    expect([code, err]).toEqual([0, expect.stringContaining('Verified: it is sound')]);
    expect(err).toContain(
      `${SEALED} entries are sealed, ${SEALED} of them signed, and all are as they were sealed.`,
    );
  });

  test('is verified while the service runs, and nothing is left beside it', async () => {
    const { code, out } = await toolgate(original, 'restore nightly.db --check --json');
    expect([code, JSON.parse(out)]).toMatchObject([
      0,
      {
        verified: {
          schemaVersion: MIGRATIONS.at(-1)?.version,
          log: { sealed: SEALED, covered: SEALED, checkpoints: 1 },
        },
      },
    ]);
    expect(readdirSync(folder).filter(name => name.startsWith('.toolgate-verify-'))).toEqual([]);
  });

  test('is restored elsewhere with every entry from before, and a service decides on it', async () => {
    const { code, err } = await toolgate(restored, 'restore nightly.db');
    expect([code, err]).toEqual([0, expect.stringContaining('is now what nightly.db holds')]);
    expect(statSync(storeIn(restored)).mode & 0o777).toBe(0o600);
    expect(readdirSync(restored).sort()).toEqual(['toolgate.db', 'toolgate.db.lock']);
    const ids = await idsIn(storeIn(restored));
    expect([before.size > 0, [...before].filter(id => !ids.has(id))]).toEqual([true, []]);
    const next = await startService({ dataDir: restored, databaseUrl: `sqlite:${storeIn(restored)}` });
    const { status, body } = await next.check(key, 'files', 'read');
    expect([status, body.decision]).toEqual([200, 'allow']);
    await next.kill('SIGTERM');
    expect(await toolgate(restored, 'audit verify --json')).toMatchObject({ code: 0 });
  });

  test('takes the place of a store only by force, and that store is kept whole', async () => {
    const there = storeIn(restored);
    const old = await idsIn(there);
    expect(await toolgate(restored, 'restore nightly.db')).toMatchObject({
      code: 3,
      err: expect.stringContaining('does not replace a store unasked'),
    });
    expect(await idsIn(there)).toEqual(old);
    const { out } = await toolgate(restored, 'restore nightly.db --force --json');
    const { kept, store } = JSON.parse(out);
    expect(await idsIn(kept)).toEqual(old);
    expect((await idsIn(store)).size).toBe(old.size - 1);
    expect([statSync(kept).mode & 0o777, existsSync(`${there}-wal`)]).toEqual([0o600, false]);
  });

  test('does not take the place of a store that a service uses', async () => {
    expect(await toolgate(original, 'restore nightly.db --force')).toMatchObject({
      code: 3,
      err: expect.stringContaining('Another process has'),
    });
    expect((await service.check(key, 'files', 'read')).status).toBe(200);
  });

  test('says where the master key belongs if it is not there', async () => {
    const { code, err } = await toolgate(dataDir(), 'restore nightly.db', { TOOLGATE_MASTER_KEY: '' });
    expect([code, err]).toEqual([0, expect.stringContaining('put the master key of the store at')]);
    expect(err).toContain('The master key is not at hand');
  });

  test('takes the place of a damaged store, whose write-ahead log is kept beside it', async () => {
    const dir = dataDir();
    await toolgate(dir, 'restore nightly.db');
    writeFileSync(storeIn(dir), 'This is no database.');
    writeFileSync(`${storeIn(dir)}-wal`, 'Nor is this a log.');
    const { code, out } = await toolgate(dir, 'restore nightly.db --force --json');
    const { kept } = JSON.parse(out);
    expect([code, readFileSync(kept, 'utf8'), readFileSync(`${kept}-wal`, 'utf8')]).toEqual([
      0,
      'This is no database.',
      'Nor is this a log.',
    ]);
    expect((await idsIn(storeIn(dir))).size).toBeGreaterThan(SEALED);
  });
});

test.skipIf(process.platform !== 'linux')(
  'what a killed verification left behind is removed by the next, and what another one uses is not',
  async () => {
    const [left, used] = ['left', 'used'].map(name => join(folder, `.toolgate-verify-${name}`));
    for (const each of [left, used] as string[]) {
      mkdirSync(each);
      writeFileSync(join(each, 'in-use'), '');
    }
    const lock = lockDescriptor(openSync(join(used as string, 'in-use'), 'r+'));
    expect(await toolgate(original, 'restore nightly.db --check')).toMatchObject({ code: 0 });
    const scratch = () => readdirSync(folder).filter(name => name.startsWith('.toolgate-verify-'));
    expect(scratch()).toEqual(['.toolgate-verify-used']);
    if (lock !== null && lock !== 'taken') lock.release();
    await toolgate(original, 'restore nightly.db --check');
    expect(scratch()).toEqual([]);
  },
);

test('a store that the disk has no room for is not replaced', async () => {
  const dir = dataDir();
  await toolgate(dir, 'restore nightly.db');
  await rows(storeIn(dir), 'CREATE TABLE padding AS SELECT zeroblob(4000000) AS bytes');
  // No file may be larger than this, in blocks of 512 or of 1024 bytes: enough for the backup, not for the store.
  const blocks = Math.ceil(statSync(join(folder, 'nightly.db')).size / 512) + 200;
  const { exitCode, stderr } = Bun.spawnSync(
    [
      'sh',
      '-c',
      `trap '' XFSZ; ulimit -f ${blocks}; exec "$@"`,
      'sh',
      ...programOf(),
      'restore',
      'nightly.db',
      '--force',
    ],
    { cwd: folder, env: { TOOLGATE_DATA_DIR: dir, TOOLGATE_MASTER_KEY: MASTER_KEY } },
  );
  expect([exitCode, stderr.toString()]).toEqual([
    3,
    expect.stringContaining('nothing was replaced. Is the disk full?'),
  ]);
  expect(await rows(storeIn(dir), 'SELECT length(bytes) AS bytes FROM padding')).toEqual([
    { bytes: 4_000_000 },
  ]);
  expect(readdirSync(dir).filter(name => /before|restoring|keeping/.test(name))).toEqual([]);
});

test('a backup is read through a link, and a log beside the file behind it counts', async () => {
  const dir = dataDir();
  cpSync(join(folder, 'nightly.db'), join(folder, 'linked.db'));
  symlinkSync('linked.db', join(folder, 'link.db'));
  // Only an index, which says nothing: whoever looks into a file leaves one behind.
  writeFileSync(join(folder, 'linked.db-shm'), 'x');
  expect(await toolgate(dir, 'restore link.db')).toMatchObject({ code: 0 });
  writeFileSync(join(folder, 'linked.db-wal'), 'x');
  for (const args of ['restore link.db --force', 'restore link.db --check'])
    expect(await toolgate(dir, args)).toMatchObject({
      code: 1,
      err: expect.stringContaining('a write-ahead log is beside it'),
    });
  symlinkSync(storeIn(dir), join(folder, 'itself.db'));
  expect(await toolgate(dir, 'restore itself.db --force')).toMatchObject({
    code: 1,
    err: expect.stringContaining('it is the store itself'),
  });
  expect(await toolgate(dir, 'restore . --force')).toMatchObject({
    code: 1,
    err: expect.stringContaining('it is not a file'),
  });
});

test.skipIf(process.getuid?.() === 0 && Bun.which('setpriv') === null)(
  'a folder that this user may not write is named, with what to do',
  () => {
    const closed = dataDir();
    mkdirSync(closed, { mode: 0o555 });
    const as = process.getuid?.() === 0 ? ['setpriv', '--reuid=65534', '--clear-groups'] : [];
    const { exitCode, stderr } = Bun.spawnSync(
      [...as, ...programOf(), 'restore', join(ROOT, 'package.json')],
      { cwd: '/', env: { PATH: process.env['PATH'] ?? '', TOOLGATE_DATA_DIR: closed } },
    );
    expect([exitCode, stderr.toString()]).toEqual([
      3,
      expect.stringContaining('cannot be written (EACCES): run this'),
    ]);
  },
);

test.skipIf(process.getuid?.() !== 0)('root leaves the files to the user of the service', async () => {
  const dir = dataDir();
  mkdirSync(dir);
  chownSync(dir, NOBODY, NOBODY);
  await toolgate(dir, 'restore nightly.db');
  await toolgate(dir, 'restore nightly.db --force');
  const names = readdirSync(dir).sort();
  expect(names).toEqual(['toolgate.db', expect.stringContaining('toolgate.db.before-'), 'toolgate.db.lock']);
  expect(names.map(name => statSync(join(dir, name)).uid)).toEqual([NOBODY, NOBODY, NOBODY]);
});

test('a backup of an older schema is migrated for its proof, and restored as it is', async () => {
  const dir = dataDir();
  const db = openSqlite(storeIn(dir), () => {});
  await migrate(db, Date.now(), MIGRATIONS.slice(0, -1));
  await db.close();
  const from = MIGRATIONS.at(-2)?.version;
  const { code, err } = await toolgate(dir, 'backup older.db --verify');
  expect([code, err]).toEqual([
    0,
    expect.stringContaining(`its schema was migrated from version ${from} to`),
  ]);
  const to = dataDir();
  expect(await toolgate(to, 'restore older.db')).toMatchObject({ code: 0 });
  expect(await rows(storeIn(to), 'SELECT max(version) AS version FROM migrations')).toEqual([
    { version: from },
  ]);
});

/** Changes of a copy after which it must not be restored, and what is said about them. */
const CHANGES: [what: string, change: (copy: string) => void, reason: string][] = [
  ['a byte in the middle', copy => flip(copy, statSync(copy).size / 2), 'its checksum does not match'],
  ['a byte of its checksum', copy => flip(copy, statSync(copy).size - 10), 'its checksum does not match'],
  ['a missing end', copy => truncateSync(copy, 40_960), 'it was cut short: 40960 of'],
  ['a damaged page, and no checksum', damagePage, 'it is damaged'],
  [
    'an edited entry, and no checksum',
    edit(`UPDATE audit_entries SET decision = 'deny'`),
    'not as it was signed',
  ],
  ['a removed entry, and no checksum', edit('DELETE FROM audit_entries'), 'not as it was signed'],
  ['a newer schema', edit(`INSERT INTO migrations VALUES (999, 'next', 0)`), 'written by a newer Toolgate'],
  ['another program’s database', foreign, 'but not a store of Toolgate'],
  ['no database', copy => writeFileSync(copy, 'Dear diary'), 'it is not a SQLite database'],
  [
    'a write-ahead log beside it',
    copy => writeFileSync(`${copy}-wal`, 'x'),
    'a write-ahead log is beside it',
  ],
];

describe('what cannot be used is refused, and the store stays', () => {
  const dir = dataDir();
  let ids: Set<string>;
  beforeAll(async () => {
    await sealedStore(dir);
    ids = await idsIn(storeIn(dir));
  });
  const refused = async (copy: string, reason: string, env: Record<string, string> = {}) => {
    for (const args of [`restore ${copy} --force`, `restore ${copy} --check`]) {
      const { code, err } = await toolgate(dir, args, env);
      expect([code, err]).toEqual([1, expect.stringContaining(`${copy} cannot be restored: `)]);
      expect(err).toContain(reason);
    }
    expect(await idsIn(storeIn(dir))).toEqual(ids);
    expect(readdirSync(dir).filter(name => !name.startsWith('toolgate.db'))).toEqual([]);
    expect(readdirSync(dir).filter(name => /before|restoring/.test(name))).toEqual([]);
  };

  for (const [index, [what, change, reason]] of CHANGES.entries()) {
    test(what, async () => {
      const copy = `changed-${index}.db`;
      cpSync(join(folder, 'nightly.db'), join(folder, copy));
      change(join(folder, copy));
      await refused(copy, reason);
    });
  }

  test('another master key', () =>
    refused('nightly.db', 'The master key is not the one this store was made with', {
      TOOLGATE_MASTER_KEY: Buffer.alloc(32, 8).toString('base64'),
    }));

  test('a file that is not there, and a store on PostgreSQL', async () => {
    expect(await toolgate(dir, 'restore nothing.db')).toMatchObject({
      code: 3,
      err: expect.stringContaining('there is no such file'),
    });
    const elsewhere = { TOOLGATE_DATABASE_URL: 'postgres://db.example/toolgate' };
    expect(await toolgate(dir, 'restore nightly.db', elsewhere)).toMatchObject({
      code: 1,
      err: expect.stringContaining('pg_restore'),
    });
  });
});

function flip(path: string, at: number): void {
  const bytes = readFileSync(path);
  const index = Math.floor(at);
  bytes[index] = (bytes[index] as number) ^ 1;
  writeFileSync(path, bytes);
}

/** Leaves the pages, which are all there is in copies of earlier versions. */
function withoutChecksum(path: string): void {
  truncateSync(path, statSync(path).size - (statSync(path).size % 4096));
}

function edit(statement: string): (copy: string) => void {
  return copy => {
    withoutChecksum(copy);
    const db = new Database(copy);
    db.run(statement);
    db.close();
  };
}

/** Overwrites the type of the root page of a table. */
function damagePage(copy: string): void {
  withoutChecksum(copy);
  const db = new Database(copy, { readonly: true });
  const page = db.prepare(`SELECT rootpage FROM sqlite_master WHERE name = 'audit_entries'`).get();
  db.close();
  flip(copy, ((page as { rootpage: number }).rootpage - 1) * 4096);
}

function foreign(copy: string): void {
  rmSync(copy);
  const db = new Database(copy);
  db.run('CREATE TABLE bookmarks (url text)');
  db.close();
}
