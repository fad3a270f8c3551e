// Facts about the PostgreSQL server itself, for those who look after it. This only reads.

import type { Queries } from './db.ts';

export interface ServerFacts {
  /** Such as 16.2. */
  version: string;
  /** Such as 160002. */
  versionNumber: number;
  /** The names of settings that let a committed entry be lost. */
  lossy: string[];
  isStandby: boolean;
  maxConnections: number;
  usedConnections: number;
  /** The server's clock, in milliseconds. */
  at: number;
}

/** The defaults of new connections count, because behind a pooling proxy our own SET may not reach a connection. */
export async function readServerFacts(db: Queries): Promise<ServerFacts> {
  const [row] = await db.all<Record<string, string | number>>(
    `SELECT current_setting('server_version') AS version,
       CAST(current_setting('server_version_num') AS integer) AS number,
       COALESCE((SELECT string_agg(name, ',' ORDER BY name) FROM pg_settings
         WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit') AND reset_val = 'off'), '') AS lossy,
       CASE WHEN pg_is_in_recovery() THEN 1 ELSE 0 END AS standby,
       CAST(current_setting('max_connections') AS integer)
         - CAST(current_setting('superuser_reserved_connections') AS integer) AS most,
       (SELECT CAST(count(*) AS integer) FROM pg_stat_activity WHERE backend_type = 'client backend') AS used,
       CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS bigint) AS at`,
  );
  const { version, number, lossy, standby, most, used, at } = row ?? {};
  return {
    version: String(version).split(' ')[0] ?? '',
    versionNumber: Number(number),
    lossy: String(lossy).split(',').filter(Boolean),
    isStandby: standby === 1,
    maxConnections: Number(most),
    usedConnections: Number(used),
    at: Number(at),
  };
}
