// How much of an address each operator sees. Its path or query, or a user name in it, may be a secret (those of Slack's
// webhooks are in the path), so only admins see more than the server.

import type { Who } from './route.ts';

/** Whether somebody sees addresses as they were entered. */
export function seesAll({ who }: { who: Who }): boolean {
  return who.kind === 'operator' && (who.signedIn === null || who.signedIn.role === 'admin');
}

export function withoutSecrets(address: string): string {
  const { origin, pathname, search } = new URL(address);
  return pathname === '/' && search === '' ? origin : `${origin}/…`;
}
