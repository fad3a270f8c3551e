// The checks of the two secrets of the service: that the master key is there and belongs to the store, and that the
// admin token can be had. Neither is made here.

import { statSync } from 'node:fs';
import { storedFingerprint } from '../guard/first-start.ts';
import { adminTokenPath, masterKeyPath } from '../process/data-dir.ts';
import { versionOfAny } from '../store/engine/migrate.ts';
import { bad, codeOf, type Examination, type Found, good } from './examine.ts';
import { type Examined, isMissing, withStore } from './examined.ts';

export function secretsChecks(examined: Examined): Examination[] {
  return [
    { name: 'master key', run: () => orHidden('master key', () => masterKeyFound(examined)) },
    { name: 'admin token', run: () => orHidden('admin token', async () => [adminTokenFound(examined)]) },
  ];
}

/** Files that this user may not see are neither missing nor there. */
async function orHidden(name: string, look: () => Promise<Found[]>): Promise<Found[]> {
  try {
    return await look();
  } catch (error) {
    return [bad(name, `It cannot be looked at${codeOf(error)}: run this as the user of the service.`)];
  }
}

async function masterKeyFound(examined: Examined): Promise<Found[]> {
  const name = 'master key';
  const { config } = examined;
  const from = config.masterKey === null ? masterKeyPath(config.dataDir) : 'TOOLGATE_MASTER_KEY';
  const vault = examined.vault();
  const known = (
    await withStore(examined, async db => [(await versionOfAny(db)) > 0 ? await storedFingerprint(db) : null])
  )[0];
  const isNew = known === undefined || known === null;
  if (vault === null && isNew && isMissing(from))
    return [good(name, 'There is none yet: the first start makes it.')];
  if (vault === null)
    return [
      bad(
        name,
        `It cannot be read from ${from}: put the file back from where you keep it, or set TOOLGATE_MASTER_KEY to what it holds. Without it, nothing that is encrypted in the store can be read.`,
      ),
    ];
  if (!isNew && known !== vault.fingerprint)
    return [
      bad(
        name,
        `The one from ${from} is not the one this store was made with: put the right one there; every replica needs the same.`,
      ),
    ];
  return [good(name, isNew ? `It is in ${from}.` : `The one from ${from} belongs to this store.`)];
}

function adminTokenFound({ config }: Examined): Found {
  const name = 'admin token';
  if (config.adminToken !== null) return good(name, 'TOOLGATE_ADMIN_TOKEN is set.');
  const path = adminTokenPath(config.dataDir);
  if (isMissing(path)) return good(name, 'There is none yet: the first start makes it.');
  if (statSync(path).size > 1) return good(name, `It is in ${path}.`);
  return bad(name, `${path} is empty: restore it, or remove the file, and the next start makes a new one.`);
}
