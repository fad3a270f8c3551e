// Whether a server that speaks PostgreSQL's protocol keeps what the store relies on: durable commits, advisory locks of
// a transaction that really exclude, and reads that see what was committed while a lock was waited for. Some relatives
// of PostgreSQL accept every statement and keep none of it, so the locks are tried, and not only the name is read.

import { type Lane, StoreError } from './db.ts';

const ELSEWHERE = 'docs/operating.md says which engines can be used.';

interface Engine {
  version: string;
  /** Which isolation a transaction really has, where the engine says so in a setting of its own, as YugabyteDB does. */
  isolation: string | null;
  /** Settings with which a commit can be lost. */
  lossy: string | null;
}

/** Reads the defaults of new connections, because behind a pooling proxy our own SET may not reach a connection. */
const ENGINE = `SELECT version() AS version,
  current_setting('yb_effective_transaction_isolation_level', true) AS isolation,
  (SELECT string_agg(name || '=off', ' and ' ORDER BY name) FROM pg_settings
   WHERE name IN ('fsync', 'synchronous_commit') AND reset_val = 'off') AS lossy`;

/** Throws if the store would not be safe there. `other` is a connection of its own. */
export async function refuseUnfit(db: Lane, other: Lane): Promise<void> {
  // The names are new ones, so that replicas that start at the same time do not meet.
  const id = crypto.randomUUID();
  const [changed, read] = [`toolgate proof ${id} a`, `toolgate proof ${id} b`];
  const fault = await db.transaction({ exclusive: [changed], shared: [read] }, async tx => {
    const [engine] = await tx.all<Engine>(ENGINE);
    if (engine === undefined) throw new StoreError('the server does not say what it is');
    return faultOf(engine) ?? faultOfLocks(engine, await tries(other, changed, read));
  });
  if (fault !== null) throw new Error(fault);
}

function faultOf({ version, isolation, lossy }: Engine): string | null {
  if (lossy !== null)
    return `PostgreSQL runs with ${lossy}: an audit entry could be lost after it was promised. Turn it on.`;
  if (isolation === null || isolation.toLowerCase() === 'read committed') return null;
  return (
    `The database, ${shortened(version)}, runs transactions as ${isolation} though READ COMMITTED was asked for, so a ` +
    `check would not see what was revoked while it waited. Set yb_enable_read_committed_isolation=true. ${ELSEWHERE}`
  );
}

interface Tries {
  exclusive: number;
  shared: number;
  exclusiveBesideShared: number;
  sharedBesideShared: number;
}

const AS_POSTGRESQL: Tries = { exclusive: 0, shared: 0, exclusiveBesideShared: 0, sharedBesideShared: 1 };

function faultOfLocks({ version }: Engine, found: Tries): string | null {
  const keys = Object.keys(AS_POSTGRESQL) as (keyof Tries)[];
  if (keys.every(key => found[key] === AS_POSTGRESQL[key])) return null;
  return (
    `The database, ${shortened(version)}, accepts advisory locks, but they do not exclude as those of PostgreSQL do: ` +
    `what is revoked on one replica could still be used on another. Use PostgreSQL. ${ELSEWHERE}`
  );
}

/** While another transaction holds `changed` exclusively and `read` shared. */
async function tries(other: Lane, changed: string, read: string): Promise<Tries> {
  const took = (call: string) => `CASE WHEN ${call} THEN 1 ELSE 0 END`;
  return other.transaction({}, async tx => {
    const [row] = await tx.all<Tries>(
      `SELECT ${took('pg_try_advisory_xact_lock(hashtextextended($1, 0))')} AS exclusive,
         ${took('pg_try_advisory_xact_lock_shared(hashtextextended($1, 0))')} AS shared,
         ${took('pg_try_advisory_xact_lock(hashtextextended($2, 0))')} AS "exclusiveBesideShared",
         ${took('pg_try_advisory_xact_lock_shared(hashtextextended($2, 0))')} AS "sharedBesideShared"`,
      [changed, read],
    );
    if (row === undefined) throw new StoreError('an advisory lock was answered with nothing');
    return row;
  });
}

/** `PostgreSQL 16.2 on x86_64-pc-linux-gnu, compiled by …`: what comes after the version helps nobody here. */
function shortened(version: string): string {
  return version.split(/ on | \(|, compiled/)[0]?.slice(0, 80) ?? '';
}
