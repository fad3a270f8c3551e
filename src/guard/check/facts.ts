// Reads, inside the audit transaction, the facts that every group of checks depends on: whether key and session are
// valid, the current policy version and the definitions that the tools show. approval-facts.ts reads what only calls need
// whose rule asks for approval. The locks that the transaction holds keep all of these facts true until the commit.

import { isOpenTo } from '../../core/approvals/open-to.ts';
import { GuardError } from '../../core/errors.ts';
import type { Transaction } from '../../store/engine/db.ts';
import { type KeyFacts, keyFacts } from '../../store/keys.ts';
import { openToFacts, type PersonFacts, personFacts } from '../../store/people.ts';
import { type SessionFacts, sessionFacts } from '../../store/sessions.ts';
import { type ShownDefinition, shownDefinitions } from '../../store/tool-definitions.ts';
import { keyLives } from '../credentials.ts';
import type { CheckRequest } from './request.ts';

export class CredentialFacts {
  readonly #keys: Map<string, KeyFacts>;
  readonly #sessions: Map<string, SessionFacts>;

  readonly #people: PeopleFacts;

  private constructor(keys: KeyFacts[], sessions: SessionFacts[], people: PeopleFacts) {
    this.#keys = new Map(keys.map(key => [key.id, key]));
    this.#sessions = new Map(sessions.map(session => [session.id, session]));
    this.#people = people;
  }

  static async read(
    tx: Transaction,
    requests: readonly Pick<CheckRequest, 'principal'>[],
  ): Promise<CredentialFacts> {
    const keyIds = new Set<string>();
    const sessionIds = new Set<string>();
    for (const { principal } of requests) {
      keyIds.add(principal.keyId);
      if (principal.sessionId !== null) sessionIds.add(principal.sessionId);
    }
    const [keys, sessions, people] = await Promise.all([
      keyFacts(tx, [...keyIds]),
      sessionIds.size > 0 ? sessionFacts(tx, [...sessionIds]) : [],
      PeopleFacts.read(tx, requests),
    ]);
    return new CredentialFacts(keys, sessions, people);
  }

  /** The policy versions that apply to these keys, and those of their shadows. */
  *policyVersions(): Iterable<Pick<KeyFacts, 'policyId' | 'policyVersion'>> {
    for (const key of this.#keys.values()) {
      yield key;
      const { shadowPolicyId, shadowPolicyVersion } = key;
      if (shadowPolicyId !== null && shadowPolicyVersion !== null)
        yield { policyId: shadowPolicyId, policyVersion: shadowPolicyVersion };
    }
  }

  /** Null if the credential is no longer valid. */
  live({ principal }: Pick<CheckRequest, 'principal'>, now: number): Live | null {
    const key = this.#keys.get(principal.keyId);
    if (key === undefined || !keyLives(key, now)) return null;
    if (principal.sessionId === null) return { key, person: null, sessionEndsAt: null };
    const session = this.#sessions.get(principal.sessionId);
    if (session === undefined || session.revokedAt !== null || session.expiresAt <= now) return null;
    if (principal.until !== undefined && principal.until <= now) return null;
    const sessionEndsAt = session.expiresAt;
    if (session.personId === null) return { key, person: null, sessionEndsAt };
    const person = this.#people.of(session, key.id);
    return person === null ? null : { key, person, sessionEndsAt };
  }
}

/** What a valid credential stands for. */
export interface Live {
  key: KeyFacts;
  /** The person for whom the session acts; null if it acts for nobody. */
  person: PersonFacts | null;
  sessionEndsAt: number | null;
}

/** The people for whom sessions of a group act, and whether their keys are open to them. */
class PeopleFacts {
  readonly #people: Map<string, PersonFacts>;
  readonly #openTo: Map<string, readonly string[]>;

  private constructor(people: readonly PersonFacts[], keys: readonly { id: string; openTo: string[] }[]) {
    this.#people = new Map(people.map(person => [person.id, person]));
    this.#openTo = new Map(keys.map(({ id, openTo }) => [id, openTo]));
  }

  static readonly #nobody = new PeopleFacts([], []);

