// Tickets by which a client on another machine is connected: each is good for one key, for 15 minutes. Of the ticket only
// a hash is kept, and what it is good for is encrypted. Whoever made it must still be allowed to make keys when it is used.

import { GuardError } from '../../core/errors.ts';
import {
  findReturnTarget,
  insertReturnTarget,
  removeOldReturnTargets,
  takeReturnTarget,
} from '../../store/sign-ins.ts';
import { recordChange } from '../changes.ts';
import type { Actor, Deps } from '../deps.ts';
import { addKey, requirePolicy } from '../keys.ts';
import { POLICIES_LOCK } from '../locks.ts';
import { hashToken, mintToken, tokenKind } from '../secrets.ts';
import { actingAs } from './acting.ts';

export const TICKET_MINUTES = 15;

export interface Ticket {
  client: string;
  policyId: string;
  actor: Actor;
  /** The sign-in of an operator; null for the admin token. */
  signInId: string | null;
}

const about = (hash: string): string => `connect ticket ${hash}`;

export async function makeTicket(deps: Deps, ticket: Ticket): Promise<{ token: string; expiresAt: number }> {
  const { token, hash } = mintToken('connect');
  return deps.db.transaction({ shared: [POLICIES_LOCK] }, async tx => {
    const now = deps.now();
    const { actor, client, policyId } = ticket;
    await requirePolicy(tx, policyId);
    await removeOldReturnTargets(tx, now);
    const expiresAt = now + TICKET_MINUTES * 60_000;
    const targetEncrypted = deps.vault.encrypt(JSON.stringify(ticket), about(hash));
    await insertReturnTarget(tx, { hash, targetEncrypted, expiresAt });
    await recordChange(tx, deps, actor, 'connect.ticket', policyId, { client });
    return { token, expiresAt };
  });
}

/** What the ticket is good for. It can be used afterwards. */
export async function readTicket(deps: Deps, token: string): Promise<Ticket> {
  const hash = requireHash(token);
  return opened(deps, hash, await findReturnTarget(deps.db, hash, deps.now()));
}

/** The key that the ticket is good for, on a machine of this name. If it cannot be made, the ticket stays good. */
export async function useTicket(
  deps: Deps,
  token: string,
  nameFor: (client: string) => string,
): Promise<string> {
  const hash = requireHash(token);
  const { signInId } = await readTicket(deps, token);
  const acting = signInId === null ? deps : actingAs(deps, { signInId }, 'admin');
  return acting.db.transaction({ shared: [POLICIES_LOCK] }, async tx => {
    const ticket = opened(deps, hash, await takeReturnTarget(tx, hash, deps.now()));
    const { client, policyId, actor } = ticket;
    const plain = { requireSignInToApprove: false, expiresAt: null, notify: null, forward: [] };
    return (await addKey(tx, deps, actor, { name: nameFor(client), policyId, ...plain })).token;
  });
}

function requireHash(token: string): string {
  // The same table has other one-time names, which are no tickets.
  if (tokenKind(token) !== 'connect') throw ticketGone();
  return hashToken(token);
}

function opened(deps: Deps, hash: string, encrypted: string | null): Ticket {
  if (encrypted === null) throw ticketGone();
  return JSON.parse(deps.vault.decrypt(encrypted, about(hash))) as Ticket;
}

function ticketGone(): GuardError {
  const again = 'Make another one: toolgate connect <client> --for-other-machine.';
  return new GuardError(
    'gone',
    `This ticket is unknown, was used, or is older than ${TICKET_MINUTES} minutes. ${again}`,
  );
}
