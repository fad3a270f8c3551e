// Makes a long audit log in seconds, directly in the database and while the service is stopped. It either multiplies
// the one real entry in the store (only `id` and `at` differ; all other columns are copied, so that new columns need no
// change here), or invents entries of many keys, tools and sessions.

import { SQL } from 'bun';
import { decisionTag, keyTag, sessionTag, surfaceTag, toolTag } from '../src/store/log/slots.ts';

/**
 * The time between two entries: short enough for a million entries to fall within a day, and so within any retention.
 */
const STEP_MS = 80;

/** The number of entries per statement: large enough to be fast, and small enough to show the progress. */
const SLICE = 500_000;

export async function fillAudit(
  databaseUrl: string,
  entries: number,
  tell: (done: number) => void = () => {},
): Promise<void> {
  const engine = databaseUrl.startsWith('sqlite:') ? SQLITE : POSTGRES;
  const sql = new SQL(databaseUrl, { max: 1 });
  try {
    const columns: { name: string }[] = await sql.unsafe(engine.columns);
    for (const statement of engine.begin) await sql.unsafe(statement);
    const names = columns.map(column => column.name);
    for (let done = 0; done < entries; done += SLICE) {
      tell(done);
      await sql.unsafe(multiply(names, entries, done, engine));
    }
    tell(entries);
    const tags: { tag: number }[] = await sql.unsafe('SELECT DISTINCT tag FROM audit_slots');
    for (const { tag } of tags) await sql.unsafe(slotsOf(String(tag), 'audit_entries AS e'));
    await sql.unsafe(COUNTED);
    for (const statement of engine.settle) await sql.unsafe(statement);
  } finally {
    await sql.close();
  }
}

/** Ids are UUIDs of version 7, so their first 12 hexadecimal digits are the time. */
function multiply(columns: string[], entries: number, from: number, { hex, series }: Engine): string {
  const time = `(at - ${STEP_MS} * (${entries} - n) - ${STEP_MS})`;
  const digits = hex(time);
  const values: Record<string, string> = {
    id: `substr(${digits}, 1, 8) || '-' || substr(${digits}, 9, 4) || '-7000-8000-' || ${hex('n')}`,
    at: time,
  };
  return `
    INSERT INTO audit_entries (${columns.join(', ')})
    SELECT ${columns.map(column => values[column] ?? column).join(', ')}
    FROM ${series(from, Math.min(from + SLICE, entries))} AS series
    CROSS JOIN (SELECT * FROM audit_entries ORDER BY id DESC LIMIT 1) AS entry`;
}

/** The rows are inserted in the order of the table, which is then written from its beginning to its end. */
function slotsOf(tag: string, from: string): string {
  return `INSERT INTO audit_slots (tag, slot, writer)
    SELECT DISTINCT ${tag}, substr(e.id, 1, 12), 0 FROM ${from} ORDER BY 1, 2 ON CONFLICT DO NOTHING`;
}

export interface Filled {
  keyIds: string[];
  /** The bare names; only key n % 20 calls tool n. */
  tools: string[];
  sessionIds: string[];
  from: number;
  to: number;
}

/** The policy that decided the entries. */
interface Decided {
  id: string;
  name: string;
}

const KEYS = 20;
const TOOLS = 100;
const PER_SESSION = 5000;

/**
 * Makes entries of twenty keys with five tools each, in sessions; one of 50 is denied, one of 10 comes over MCP. All of
 * them were decided by version 1 of one policy.
 */
