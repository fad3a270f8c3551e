// The checks of the store: whether it can be read and how fast, its schema and, on PostgreSQL, whether a commit is
// durable and how many connections are left. They only read, and they never migrate.

import { embeddedPath } from '../settings/config.ts';
import type { Queries } from '../store/engine/db.ts';
import { MIGRATIONS, versionOfAny } from '../store/engine/migrate.ts';
import { readServerFacts } from '../store/engine/postgres-server.ts';
import { unmovedBytes } from '../store/engine/sqlite-handle.ts';
import { bad, codeOf, type Examination, type Found, good, warning } from './examine.ts';
import { type Examined, withStore } from './examined.ts';

/** A check of a call waits for some round trips, so a slow network delays every call. */
const SLOW_ANSWER_MS = 20;
const ASKED = 5;
/** The service moves the log once it has a quarter of this. */
const MUCH_UNMOVED = 128e6;

export function storeChecks(examined: Examined): Examination[] {
  const onPostgres = embeddedPath(examined.config) === null;
  const checks: Examination[] = [
    { name: 'store', run: () => storeFound(examined) },
    { name: 'schema', run: () => withStore(examined, db => schemaFound(db, examined.running)) },
  ];
  if (!onPostgres) checks.push({ name: 'write-ahead log', run: () => withStore(examined, logFound) });
  else {
    checks.push(
      { name: 'durability', run: () => withStore(examined, db => durabilityFound(db, examined)) },
      {
        name: 'connections',
        run: () => withStore(examined, db => connectionsFound(db, examined)),
      },
    );
  }
  return checks;
}

async function storeFound(examined: Examined): Promise<Found[]> {
  const name = 'store';
  const path = embeddedPath(examined.config);
  let db: Queries;
  try {
    db = await examined.store();
  } catch (error) {
    if (error instanceof NoStore)
      return [good(name, `There is no store at ${path} yet: the first start makes it.`)];
    return [bad(name, storeFault(error))];
  }
  const ms = await answerMs(db);
  const where = path ?? `PostgreSQL at ${new URL(examined.config.databaseUrl ?? '').host}`;
  if (path === null && ms > SLOW_ANSWER_MS)
    return [
      warning(
        name,
        `${where} answers in ${ms.toFixed(1)} ms, and every check waits for it several times: run the service nearer to it.`,
      ),
    ];
  return [good(name, `${where} answers in ${ms.toFixed(1)} ms.`)];
}

/** The store was never made. */
export class NoStore extends Error {}

/** Messages of our own are shown. Those of a library are not, since they may say more. */
function storeFault(error: unknown): string {
  const { message } = error as Error;
  if (/^(PostgreSQL|The database|There is|\/)/.test(message)) return message;
  return `The store cannot be read${codeOf(error)}. TOOLGATE_DATABASE_URL or TOOLGATE_DATA_DIR says where it is; run this as the user of the service.`;
}

/** The best of a few round trips: how busy this machine is at that moment does not matter. */
async function answerMs(db: Queries): Promise<number> {
  const times: number[] = [];
  for (let index = 0; index < ASKED; index++) {
    const begun = performance.now();
    await versionOfAny(db);
    times.push(performance.now() - begun);
  }
  return Math.min(...times);
}

async function logFound(db: Queries): Promise<Found[]> {
  const name = 'write-ahead log';
  const bytes = await unmovedBytes(db);
  const unmoved = `${(bytes / 1e6).toFixed(1)} MB of it are not in the file of the store`;
  if (bytes < MUCH_UNMOVED) return [good(name, `${unmoved}.`)];
  return [
    warning(
      name,
      `${unmoved}, and it grows: the log of the service says why they cannot be moved, or another program has been reading the file all the while.`,
    ),
  ];
}

async function schemaFound(db: Queries, running: boolean): Promise<Found[]> {
  const name = 'schema';
  const at = await versionOfAny(db);
  const newest = MIGRATIONS.at(-1)?.version ?? 0;
  if (at === newest) return [good(name, `The schema has version ${at}, which is the program’s.`)];
  if (at > newest && running)
    return [
      warning(
        name,
        `The schema has version ${at}, this program knows ${newest}: a newer replica has migrated it. Replace this one too.`,
      ),
    ];
  if (at > newest)
    return [
      bad(
        name,
        `The schema has version ${at}, this program knows ${newest}: run the newer Toolgate, or restore a backup made before the upgrade.`,
      ),
    ];
  if (at === 0) return [good(name, 'The store is empty: the first start makes its schema.')];
  return [
    warning(
      name,
      `The schema has version ${at}: the next start migrates it to ${newest}. Make a backup before.`,
    ),
  ];
}

async function durabilityFound(db: Queries, { tryEngine }: Examined): Promise<Found[]> {
  const name = 'durability';
  const { lossy, isStandby } = await readServerFacts(db);
  if (isStandby)
    return [
      bad(
        name,
        'The server is a read-only standby: let TOOLGATE_DATABASE_URL name the primary, for example with target_session_attrs or a proxy that follows it.',
      ),
    ];
  if (lossy.length > 0) {
    const names = lossy.map(each => `${each}=off`).join(' and ');
    return [
      bad(
        name,
        `PostgreSQL runs with ${names}: an audit entry could be lost after it was promised. Turn it on.`,
      ),
    ];
  }
  const durable = good(name, 'fsync, full_page_writes and synchronous_commit are on.');
  return tryEngine === null ? [durable] : [durable, await engineFound(tryEngine)];
}

/** An engine that could lose commits is refused for that, so it is tried only where they are durable. */
async function engineFound(tryEngine: () => Promise<void>): Promise<Found> {
  const name = 'engine';
  try {
    await tryEngine();
    return good(name, 'Its advisory locks exclude as those of PostgreSQL do.');
  } catch (error) {
    return bad(name, storeFault(error));
  }
}

async function connectionsFound(db: Queries, { config, running }: Examined): Promise<Found[]> {
  const name = 'connections';
  const { maxConnections, usedConnections } = await readServerFacts(db);
  // Besides the pool, checks have up to three connections of their own, and one listens.
  const needed = running ? 1 : config.databasePool + 4;
  const left = maxConnections - usedConnections;
  const used = `${usedConnections} of ${maxConnections} connections of PostgreSQL are used`;
  if (left >= needed) return [good(name, `${used}.`)];
  return [
    warning(
      name,
      `${used}, and the service needs ${needed} more: raise max_connections, or lower TOOLGATE_DATABASE_POOL.`,
    ),
  ];
}
