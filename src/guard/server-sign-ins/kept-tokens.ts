// The tokens of a sign-in to a server, and their refresh. Many servers revoke a whole sign-in if a refresh token is used
// a second time. So the row is marked before the token is sent, by one replica, and the mark is taken back only if it is
// certain that nothing was sent. If the replica dies in between, the access token is used until it ends, and then the
// person has to sign in again.

import type * as OAuth from 'oauth4webapi';
import { GuardError } from '../../core/errors.ts';
import {
  beginRefresh,
  endServerSignIn,
  findServerSignIn,
  finishRefresh,
  type ServerSignIn,
  takeBackRefresh,
} from '../../store/server-sign-ins.ts';
import type { ToolSource } from '../../store/tool-servers.ts';
import type { Deps } from '../deps.ts';
import { newId } from '../ids.ts';
import { forgetClient } from './clients.ts';
import { type Requests, STEP_MS, Unanswered } from './requests.ts';
import { SignInNeeded } from './sign-in-needed.ts';
import { Declined, type Granted, isUnknownClient, refreshTokens, type Tokens } from './tokens.ts';

/** Tokens are refreshed this long before they end, or earlier if they live only shortly. */
const EARLY_MS = 60_000;
const EARLY_SHARE = 0.2;
/** How long a replica may take to refresh: the step, and storing the result. */
const LEASE_MS = STEP_MS + 7000;
/** How often another replica's refresh is looked after. */
const LOOK_MS = 50;
/** The new tokens are stored at the second or third try if the store fails: otherwise they would be lost. */
const STORE_TRIES = 3;
const STORE_PAUSE_MS = 500;

export const SIGN_IN_AGAIN = {
  declined: 'The server no longer accepts this sign-in. Sign in again.',
  interrupted: 'Renewing this sign-in was interrupted. Sign in again.',
  ended: 'This sign-in has ended. Sign in again.',
} as const;

export interface Kept {
  row: ServerSignIn;
  tokens: Tokens;
}

const about = (toolId: string, personId: string): string => `server sign-in ${toolId} ${personId}`;

export function encryptTokens({ vault }: Deps, toolId: string, personId: string, tokens: Tokens): string {
  return vault.encrypt(JSON.stringify(tokens), about(toolId, personId));
}

export function decryptTokens({ vault }: Deps, row: ServerSignIn): Tokens | null {
  if (row.tokensEncrypted === null) return null;
  return JSON.parse(vault.decrypt(row.tokensEncrypted, about(row.toolId, row.personId)));
}

/** The stored tokens of a grant. A server that gives no new refresh token means that the old one goes on. */
export function tokensOf(
  granted: Granted,
  rest: Omit<Tokens, 'access' | 'refresh' | 'obtainedAt'>,
  before: string | null,
  now: number,
): Tokens {
  const { server, client, resource, target } = rest;
  return {
    access: granted.access,
    refresh: granted.refresh ?? before,
    obtainedAt: now,
    server,
    client,
    resource,
    target,
  };
}

export class KeptTokens {
  readonly #deps: Deps;
  readonly #requests: Requests;
  readonly #library: () => Promise<typeof OAuth>;
  /** The refreshes of this process, by tool and person. */
  readonly #underWay = new Map<string, Promise<void>>();

  constructor(deps: Deps, requests: Requests, library: () => Promise<typeof OAuth>) {
    this.#deps = deps;
    this.#requests = requests;
    this.#library = library;
  }

