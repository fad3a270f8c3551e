// The check of the clock: against the clock of the database server, which all replicas share, against the times that the
// store has recorded, and against a clock that nobody can set. Expired credentials would live again on a clock that is
// behind, and good ones would expire on one that is ahead.

import { embeddedPath } from '../settings/config.ts';
import type { Queries } from '../store/engine/db.ts';
import { versionOfAny } from '../store/engine/migrate.ts';
import { readServerFacts } from '../store/engine/postgres-server.ts';
import { newestTime } from '../store/log/newest-time.ts';
import { bad, type Examination, type Found, good, warning } from './examine.ts';
import { type Examined, withStore } from './examined.ts';

/** Synchronised machines differ by some milliseconds; the rest is the time that the answer takes. */
const DIFFERS_MS = 1000;
/** The signatures of sign-ins and single sign-on tolerate half a minute. */
const DIFFERS_BADLY_MS = 30_000;
const SYNC = 'Let the machine synchronise its time (chrony, systemd-timesyncd).';

export function clockCheck(examined: Examined): Examination {
  const name = 'clock';
  return {
    name,
    run: async () => {
      const jumped = Date.now() - (performance.timeOrigin + performance.now());
      const found = await withStore(examined, async db =>
        embeddedPath(examined.config) === null ? [await againstServer(name, db)] : againstLog(name, db),
      );
      const worst = found.find(each => each.state !== 'good');
      if (worst !== undefined) return [worst];
      if (Math.abs(jumped) > DIFFERS_MS)
        return [warning(name, `The clock was set by ${seconds(jumped)} since this process started. ${SYNC}`)];
      return found.length > 0 ? found : [good(name, 'The clock was not set since this process started.')];
    },
  };
}

/** The server read its clock at some moment of the round trip, so only what lies outside of it counts as a difference. */
async function againstServer(name: string, db: Queries): Promise<Found> {
  const before = Date.now();
  const { at } = await readServerFacts(db);
  const after = Date.now();
  const ahead = at < before ? before - at : at > after ? after - at : 0;
  if (Math.abs(ahead) <= DIFFERS_MS)
    return good(name, `This machine and the database agree within ${after - before + Math.abs(ahead)} ms.`);
  const what = `The clock of this machine is ${seconds(Math.abs(ahead))} ${ahead > 0 ? 'ahead of' : 'behind'} the database’s`;
  const found = `${what}: sessions, links and keys would end at another time than they should. ${SYNC}`;
  return Math.abs(ahead) > DIFFERS_BADLY_MS ? bad(name, found) : warning(name, found);
}

async function againstLog(name: string, db: Queries): Promise<Found[]> {
  if ((await versionOfAny(db)) === 0) return [];
  const newest = await newestTime(db);
  if (newest === null || newest <= Date.now() + DIFFERS_MS)
    return [good(name, 'The clock is not behind anything that the store has recorded.')];
  const behind = newest - Date.now();
  const what = `The clock is ${seconds(behind)} behind the newest entry of the store: what had expired since could be used again. ${SYNC}`;
  return [behind > DIFFERS_BADLY_MS ? bad(name, what) : warning(name, what)];
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
