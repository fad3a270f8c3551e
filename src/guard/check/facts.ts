// Reads, inside the audit transaction, the facts that every group of checks depends on: whether key and session are
// valid, the current policy version and the definitions that the tools show. approval-facts.ts reads what only calls need
// whose rule asks for approval. The locks that the transaction holds keep all of these facts true until the commit.

import { type ShownDefinition, shownDefinitions } from '../../store/connected-tools.ts';
import type { Transaction } from '../../store/db.ts';
import { type KeyFacts, keyFacts } from '../../store/keys.ts';
import { type SessionFacts, sessionFacts } from '../../store/sessions.ts';
import { keyLives } from '../credentials.ts';
import type { CheckRequest } from './request.ts';

export class CredentialFacts {
  readonly #keys: Map<string, KeyFacts>;
  readonly #sessions: Map<string, SessionFacts>;

  private constructor(keys: KeyFacts[], sessions: SessionFacts[]) {
    this.#keys = new Map(keys.map(key => [key.id, key]));
    this.#sessions = new Map(sessions.map(session => [session.id, session]));
  }

  static async read(tx: Transaction, requests: readonly CheckRequest[]): Promise<CredentialFacts> {
    const keyIds = new Set<string>();
    const sessionIds = new Set<string>();
    for (const { principal } of requests) {
      keyIds.add(principal.keyId);
      if (principal.sessionId !== null) sessionIds.add(principal.sessionId);
    }
    const [keys, sessions] = await Promise.all([
      keyFacts(tx, [...keyIds]),
      sessionIds.size > 0 ? sessionFacts(tx, [...sessionIds]) : [],
    ]);
    return new CredentialFacts(keys, sessions);
  }

  /** The policy versions that apply to these keys. */
  policyVersions(): Iterable<Pick<KeyFacts, 'policyId' | 'policyVersion'>> {
    return this.#keys.values();
  }

  /** The key, or null if it or the session is no longer valid. */
  live({ principal }: CheckRequest, now: number): KeyFacts | null {
    const key = this.#keys.get(principal.keyId);
    if (key === undefined || !keyLives(key, now)) return null;
    if (principal.sessionId === null) return key;
    const session = this.#sessions.get(principal.sessionId);
    const lives = session !== undefined && session.revokedAt === null && session.expiresAt > now;
    return lives ? key : null;
  }
}

/** The definitions that the tools of a group's calls show. They are known only for calls that the service forwards. */
export class DefinitionFacts {
  readonly #shown: Map<string, ShownDefinition>;

  private constructor(shown: ShownDefinition[]) {
    this.#shown = new Map(shown.map(each => [definitionKey(each.connectedToolId, each.toolName), each]));
  }

  static async read(tx: Transaction, requests: readonly CheckRequest[]): Promise<DefinitionFacts> {
    const ids = new Set<string>();
    const names = new Set<string>();
    for (const { connectedToolId, call } of requests) {
      if (connectedToolId === undefined) continue;
      ids.add(connectedToolId);
      names.add(call.toolName);
    }
    return new DefinitionFacts(ids.size > 0 ? await shownDefinitions(tx, [...ids], [...names]) : []);
  }

  /** Whether the tool's definition differs from the accepted one. If no definition is known, it counts as changed. */
  changed(request: CheckRequest): boolean {
    if (request.connectedToolId === undefined) return false;
    const shown = this.#of(request);
    return shown === undefined || shown.changedDigest !== null;
  }

  /** The digest of the definition that the tool shows, or null if none is known. */
  digest(request: CheckRequest): string | null {
    const shown = this.#of(request);
    return shown?.changedDigest ?? shown?.digest ?? null;
  }

  /** The digest of the definition that was accepted, or null if none is known. */
  acceptedDigest(request: CheckRequest): string | null {
    return this.#of(request)?.digest ?? null;
  }

  #of({ connectedToolId = '', call }: CheckRequest): ShownDefinition | undefined {
    return this.#shown.get(definitionKey(connectedToolId, call.toolName));
  }
}

const definitionKey = (connectedToolId: string, toolName: string): string => `${connectedToolId} ${toolName}`;
