// The check of versions: of the program, its runtime and the database server.

import { embeddedPath } from '../settings/config.ts';
import { readServerFacts } from '../store/engine/postgres-server.ts';
import { type Examination, good, warning } from './examine.ts';
import { type Examined, withStore } from './examined.ts';

/** Older servers get no fixes any more. */
const OLDEST_POSTGRES = 14;

export function versionsCheck(examined: Examined): Examination {
  const name = 'versions';
  return {
    name,
    run: async () => {
      const own = `Toolgate ${examined.version} on Bun ${Bun.version}`;
      if (embeddedPath(examined.config) !== null) return [good(name, `${own}, with SQLite.`)];
      const [server] = await withStore(examined, async db => [await readServerFacts(db)]);
      if (server === undefined) return [good(name, `${own}.`)];
      const all = `${own}, with PostgreSQL ${server.version}`;
      if (server.versionNumber >= OLDEST_POSTGRES * 10_000) return [good(name, `${all}.`)];
      return [
        warning(
          name,
          `${all}, which gets no fixes any more: upgrade the server to ${OLDEST_POSTGRES} or newer.`,
        ),
      ];
    },
  };
}
