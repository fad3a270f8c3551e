// Signs in to the servers of Connected Tools that want OAuth, for a key or for each person, and keeps the tokens. Code
// outside this folder uses this class: the proxy asks it for the header of a request, and the HTTP routes begin and
// finish sign-ins with it. It gives out no token except in that header.

import type * as OAuth from 'oauth4webapi';
import { findKey } from '../../store/keys.ts';
import {
  findServerSignIn,
  findServerTicket,
  insertServerTicket,
  noteWanted,
  removeServerSignIn,
  type ServerSignIn,
} from '../../store/server-sign-ins.ts';
import type { ToolSource } from '../../store/tool-servers.ts';
import type { Actor, Deps } from '../deps.ts';
import type { TargetRules } from '../outgoing/addresses.ts';
import { hashToken } from '../secrets.ts';
import { decryptOAuth } from '../tool-servers/source-secrets.ts';
import { findSource } from '../tool-servers/sources.ts';
import { listedScopes, readChallenge } from './challenge.ts';
import { type Addresses, clientMetadata } from './clients.ts';
import { decryptTokens, type Kept, KeptTokens, SIGN_IN_AGAIN } from './kept-tokens.ts';
import { Requests } from './requests.ts';
import { SignInNeeded } from './sign-in-needed.ts';
import { revokeTokens } from './tokens.ts';
import { recordSignIn, tellSignIn } from './told.ts';
import { type Beginner, type RequireOwner, type Returned, Visits, type Way } from './visits.ts';

export { SignInNeeded };

/** A ticket is valid for one to two of these times. */
const TICKET_MS = 60 * 60_000;
/** A token that the server refuses so soon after it was given is not refreshed: that would go on without end. */
const FRESH_MS = 60_000;
/** How often in a row a server may ask for scopes that it was asked for at the last sign-in. */
const MAX_STEP_UPS = 1;
const MAX_SCOPE_CHARS = 4096;

export interface ServerSignInState {
  state: 'signed_in' | 'needed' | 'ended';
  /** The account at the server, as the server names it. */
  as: string | null;
  /** When the access token ends, if it cannot be renewed. */
  until: number | null;
  error: string | null;
}

export class ServerSignIns {
  readonly #deps: Deps;
  readonly #requests: Requests;
  readonly #kept: KeptTokens;
  readonly #visits: Visits;
  #address = '';

  /** `from`: which addresses are allowed, or another one whose requests and tokens it shares. */
  constructor(deps: Deps, from: TargetRules | ServerSignIns) {
    const shares = from instanceof ServerSignIns;
    this.#deps = deps;
    this.#requests = shares ? from.#requests : new Requests(from);
    this.#kept = shares ? from.#kept : new KeptTokens(deps, this.#requests, library);
    this.#visits = new Visits(deps, this.#requests, library);
  }

  /** The same for what one operator does, with the Deps that they act with. */
  with(deps: Deps): ServerSignIns {
    const theirs = new ServerSignIns(deps, this);
    theirs.#address = this.#address;
    return theirs;
  }

  /** Sets the address under which people and servers reach this service. It is never taken from a request. */
  servedAt(address: string): void {
    this.#address = address;
  }

  /** Waits for what must not be interrupted. */
  settle(): Promise<void> {
    return this.#kept.settle();
  }

  get address(): string {
    return this.#address;
  }

  /** The header with which a request goes to the server. It throws SignInNeeded if there is no sign-in that holds. */
  async authorization(tool: ToolSource, personId: string | null): Promise<string> {
    const { tokens } = await this.#kept.current(tool, ownerOf(tool, personId));
    return `Bearer ${tokens.access}`;
  }

