// The page that a person returns to after signing in. The path is kept on the server, and the browser has only a random
// name for it, so that the token of an approval does not appear in the address bar. A path that would lead to another site
// is not given out.

import { insertReturnTarget, removeOldReturnTargets, takeReturnTarget } from '../../store/sign-ins.ts';
import type { Deps } from '../deps.ts';
import { hashToken } from '../secrets.ts';
import { newSecret } from './sign-ins.ts';

const LIFETIME_MS = 15 * 60_000;
/** Stands for the address of the service, which a path does not depend on. */
const OWN = 'https://toolgate.invalid';

const about = (hash: string): string => `return target ${hash}`;

/** Keeps a path of this service for a while, and returns the name under which it can be taken once. */
export async function keepReturnPath(deps: Deps, path: string): Promise<string> {
  const name = newSecret();
  const hash = hashToken(name);
  await deps.db.transaction({}, async tx => {
    const now = deps.now();
    await removeOldReturnTargets(tx, now);
    const targetEncrypted = deps.vault.encrypt(path, about(hash));
    await insertReturnTarget(tx, { hash, targetEncrypted, expiresAt: now + LIFETIME_MS });
  });
  return name;
}

export async function takeReturnPath(deps: Deps, name: string): Promise<string | null> {
  const hash = hashToken(name);
  const encrypted = await deps.db.transaction({}, tx => takeReturnTarget(tx, hash, deps.now()));
  const path = encrypted === null ? '' : deps.vault.decrypt(encrypted, about(hash));
  return isOwnPath(path) ? path : null;
}

/**
 * Whether a browser that is sent to this path stays on this service. A path with two slashes at its beginning names another
 * host, and browsers read backslashes as slashes and skip tabs. So it is resolved as browsers do.
 */
export function isOwnPath(path: string): boolean {
  if (!path.startsWith('/') || !URL.canParse(path, OWN)) return false;
  return new URL(path, OWN).origin === OWN;
}
