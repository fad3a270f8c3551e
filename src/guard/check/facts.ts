// Reads, inside the audit transaction, the facts that every group of checks depends on: whether key and session are
// valid, the current policy version and the definitions that the tools show. approval-facts.ts reads what only calls need
// whose rule asks for approval. The locks that the transaction holds keep all of these facts true until the commit.

import { isOpenTo } from '../../core/approvals/open-to.ts';
import { type ShownDefinition, shownDefinitions } from '../../store/connected-tools.ts';
import type { Transaction } from '../../store/engine/db.ts';
import { type KeyFacts, keyFacts } from '../../store/keys.ts';
import { openToFacts, type PersonFacts, personFacts } from '../../store/people.ts';
import { type SessionFacts, sessionFacts } from '../../store/sessions.ts';
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

  #of({ connectedToolId = '', call }: CheckRequest): ShownDefinition | undefined {
    return this.#shown.get(definitionKey(connectedToolId, call.toolName));
  }
}

const definitionKey = (connectedToolId: string, toolName: string): string => `${connectedToolId} ${toolName}`;