export async function fillVaried(databaseUrl: string, entries: number, policy: Decided): Promise<Filled> {
  const engine = databaseUrl.startsWith('sqlite:') ? SQLITE : POSTGRES;
  const sql = new SQL(databaseUrl, { max: 1 });
  const to = Date.now() - 60_000;
  const from = to - STEP_MS * entries;
  const session = (n: string) => `'00000000-0000-7000-9000-' || ${engine.hex(n)}`;
  const keyIds = Array.from(
    { length: KEYS },
    (_, n) => `00000000-0000-7000-8000-${String(n).padStart(12, '0')}`,
  );
  const tools = Array.from({ length: TOOLS }, (_, n) => `tool_${n}`);
  const sessions = Math.ceil(entries / PER_SESSION);
  const sessionIds = Array.from(
    { length: sessions },
    (_, n) => `00000000-0000-7000-9000-${n.toString(16).padStart(12, '0')}`,
  );
  try {
    for (const statement of engine.begin) await sql.unsafe(statement);
    const contexts: string[] = [];
    for (const [n, tool] of tools.entries())
      contexts.push(await context(sql, n, keyIds[n % KEYS] as string, tool, policy));
    const time = `(${from} + ${STEP_MS} * s.n)`;
    const id = `substr(${engine.hex(time)}, 1, 8) || '-' || substr(${engine.hex(time)}, 9, 4) || '-7000-8000-' || ${engine.hex('s.n')}`;
    await sql.unsafe(
      'CREATE TEMPORARY TABLE made_up (n bigint PRIMARY KEY, context bigint, key_tag bigint, tool_tag bigint)',
    );
    await sql.unsafe(`INSERT INTO made_up VALUES ${contexts.join(', ')}`);
    await sql.unsafe(`
      INSERT INTO audit_entries (id, at, context, session_id, surface, decision, latency_ms)
      SELECT ${id}, ${time}, c.context, ${session(`(s.n / ${PER_SESSION})`)},
        CASE WHEN s.n % 10 = 7 THEN 'mcp' ELSE 'check' END, CASE WHEN s.n % 50 = 3 THEN 'deny' ELSE 'allow' END, s.n % 7
      FROM ${engine.series(0, entries)} s JOIN made_up c ON c.n = (s.n / 3) % ${TOOLS}`);
    for (const tag of ['key_tag', 'tool_tag'])
      await sql.unsafe(slotsOf(`c.${tag}`, 'audit_entries AS e JOIN made_up AS c ON c.context = e.context'));
    await sql.unsafe(slotsOf(String(decisionTag('deny')), "audit_entries AS e WHERE e.decision = 'deny'"));
    await sql.unsafe(slotsOf(String(surfaceTag('mcp')), "audit_entries AS e WHERE e.surface = 'mcp'"));
    await sql.unsafe('CREATE TEMPORARY TABLE made_up_sessions (id text PRIMARY KEY, tag bigint)');
    for (const id of sessionIds)
      await sql.unsafe(`INSERT INTO made_up_sessions VALUES ('${id}', ${sessionTag(id)})`);
    await sql.unsafe(
      slotsOf('s.tag', 'audit_entries AS e JOIN made_up_sessions AS s ON s.id = e.session_id'),
    );
    // As after an upgrade, nothing is counted yet.
    await sql.unsafe('DELETE FROM marks');
    for (const statement of engine.settle) await sql.unsafe(statement);
  } finally {
    await sql.close();
  }
  return { keyIds, tools, sessionIds, from, to };
}

/** A row for the statement above: the number of the tool, its context, and the tags. */
async function context(sql: SQL, n: number, keyId: string, tool: string, policy: Decided): Promise<string> {
  const reason = `Rule 0 of policy "${policy.name}" allows github__${tool}.`;
  const [row] = await sql.unsafe(
    `INSERT INTO audit_contexts (digest, key_id, server_name, tool_name, reason, policy_id, policy_version, rule_index)
     VALUES ('bench ${n}', '${keyId}', 'github', '${tool}', '${reason}', '${policy.id}', 1, 0) RETURNING id`,
  );
  return `(${n}, ${row.id}, ${keyTag(keyId)}, ${toolTag(tool)})`;
}

interface Engine {
  begin: string[];
  columns: string;
  hex: (expression: string) => string;
  /** The numbers from the first (inclusive) to the second (exclusive). */
  series: (from: number, to: number) => string;
  settle: string[];
}

/**
 * Marks the log as counted, as on a service that is up to date. Otherwise it would count the whole log during the
 * measurement.
 */
const COUNTED = `INSERT INTO marks (name, at)
  SELECT name, max(at) / 60000 * 60000 FROM audit_entries
    CROSS JOIN (SELECT 'rolled up' AS name UNION ALL SELECT 'contexts counted to') AS counted
  GROUP BY name
  ON CONFLICT (name) DO UPDATE SET at = excluded.at`;

/** Marks the log as sealed, as on a service that is up to date. */
const SEALED = `UPDATE sealing SET newest_id = (SELECT max(id) FROM audit_entries),
  recent_id = (SELECT max(id) FROM audit_entries), full_after = 9000000000000000`;

const SQLITE: Engine = {
  begin: ['PRAGMA cache_size = -200000', 'PRAGMA synchronous = OFF'],
  columns: `SELECT name FROM pragma_table_info('audit_entries')`,
  series: (from, to) =>
    `(WITH RECURSIVE r (n) AS (SELECT ${from} UNION ALL SELECT n + 1 FROM r WHERE n < ${to - 1}) SELECT n FROM r)`,
  hex: (expression: string) => `printf('%012x', ${expression})`,
  settle: [SEALED, 'PRAGMA wal_checkpoint(TRUNCATE)'],
};

/** `settle` does the housekeeping for the new entries before the measurement, so that it does not happen during it. */
const POSTGRES: Engine = {
  begin: ['SET synchronous_commit = off', "SET maintenance_work_mem = '256MB'"],
  columns: `SELECT column_name AS name FROM information_schema.columns WHERE table_name = 'audit_entries'`,
  series: (from, to) => `(SELECT CAST(n AS bigint) AS n FROM generate_series(${from}, ${to - 1}) AS n)`,
  hex: (expression: string) => `lpad(to_hex(${expression}), 12, '0')`,
  settle: [SEALED, 'VACUUM ANALYZE audit_entries', 'VACUUM ANALYZE audit_slots', 'CHECKPOINT'],
};
