// Sign-ins to a server that are under way in somebody's browser: how one begins, and what is kept when the server has sent
// the person back. In between, all that is known about it is stored, encrypted.

import type * as OAuth from 'oauth4webapi';
import { isOpenTo } from '../../core/approvals/open-to.ts';
import { GuardError } from '../../core/errors.ts';
import { pinAuthorizationServer } from '../../store/connected-tools.ts';
import type { Queries, Transaction } from '../../store/engine/db.ts';
import { findKey } from '../../store/keys.ts';
import { openKeysWith, personFacts } from '../../store/people.ts';
import {
  findServerSignIn,
  insertServerVisit,
  putServerSignIn,
  type ServerSignIn,
  takeServerVisit,
} from '../../store/server-sign-ins.ts';
import type { ToolSource } from '../../store/tool-servers.ts';
import { keyLives } from '../credentials.ts';
import type { Actor, Deps } from '../deps.ts';
import { PEOPLE_LOCK } from '../locks.ts';
import { hashToken } from '../secrets.ts';
import { noSuchTool } from '../tool-servers/connected-tools.ts';
import { decryptHeaders, decryptOAuth } from '../tool-servers/source-secrets.ts';
import { changeSource } from '../tool-servers/sources.ts';
import { chosenScopes } from './challenge.ts';
import { type Addresses, clientFor, forgetClient } from './clients.ts';
import { type Discovered, discover } from './discovery.ts';
import { changeOf, pinOf, requirePinned } from './endpoints.ts';
import { encryptTokens, tokensOf } from './kept-tokens.ts';
import { reachable } from './reachable.ts';
import type { Requests, Step } from './requests.ts';
import { type Exchange, exchangeCode, isUnknownClient, type Tokens } from './tokens.ts';
import { recordSignIn, tellSignIn } from './told.ts';

/** How long a person may take at the server. */
export const VISIT_MS = 10 * 60_000;

/**
 * Throws unless whoever is signed in here may sign in for this person, or for the key (null). It is asked when a visit
 * comes back, because somebody else may use the browser by now, and again when its tokens are kept.
 */
export type RequireOwner = (personId: string | null, db: Queries) => void | Promise<void>;

/** Who begins a sign-in. */
export interface Beginner {
  actor: Actor;
  /** The value of the browser's cookie, if it has one. */
  browser: string | null;
  /** What the page from which they leave has shown them (`Way.shown`); null if it is not known. */
  shown: string | null;
}

/** Where a sign-in leads and what it asks for, for the page from which people leave. */
export interface Way {
  issuer: string;
  /** The page to which the person is sent, without its query. */
  page: string;
  scopes: string[] | null;
  /** What has changed since the first sign-in, which an admin accepts by going there; null if nothing has. */
  change: string | null;
  /** A text that stands for all of these fields: the sign-in begins only if it is still the same. */
  shown: string;
}

/** An answer that came to a callback. */
export interface Returned {
  /** The address to which it came, without its query. */
  redirectUri: string;
  answer: URLSearchParams;
  /** The value of the browser's cookie. */
  browser: string | null;
}

interface Visit extends Omit<Exchange, 'state'> {
  toolId: string;
  target: string;
  /** Null for a tool server that keys share. */
  keyId: string | null;
  personId: string;
  /** The id of the client that an admin entered. */
  enteredClient: string | null;
  /** The authorization server that was known when it began. */
  known?: string | null;
  scopes: string[] | null;
  actor: Actor;
}

const aboutVisit = (hash: string): string => `server visit ${hash}`;

export class Visits {
  readonly #deps: Deps;
  readonly #requests: Requests;
  readonly #library: () => Promise<typeof OAuth>;

  constructor(deps: Deps, requests: Requests, library: () => Promise<typeof OAuth>) {
    this.#deps = deps;
    this.#requests = requests;
    this.#library = library;
  }

