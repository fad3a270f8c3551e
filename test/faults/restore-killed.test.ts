// A kill -9 during `toolgate restore --force` leaves the old store or the new one, each whole, at every call with which
// it changes files. The mutant moves the old store away first, so that for a moment there is none.

import { afterAll, beforeAll, expect } from 'bun:test';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { backupSqlite } from '../../src/store/engine/backup.ts';
import { migrate } from '../../src/store/engine/migrate.ts';
import { openSqlite } from '../../src/store/engine/sqlite.ts';
import { canTrace, newDataDir, sql, withMutant } from '../support/faults.ts';
import type { Patch } from '../support/mutant.ts';
import { need } from '../support/need.ts';
import { programOf } from '../support/service.ts';
import { whenChanged } from '../support/when-changed.ts';

const RENAMES = 'rename,renameat,renameat2';
/** Whatever changes which files there are; what is written in between goes to files that are not the store yet. */
const CALLS = `${RENAMES},unlink,unlinkat,ftruncate`;
const AWAY_FIRST: Patch = {
  file: 'src/store/engine/sqlite-restore.ts',
  find: 'renameSync(this.draft, this.path);',
  replace: `if (kept !== null) renameSync(this.path, \`\${kept}-moved\`);\n    renameSync(this.draft, this.path);`,
};
const TRACED = need(canTrace(), 'strace, and the right to trace');

const folder = newDataDir();
const [before, backup] = [join(folder, 'before'), join(folder, 'backup.db')];
afterAll(() => rmSync(folder, { recursive: true }));

const note = (value: string) => `INSERT INTO settings (name, value) VALUES ('which', '${value}')
  ON CONFLICT (name) DO UPDATE SET value = excluded.value`;

/** The old store has its last change in the write-ahead log, as a service leaves it that was killed. */
beforeAll(async () => {
  mkdirSync(before);
  const db = openSqlite(join(before, 'open.db'), () => {});
  await migrate(db, Date.now());
  await db.run(note('new'));
  backupSqlite(join(before, 'open.db'), backup);
  await db.run(note('old'));
  for (const end of ['', '-wal', '-shm']) {
    cpSync(join(before, `open.db${end}`), join(before, `toolgate.db${end}`));
  }
  await db.close();
  for (const end of ['', '-wal', '-shm', '.lock']) rmSync(join(before, `open.db${end}`), { force: true });
});

whenChanged('src/store/**', 'src/cli/**').skipIf(!TRACED)(
  'a restore killed anywhere leaves the old store or the new one',
  async () => {
    const found = await measure(CALLS);
    expect([...new Set(found)].sort()).toEqual(['new', 'old']);
  },
);

whenChanged(AWAY_FIRST).skipIf(!TRACED)(
  'a mutant that moves the old store away first is found out',
  async () => {
    const found = await withMutant([AWAY_FIRST], root => measure(RENAMES, root));
    expect(found).toContain('nothing');
  },
);

/** What is in the place of the store after a kill at each of the calls, and after none. */
async function measure(calls: string, root?: string): Promise<string[]> {
  const found: string[] = [];
  for (let call = 1; ; call++) {
    const dataDir = join(folder, 'data');
    cpSync(before, dataDir, { recursive: true });
    const log = join(folder, 'calls');
    const program = [...programOf(root === undefined ? {} : { root }), 'restore', backup, '--force'];
    const inject = `inject=${calls}:signal=SIGKILL:when=${call}`;
    const child = Bun.spawn(
      ['strace', '-f', '-q', '-o', log, '-e', `trace=${calls}`, '-e', inject, ...program],
      {
        env: { PATH: process.env['PATH'] ?? '', TOOLGATE_DATA_DIR: dataDir },
        stderr: 'pipe',
      },
    );
    const code = await child.exited;
    found.push(await stateOf(join(dataDir, 'toolgate.db')));
    rmSync(dataDir, { recursive: true });
    if (!readFileSync(log, 'utf8').includes('SIGKILL')) {
      if (code !== 0) throw new Error(await new Response(child.stderr).text());
      return found;
    }
  }
}

/** Read as the next start would, which applies a log that is there. */
async function stateOf(path: string): Promise<string> {
  if (!existsSync(path)) return 'nothing';
  const [sound] = await sql<{ integrity_check: string }>(`sqlite:${path}`, 'PRAGMA integrity_check');
  const [row] = await sql<{ value: string }>(
    `sqlite:${path}`,
    `SELECT value FROM settings WHERE name = 'which'`,
  );
  return sound?.integrity_check === 'ok' ? (row?.value ?? 'empty') : 'damaged';
}
