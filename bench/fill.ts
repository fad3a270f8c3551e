// Makes a long audit log in seconds: multiplies the one real entry that is in the store, straight in the
// database and while the service is stopped. Only `id` and `at` differ from entry to entry; whatever
// other columns the table has are copied, so that new ones need nothing here.

import { SQL } from 'bun';

/** Close enough for a million entries to fall within a day, and so within any time of keeping. */
const STEP_MS = 80;

export async function fillAudit(databaseUrl: string, entries: number): Promise<void> {
  const engine = databaseUrl.startsWith('sqlite:') ? SQLITE : POSTGRES;
  const sql = new SQL(databaseUrl, { max: 1 });
  try {
    const columns: { name: string }[] = await sql.unsafe(engine.columns);
    await sql.unsafe(
      multiply(
        columns.map(column => column.name),
        entries,
        engine.hex,
      ),
    );
    for (const statement of engine.settle) await sql.unsafe(statement);
  } finally {
    await sql.close();
  }
}

/** Ids are UUIDs of version 7, so their first 12 hexadecimal digits are the time. */
function multiply(columns: string[], entries: number, hex: (expression: string) => string): string {
  const time = `(at - ${STEP_MS} * (${entries} - n) - ${STEP_MS})`;
  const digits = hex(time);
  const values: Record<string, string> = {
    id: `substr(${digits}, 1, 8) || '-' || substr(${digits}, 9, 4) || '-7000-8000-' || ${hex('n')}`,
    at: time,
  };
  return `
    WITH RECURSIVE series (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM series WHERE n < ${entries})
    INSERT INTO audit_entries (${columns.join(', ')})
    SELECT ${columns.map(column => values[column] ?? column).join(', ')}
    FROM series CROSS JOIN (SELECT * FROM audit_entries ORDER BY id DESC LIMIT 1) AS entry`;
}

const SQLITE = {
  columns: `SELECT name FROM pragma_table_info('audit_entries')`,
  hex: (expression: string) => `printf('%012x', ${expression})`,
  settle: ['PRAGMA wal_checkpoint(TRUNCATE)'],
};

/** Settled means that the housekeeping for the new entries is done before the measurement, not during. */
const POSTGRES = {
  columns: `SELECT column_name AS name FROM information_schema.columns WHERE table_name = 'audit_entries'`,
  hex: (expression: string) => `lpad(to_hex(${expression}), 12, '0')`,
  settle: ['VACUUM ANALYZE audit_entries', 'CHECKPOINT'],
};