  /** Asks the server where a sign-in would lead, and for what. */
  async look(tool: ToolSource, owner: string): Promise<Way> {
    return (await reachable(() => this.#look(this.#requests.step(), tool, owner))).way;
  }

  async #look(
    step: Step,
    tool: ToolSource,
    owner: string,
  ): Promise<Pick<Discovered, 'server' | 'resource'> & { way: Way }> {
    const { scopes: entered, trustedHosts = [] } = decryptOAuth(this.#deps.vault, tool);
    const headers = decryptHeaders(this.#deps.vault, tool);
    const found = await discover(await this.#library(), step, tool, headers, trustedHosts);
    const { server, resource } = found;
    // Only an admin signs in for a key, and their page says what has changed.
    if (owner !== '') requirePinned(tool, server);
    const row = await findServerSignIn(this.#deps.db, tool.sourceId, owner);
    const scopes = entered ?? chosenScopes(found.scopes, moreFor(row), server.scopes_supported);
    const { origin, pathname } = new URL(server.authorization_endpoint);
    const page = origin + pathname;
    const shown = hashToken(JSON.stringify([tool.target, tool.authorizationServer, pinOf(server), scopes]));
    const change = changeOf(tool, server);
    return { server, resource, way: { issuer: server.issuer, page, scopes, change, shown } };
  }

  /**
   * `url` is the server's page to send the person to, and `browser` is for their cookie. Null if the server says something
   * else now than it did for the page that the person has seen.
   */
  async begin(
    tool: ToolSource,
    owner: string,
    addresses: Addresses,
    { actor, browser: had, shown }: Beginner,
  ): Promise<{ url: string; browser: string } | null> {
    const settings = decryptOAuth(this.#deps.vault, tool);
    const oauth = await this.#library();
    const step = this.#requests.step();
    const { server, resource, way } = await reachable(() => this.#look(step, tool, owner));
    if (shown !== null && way.shown !== shown) return null;
    const client = await reachable(() =>
      clientFor(this.#deps, oauth, step, tool, settings, server, addresses),
    );
    const { scopes } = way;
    const [state, verifier] = [oauth.generateRandomState(), oauth.generateRandomCodeVerifier()];
    const browser = had !== null && /^[\w-]{43}$/.test(had) ? had : oauth.generateRandomState();
    const { redirectUri } = addresses;
    const visit: Visit = {
      toolId: tool.sourceId,
      target: tool.target,
      keyId: tool.toolServerId === null ? tool.keyId : null,
      personId: owner,
      enteredClient: settings.clientId ?? null,
      known: tool.authorizationServer,
      server,
      client,
      resource,
      redirectUri,
      verifier,
      scopes,
      actor,
    };
    const hash = hashToken(state);
    await this.#deps.db.transaction({}, async tx => {
      const now = this.#deps.now();
      const stateEncrypted = this.#deps.vault.encrypt(JSON.stringify(visit), aboutVisit(hash));
      const browserHash = hashToken(browser);
      const expiresAt = now + VISIT_MS;
      const kept = { hash, browserHash, toolId: tool.sourceId, personId: owner, stateEncrypted, expiresAt };
      await insertServerVisit(tx, kept, now);
    });
    const url = new URL(server.authorization_endpoint);
    const parameters = {
      response_type: 'code',
      client_id: client.id,
      redirect_uri: redirectUri,
      state,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      resource,
      ...(scopes !== null && scopes.length > 0 && { scope: scopes.join(' ') }),
      // OpenID Connect gives a refresh token only with consent.
      ...(scopes?.includes('offline_access') && { prompt: 'consent' }),
    };
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
    return { url: url.href, browser };
  }

  async #take(state: string, browser: string | null): Promise<Visit> {
    const { db, vault, now } = this.#deps;
    const hash = hashToken(state);
    const taken = await db.transaction({}, tx => takeServerVisit(tx, hash, hashToken(browser ?? ''), now()));
    if (taken === null) {
      throw new GuardError(
        'gone',
        'This sign-in was used, took too long or began in another browser. Begin again.',
      );
    }
    return JSON.parse(vault.decrypt(taken, aboutVisit(hash)));
  }

  /** Takes a visit that came back to its callback, once, in the browser that began it. */
  async finish(
    { redirectUri, answer, browser }: Returned,
    requireOwner: RequireOwner,
  ): Promise<{ tool: ToolSource; personId: string | null }> {
    const deps = this.#deps;
    const state = answer.get('state') ?? '';
    const visit = await this.#take(state, browser);
    if (visit.redirectUri !== redirectUri) throw elsewhere();
    const owner = visit.personId === '' ? null : visit.personId;
    await requireOwner(owner, deps.db);
    const oauth = await this.#library();
    const step = this.#requests.step();
    const granted = await reachable(() =>
      exchangeCode(oauth, step, { ...visit, state }, answer).catch(async error => {
        if (isUnknownClient(error)) await forgetClient(deps, visit.toolId, visit.server.issuer);
        throw error;
      }),
    );
    const now = deps.now();
    const { toolId, keyId, personId, server, scopes } = visit;
    const kept = { ...visit, server: keptServer(server) };
    const tokens: Tokens = tokensOf(granted, kept, null, now);
    const keep = async (tx: Transaction, tool: ToolSource | null): Promise<ToolSource> => {
      await requireOwner(owner, tx);
      if (tool === null || tool.oauthAs === null) throw noSuchTool();
      const { clientId = null } = decryptOAuth(deps.vault, tool);
      const isSame = tool.target === visit.target && clientId === visit.enteredClient;
      if (!isSame || (tool.oauthAs === 'key') !== (personId === ''))
        throw new GuardError('gone', 'The Connected Tool was changed meanwhile. Begin again.');
      await requireUsable(tx, tool, owner, now);
      const isAccepted = owner === null && tool.authorizationServer === (visit.known ?? null);
      if (!isAccepted) requirePinned(tool, server);
      const pin = pinOf(server);
      if (tool.authorizationServer !== pin) await pinAuthorizationServer(tx, tool, pin);
      const signIn = {
        toolId,
        personId,
        tokensEncrypted: encryptTokens(deps, toolId, personId, tokens),
        account: granted.account,
        // Servers that leave the scopes out have granted those that were asked for.
        scopes: granted.scopes ?? scopes?.join(' ') ?? null,
        wanted: scopes?.join(' ') ?? null,
        expiresAt: granted.lifetime === null ? null : now + granted.lifetime,
      };
      await putServerSignIn(tx, signIn, now);
      await recordSignIn(tx, deps, visit.actor, 'sign-in', tool);
      return tool;
    };
    // Whoever changes or removes the tool, its own key or the person waits for this, or this sees what they did.
    const begun = { sourceId: toolId, toolServerId: keyId === null ? toolId : null, keyId };
    const tool = await changeSource(deps, begun, keep, [PEOPLE_LOCK]);
    tellSignIn(deps.db, tool, personId);
    return { tool, personId: owner };
  }
}

/** Throws unless its key is valid; for a person, unless a valid key that has it is open to them. */
async function requireUsable(
  tx: Transaction,
  { sourceId, keyId }: ToolSource,
  personId: string | null,
  now: number,
): Promise<void> {
  if (personId === null) {
    const key = keyId === null ? null : await findKey(tx, keyId);
    if (keyId !== null && (key === null || !keyLives(key, now))) throw noSuchTool();
    return;
  }
  const [person] = await personFacts(tx, [personId]);
  const keys = await openKeysWith(tx, sourceId, now);
  if (person === undefined || !keys.some(({ openTo }) => isOpenTo(openTo, person))) throw noSuchTool();
}

/** Somebody who is signed in gets all that they have, and what the server wants in addition. */
const moreFor = (row: ServerSignIn | null): string | null =>
  row === null || row.tokensEncrypted === null ? null : row.wanted;

function keptServer({ issuer, token_endpoint, revocation_endpoint }: Tokens['server']): Tokens['server'] {
  return { issuer, token_endpoint, ...(revocation_endpoint !== undefined && { revocation_endpoint }) };
}

/** A code for one Connected Tool must not reach another's token endpoint. */
function elsewhere(): GuardError {
  return new GuardError(
    'forbidden',
    'The answer came to the address of another Connected Tool, so it was not used. Begin again.',
  );
}