  static async read(
    tx: Transaction,
    requests: readonly Pick<CheckRequest, 'principal'>[],
  ): Promise<PeopleFacts> {
    const personIds = new Set<string>();
    const keyIds = new Set<string>();
    for (const { principal } of requests) {
      if (principal.personId === undefined) continue;
      personIds.add(principal.personId);
      keyIds.add(principal.keyId);
    }
    if (personIds.size === 0) return PeopleFacts.#nobody;
    const [people, keys] = await Promise.all([personFacts(tx, [...personIds]), openToFacts(tx, [...keyIds])]);
    return new PeopleFacts(people, keys);
  }

  /** The person of a session with the groups that count for it; null if the key is not open to them. */
  of({ personId, personGroups }: SessionFacts, keyId: string): PersonFacts | null {
    const known = this.#people.get(personId ?? '');
    if (known === undefined) return null;
    const person = personGroups === null ? known : { ...known, groups: JSON.parse(personGroups) };
    return isOpenTo(this.#openTo.get(keyId) ?? [], person) ? person : null;
  }
}

/**
 * Says that a call was not decided: since it was made, its Connected Tool or the server behind it has been changed or
 * removed. Whoever made it looks for its tool again.
 */
export class ServerChanged extends GuardError {
  constructor() {
    super('not_ready', 'The tool server of this call was changed at this moment. Call again.');
  }
}

/**
 * What is known of the Connected Tools that the calls of a group go to: whether they still are what they were when the
 * calls were made, and the definitions of their tools. It is known only for calls that the service forwards.
 */
export class DefinitionFacts {
  readonly #connected = new Map<string, ShownDefinition>();
  readonly #shown = new Map<string, Definition>();

  private constructor(rows: readonly ShownDefinition[]) {
    for (const row of rows) {
      const { connectedToolId, toolName, digest, changedDigest } = row;
      this.#connected.set(connectedToolId, row);
      if (toolName === null || digest === null) continue;
      this.#shown.set(definitionKey(connectedToolId, toolName), { digest, changedDigest });
    }
  }

  static async read(tx: Transaction, requests: readonly CheckRequest[]): Promise<DefinitionFacts> {
    const ids = new Set<string>();
    const names = new Set<string>();
    for (const { connectedTool, call } of requests) {
      if (connectedTool === undefined) continue;
      ids.add(connectedTool.id);
      names.add(call.toolName);
    }
    return new DefinitionFacts(ids.size > 0 ? await shownDefinitions(tx, [...ids], [...names]) : []);
  }

  /**
   * Whether the call goes to what its key has under this name now. It is false for a tool that began to name a shared
   * server, too: the transaction lacks the lock of that server.
   */
  isCurrent({ connectedTool, principal, call }: CheckRequest): boolean {
    if (connectedTool === undefined) return true;
    const now = this.#connected.get(connectedTool.id);
    return (
      now !== undefined &&
      now.keyId === principal.keyId &&
      now.serverName === call.serverName &&
      now.toolServerId === connectedTool.toolServerId &&
      now.updatedAt === connectedTool.updatedAt
    );
  }

  /** Whether the tool's definition differs from the accepted one. If no definition is known, it counts as changed. */
  changed(request: CheckRequest): boolean {
    if (request.connectedTool === undefined) return false;
    const shown = this.#of(request);
    if (shown === undefined) return true;
    return request.shownDigest === undefined
      ? shown.changedDigest !== null
      : shown.digest !== request.shownDigest;
  }

  /** The digest of the definition that the tool shows, or null if none is known. */
  digest(request: CheckRequest): string | null {
    const shown = this.#of(request);
    return request.shownDigest ?? shown?.changedDigest ?? shown?.digest ?? null;
  }

  /** The digest of the definition that was accepted, or null if none is known. */
  acceptedDigest(request: CheckRequest): string | null {
    return this.#of(request)?.digest ?? null;
  }

  #of({ connectedTool, call }: CheckRequest): Definition | undefined {
    return this.#shown.get(definitionKey(connectedTool?.id ?? '', call.toolName));
  }
}

interface Definition {
  digest: string;
  changedDigest: string | null;
}

const definitionKey = (connectedToolId: string, toolName: string): string => `${connectedToolId} ${toolName}`;