  /** The tokens of a sign-in that has not ended; null if there is none. */
  async find(toolId: string, personId: string): Promise<Kept | null> {
    const row = await findServerSignIn(this.#deps.db, toolId, personId);
    const tokens = row === null ? null : decryptTokens(this.#deps, row);
    return row === null || tokens === null ? null : { row, tokens };
  }

  /** The tokens, refreshed if they end soon. */
  async current(tool: ToolSource, personId: string): Promise<Kept> {
    for (;;) {
      const kept = await this.find(tool.sourceId, personId);
      // The address may have been changed after the caller read the tool, and somebody may have signed in to the new one.
      if (kept === null || kept.tokens.target !== tool.target) throw needed(tool, personId);
      const { expiresAt } = kept.row;
      const now = this.#deps.now();
      if (expiresAt === null || now < refreshAt(kept)) return kept;
      const alive = now < expiresAt;
      if (kept.tokens.refresh === null) {
        if (alive) return kept;
        throw await this.end(tool, kept.row, SIGN_IN_AGAIN.ended);
      }
      if (kept.row.refreshing === 0) {
        try {
          await this.refresh(tool, kept);
        } catch (error) {
          if (alive) return kept;
          throw error;
        }
      } else if (alive) return kept;
      else if (now >= kept.row.leasedUntil) throw await this.end(tool, kept.row, SIGN_IN_AGAIN.interrupted);
      else await Bun.sleep(LOOK_MS);
    }
  }

  /** Whether there are other tokens by now. If another replica is just refreshing them, this waits for it. */
  async isReplaced({ row, tokens }: Kept): Promise<boolean> {
    for (;;) {
      const now = await this.find(row.toolId, row.personId);
      if (now === null || now.tokens.access !== tokens.access) return now !== null;
      if (now.row.refreshing === 0 || this.#deps.now() >= now.row.leasedUntil) return false;
      await Bun.sleep(LOOK_MS);
    }
  }

  /** Refreshes the tokens, unless somebody else does or did. Callers of one process share one request. */
  refresh(tool: ToolSource, kept: Kept): Promise<void> {
    const name = about(tool.sourceId, kept.row.personId);
    const running = this.#underWay.get(name);
    if (running !== undefined) return running;
    const begun = this.#refresh(tool, kept).finally(() => this.#underWay.delete(name));
    this.#underWay.set(name, begun);
    return begun;
  }

  /** Waits for the refreshes that are under way: what they bring would be lost with the process. */
  async settle(): Promise<void> {
    await Promise.allSettled(this.#underWay.values());
  }

  async #refresh(tool: ToolSource, { row, tokens }: Kept): Promise<void> {
    const { db, now } = this.#deps;
    const holder = newId();
    const library = await this.#library();
    if (!(await beginRefresh(db, row, holder, now() + LEASE_MS))) return;
    const marked = { ...row, version: row.version + 1 };
    let granted: Granted;
    try {
      granted = await refreshTokens(library, this.#requests.step(), tokens);
    } catch (error) {
      if (error instanceof Declined) {
        if (isUnknownClient(error)) await forgetClient(this.#deps, tool.sourceId, tokens.server.issuer);
        throw await this.end(tool, marked, SIGN_IN_AGAIN.declined);
      }
      // A GuardError is about the address: it comes before anything is sent.
      const sent = error instanceof Unanswered ? error.sent : !(error instanceof GuardError);
      if (!sent) await takeBackRefresh(db, row, holder);
      throw unreachable(error);
    }
    await this.#store(row, tokens, holder, granted);
  }

  async #store(row: ServerSignIn, tokens: Tokens, holder: string, granted: Granted): Promise<void> {
    const { db, now } = this.#deps;
    const at = now();
    const fresh = tokensOf(granted, tokens, tokens.refresh, at);
    const stored = {
      tokensEncrypted: encryptTokens(this.#deps, row.toolId, row.personId, fresh),
      scopes: granted.scopes ?? row.scopes,
      expiresAt: granted.lifetime === null ? null : at + granted.lifetime,
      now: at,
    };
    for (let tries = 1; ; tries++) {
      try {
        await finishRefresh(db, row, holder, stored);
        return;
      } catch (error) {
        if (tries === STORE_TRIES) throw error;
        await Bun.sleep(STORE_PAUSE_MS);
      }
    }
  }

  /** Ends this sign-in alone. Returns what the caller throws. */
  async end(tool: ToolSource, row: ServerSignIn, because: string): Promise<SignInNeeded> {
    await endServerSignIn(this.#deps.db, row, because, this.#deps.now());
    return needed(tool, row.personId);
  }
}

function refreshAt({ row, tokens }: Kept): number {
  const expiresAt = row.expiresAt ?? Number.POSITIVE_INFINITY;
  return expiresAt - Math.min(EARLY_MS, EARLY_SHARE * (expiresAt - tokens.obtainedAt));
}

function needed(tool: ToolSource, personId: string): SignInNeeded {
  return new SignInNeeded(tool, personId === '' ? null : personId);
}

/** The cause is left out: what a server answered may contain tokens. */
function unreachable(error: unknown): GuardError {
  const why = error instanceof Unanswered || error instanceof GuardError ? ` ${error.message}` : '';
  return new GuardError('not_ready', `The sign-in to this server cannot be renewed just now.${why}`);
}
