// Where a person goes on after signing in. The path stays here, on the server, and the browser carries only a
// name for it: so no link can send anybody elsewhere, and an approval's token is in no address bar meanwhile.

import { insertReturnTarget, removeOldReturnTargets, takeReturnTarget } from '../../store/sign-ins.ts';
import type { Deps } from '../deps.ts';
import { hashToken } from '../secrets.ts';
import { newSecret } from './sign-ins.ts';

const LIFETIME_MS = 15 * 60_000;

const about = (hash: string): string => `return target ${hash}`;

/** Keeps a path of ours for a while; answers the name under which it can be taken, once. */
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
  return encrypted === null ? null : deps.vault.decrypt(encrypted, about(hash));
}
