// A fresh store for a service: of the current schema and empty, copied from one that was migrated once, since nine
// migrations take as long as all the rest of a start. Where the program has other migrations, as a mutant may, the
// store is left for the program to migrate. Tests of migrations bring a store of their own.

import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrate } from '../../src/store/engine/migrate.ts';
import { openPostgres } from '../../src/store/engine/postgres.ts';
import { openSqlite } from '../../src/store/engine/sqlite.ts';
import { sharedPostgres, type TestPostgres } from './postgres.ts';

const ROOT = join(import.meta.dir, '../..');
/** A busy machine may pause for seconds, and what a test finds out must not depend on it. */
export const PATIENCE = 20;

/** The url of a store beside this data folder, or on the shared server, for a program whose source is there. */
export async function freshStore(
  engine: 'sqlite' | 'postgres',
  dataDir: string,
  root: string | null,
): Promise<string> {
  const migrated = root !== null && sameSchema(root);
  if (engine === 'postgres') {
    const postgres = await sharedPostgres();
    if (postgres === null) throw new Error('there is no PostgreSQL here');
    return postgres.createDatabase(migrated ? await postgresTemplate(postgres) : undefined);
  }
  const path = join(dataDir, 'toolgate.db');
  if (migrated && existsSync(dataDir) && !existsSync(path)) cpSync(await sqliteTemplate(), path);
  return `sqlite:${path}`;
}

const migrationsOf = (root: string): string => {
  const folder = join(root, 'src/store/migrations');
  const files = readdirSync(folder).map(name => join(folder, name));
  // A replica of the last version may have the file in another folder.
  const list = [...new Bun.Glob('src/store/**/migrate.ts').scanSync({ cwd: root, absolute: true })];
  return [...files, ...list].map(file => readFileSync(file, 'utf8')).join('\0');
};
const sameSchema = (root: string): boolean => root === ROOT || migrationsOf(root) === migrationsOf(ROOT);

let sqlite: Promise<string> | undefined;

function sqliteTemplate(): Promise<string> {
  sqlite ??= makeSqlite();
  return sqlite;
}

async function makeSqlite(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'toolgate-template-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'toolgate.db');
  const db = openSqlite(path, fatal);
  await migrate(db, Date.now());
  await db.close();
  return path;
}

const postgres = new Map<TestPostgres, Promise<string>>();

function postgresTemplate(server: TestPostgres): Promise<string> {
  const made = postgres.get(server) ?? makePostgres(server);
  postgres.set(server, made);
  return made;
}

async function makePostgres(server: TestPostgres): Promise<string> {
  const url = await server.createDatabase();
  const db = await openPostgres(url, 1, { patience: PATIENCE });
  await migrate(db, Date.now());
  await db.close();
  return new URL(url).pathname.slice(1);
}

function fatal(error: Error): never {
  throw error;
}
