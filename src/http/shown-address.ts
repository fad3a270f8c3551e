// How much of an address each operator sees. Its query, or a user name in it, may be a secret, so only admins see those.

import type { Who } from './route.ts';

/** Whether somebody sees addresses as they were entered. */
export function seesAll({ who }: { who: Who }): boolean {
  return who.kind === 'operator' && (who.signedIn === null || who.signedIn.role === 'admin');
}

export function withoutSecrets(address: string): string {
  const { origin, pathname } = new URL(address);
  return origin + pathname;
}