  /**
   * What to do after the server has refused a header: try once more, because there is another one now; sign in again, or
   * with more scopes; or give up, because no sign-in would help.
   */
  async refused(
    tool: ToolSource,
    personId: string | null,
    header: string,
    { status, wwwAuthenticate }: { status: 401 | 403; wwwAuthenticate: string | null },
  ): Promise<'again' | 'sign-in' | 'refused'> {
    const kept = await this.#kept.find(tool.sourceId, ownerOf(tool, personId));
    if (kept === null) return 'sign-in';
    const { row, tokens } = kept;
    if (`Bearer ${tokens.access}` !== header) return 'again';
    if (status === 403) return this.#stepUp(tool, kept, wwwAuthenticate);
    if (tokens.refresh === null || this.#deps.now() < freshUntil(kept)) {
      await this.#kept.end(tool, row, SIGN_IN_AGAIN.declined);
      return 'sign-in';
    }
    if (row.refreshing === 0) {
      try {
        await this.#kept.refresh(tool, kept);
      } catch (error) {
        if (error instanceof SignInNeeded) return 'sign-in';
        throw error;
      }
    }
    return (await this.#kept.isReplaced(kept)) ? 'again' : 'sign-in';
  }

  /** The sign-in goes on for all other calls. The next one asks for the scopes in addition. */
  async #stepUp(
    tool: ToolSource,
    { row }: Kept,
    wwwAuthenticate: string | null,
  ): Promise<'sign-in' | 'refused'> {
    const { error, scopes: asked } = readChallenge(wwwAuthenticate);
    if (error !== 'insufficient_scope' || asked === null) return 'refused';
    // What an admin entered is all that may be asked for.
    if (decryptOAuth(this.#deps.vault, tool).scopes !== undefined) return 'refused';
    const known = [...listedScopes(row.scopes), ...listedScopes(row.wanted)];
    const isNew = asked.some(each => !known.includes(each));
    const stepUps = isNew ? 0 : row.stepUps + 1;
    if (stepUps > MAX_STEP_UPS) return 'refused';
    const wanted = [...new Set([...known, ...asked])].join(' ');
    if (wanted.length > MAX_SCOPE_CHARS) return 'refused';
    await noteWanted(this.#deps.db, row, wanted, stepUps);
    return 'sign-in';
  }

  async stateOf(tool: ToolSource, personId: string | null): Promise<ServerSignInState> {
    return this.stateIn(await findServerSignIn(this.#deps.db, tool.sourceId, ownerOf(tool, personId)));
  }

  /** The state that a row shows. */
  stateIn(row: ServerSignIn | null): ServerSignInState {
    if (row === null) return { state: 'needed', as: null, until: null, error: null };
    const ended = (error: string): ServerSignInState => ({
      state: 'ended',
      as: row.account,
      until: null,
      error,
    });
    const tokens = decryptTokens(this.#deps, row);
    if (tokens === null) return ended(row.endedBecause ?? SIGN_IN_AGAIN.ended);
    const now = this.#deps.now();
    const lost = row.refreshing === 1 && now >= row.leasedUntil;
    const goesOn = tokens.refresh !== null && !lost;
    if (!goesOn && row.expiresAt !== null && now >= row.expiresAt)
      return ended(lost ? SIGN_IN_AGAIN.interrupted : SIGN_IN_AGAIN.ended);
    return { state: 'signed_in', as: row.account, until: goesOn ? null : row.expiresAt, error: null };
  }

  /** Where a sign-in would lead, for the page from which the person leaves. */
  async look(tool: ToolSource, personId: string | null): Promise<Way> {
    return this.#visits.look(tool, ownerOf(tool, personId));
  }

  /**
   * `url` is the server's page to send the person to, and `browser` is for their cookie. Null if the server says something
   * else now than it did for the page that the person has seen.
   */
  async begin(
    tool: ToolSource,
    personId: string | null,
    by: Beginner,
  ): Promise<{ url: string; browser: string } | null> {
    return this.#visits.begin(tool, ownerOf(tool, personId), this.addressesFor(tool.sourceId), by);
  }

  /**
   * Takes a visit that came back to its callback, once, in the browser that began it. `toolId` is the one in the callback's
   * path; null for the callback that all tools had in common, to which visits lead that a replica of the version before
   * began.
   */
  finish(
    { toolId, ...returned }: Omit<Returned, 'redirectUri'> & { toolId: string | null },
    requireOwner: RequireOwner,
  ): Promise<{ tool: ToolSource; personId: string | null }> {
    const redirectUri =
      toolId === null ? `${this.#address}/oauth/callback` : this.addressesFor(toolId).redirectUri;
    return this.#visits.finish({ ...returned, redirectUri }, requireOwner);
  }

  /** Signs out: forgets the tokens, and revokes them at the server as far as it lets us. */
  async disconnect(actor: Actor, tool: ToolSource, personId: string | null): Promise<void> {
    const deps = this.#deps;
    const row = await deps.db.transaction({}, async tx => {
      const removed = await removeServerSignIn(tx, tool.sourceId, ownerOf(tool, personId));
      if (removed !== null) await recordSignIn(tx, deps, actor, 'sign-out', tool);
      return removed;
    });
    tellSignIn(deps.db, tool, ownerOf(tool, personId));
    const tokens = row === null ? null : decryptTokens(deps, row);
    if (tokens === null) return;
    // Signed out is signed out, whatever the server says.
    await revokeTokens(await library(), this.#requests.step(), tokens).catch(() => {});
  }

  /** The address of a page on which this person, or for a key an admin, can sign in to the server. */
  async ticket(tool: ToolSource, personId: string | null): Promise<string> {
    const now = this.#deps.now();
    const owner = ownerOf(tool, personId);
    // Within the hour it is the same one: a caller that repeats its call must not fill the store with tickets.
    const hour = Math.floor(now / TICKET_MS);
    const secret = this.#deps.vault.oauthMac('server ticket', `${tool.sourceId} ${owner} ${hour}`);
    const expiresAt = (hour + 2) * TICKET_MS;
    const ticket = { hash: hashToken(secret), toolId: tool.sourceId, personId: owner, expiresAt };
    await this.#deps.db.transaction({}, tx => insertServerTicket(tx, ticket, now));
    return `${this.#address}/oauth/connect/${secret}`;
  }

  /**
   * What a ticket is for; null if it is unknown or too old. `personId` is null for a sign-in that is not a person's own, and
   * `keyName` for a server that keys share.
   */
  async ticketFor(
    secret: string,
  ): Promise<{ tool: ToolSource; keyName: string | null; personId: string | null } | null> {
    const { db, now } = this.#deps;
    const ticket = await findServerTicket(db, hashToken(secret), now());
    const tool = ticket === null ? null : await findSource(db, ticket.toolId);
    if (ticket === null || tool === null || tool.oauthAs === null) return null;
    // The tool was changed since: the ticket was for another kind of sign-in.
    if ((tool.oauthAs === 'key') !== (ticket.personId === '')) return null;
    const personId = ticket.personId === '' ? null : ticket.personId;
    if (tool.keyId === null) return { tool, keyName: null, personId };
    const key = await findKey(db, tool.keyId);
    return key === null ? null : { tool, keyName: key.name, personId };
  }

  addressesFor(toolId: string): Addresses {
    return {
      // Each tool has its own, so that a code that was given for one is never taken for another's.
      redirectUri: `${this.#address}/oauth/callback/${toolId}`,
      document: `${this.#address}/oauth/clients/${toolId}.json`,
    };
  }

  /** The document by which authorization servers know us as the client of this tool. */
  documentFor(toolId: string): Record<string, unknown> {
    const { redirectUri, document } = this.addressesFor(toolId);
    return { client_id: document, ...clientMetadata(redirectUri), token_endpoint_auth_method: 'none' };
  }
}

/** The library is loaded when it is first needed, because most installations sign in to no server. */
const library = (): Promise<typeof OAuth> => import('oauth4webapi');

/** Tokens that live only shortly may end a little earlier than we think, because servers count in seconds. */
function freshUntil({ row, tokens }: Kept): number {
  const lifetime = (row.expiresAt ?? Number.POSITIVE_INFINITY) - tokens.obtainedAt;
  return tokens.obtainedAt + Math.min(FRESH_MS, lifetime / 2);
}

/** Whose sign-in a call uses: empty for the key's own. */
function ownerOf(tool: ToolSource, personId: string | null): string {
  if (tool.oauthAs === 'key') return '';
  if (tool.oauthAs === 'person' && personId !== null) return personId;
  throw new SignInNeeded(tool, null);
}
