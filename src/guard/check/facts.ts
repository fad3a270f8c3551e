// Reads, inside the audit transaction, the facts that every group of checks depends on: whether key and session are
// valid, the current policy version and the definitions that the tools show. approval-facts.ts reads what only calls need
// whose rule asks for approval. The locks that the transaction holds keep all of these facts true until the commit.

import { isOpenTo } from '../../core/approvals/open-to.ts';
import type { Drift, Facts } from '../../core/decision/decide.ts';
import type { HeldFor } from '../../core/decision/reason.ts';
import type { ToolsLock } from '../../core/definitions/lock-file.ts';
import { GuardError } from '../../core/errors.ts';
import type { Transaction } from '../../store/engine/db.ts';
import { type KeyFacts, keyFacts } from '../../store/keys.ts';
import { openToFacts, type PersonFacts, personFacts } from '../../store/people.ts';
import { type SessionFacts, sessionFacts } from '../../store/sessions.ts';
import { type ShownDefinition, shownDefinitions } from '../../store/tool-definitions.ts';
import { keyLives } from '../credentials.ts';
import { presentOf, readHeld, type ShownTo } from './held.ts';
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
  readonly #shown = new Map<string, ShownDefinition>();
  readonly #lock: ToolsLock | null;
  #held: ReadonlyMap<CheckRequest, HeldFor> = new Map();

  private constructor(rows: readonly ShownDefinition[], lock: ToolsLock | null) {
    this.#lock = lock;
    for (const row of rows) {
      const { connectedToolId, toolName } = row;
      this.#connected.set(connectedToolId, row);
      if (toolName !== null) this.#shown.set(definitionKey(connectedToolId, toolName), row);
    }
  }

  /** `lock` is the lock file of this process. */
  static async read(
    tx: Transaction,
    requests: readonly CheckRequest[],
    lock: ToolsLock | null,
  ): Promise<DefinitionFacts> {
    const ids = new Set<string>();
    const names = new Set<string>();
    for (const { connectedTool, call } of requests) {
      if (connectedTool === undefined) continue;
      ids.add(connectedTool.id);
      names.add(call.toolName);
    }
    if (ids.size === 0) return new DefinitionFacts([], lock);
    const facts = new DefinitionFacts(await shownDefinitions(tx, [...ids], [...names]), lock);
    facts.#held = await readHeld(tx, facts.#forwarded(requests), lock);
    return facts;
  }

  /** The calls whose Connected Tool exists, each with what its tool shows. */
  #forwarded(requests: readonly CheckRequest[]): ShownTo[] {
    return requests.flatMap((request): ShownTo | [] => {
      const connected = this.#connected.get(request.connectedTool?.id ?? '');
      if (connected === undefined) return [];
      const row = this.#of(request) ?? { ...connected, ...NO_DEFINITION };
      return { request, row };
    });
  }

  /**
   * Whether the call goes to what its key has under this name now. It is false for a tool that began to name a shared
   * server, too: the transaction lacks the lock of that server.
   */
  isCurrent(request: CheckRequest, toolDrift: 'allow' | Drift): boolean {
    const { connectedTool, principal, call } = request;
    if (connectedTool === undefined) return true;
    const now = this.#connected.get(connectedTool.id);
    return (
      now !== undefined &&
      now.keyId === principal.keyId &&
      now.serverName === call.serverName &&
      now.toolServerId === connectedTool.toolServerId &&
      now.updatedAt === connectedTool.updatedAt &&
      this.#isSeen(request, toolDrift)
    );
  }

  /**
   * Whether the definition by which the call may pass, or may be approved, is the one that its own replica was shown. Where one
   * is in the way for good, it does not matter which replica was shown it.
   */
  #isSeen(request: CheckRequest, toolDrift: 'allow' | Drift): boolean {
    const seenDigest = request.connectedTool?.seenDigest;
    if (seenDigest === undefined) return true;
    if (toolDrift === 'deny' && (this.#held.has(request) || this.#changed(request))) return true;
    return seenDigest === (this.digest(request) ?? seenDigest);
  }

  /** What of the tool's definition is in the way of the call, if changed definitions are met with `toolDrift`. */
  inTheWay(request: CheckRequest, toolDrift: 'allow' | Drift): Pick<Facts, 'drift' | 'heldFor'> {
    const heldFor = this.#held.get(request) ?? null;
    if (heldFor === null)
      return toolDrift === 'allow' || !this.#changed(request) ? NOTHING : { drift: toolDrift };
    const drift = toolDrift === 'allow' ? 'require_approval' : toolDrift;
    // That it has changed tells people more than that nobody has accepted it.
    return { drift, heldFor: heldFor === 'nobody' && this.#changed(request) ? null : heldFor };
  }

  /** Whether the tool's definition differs from the accepted one. If no definition is known, it counts as changed. */
  #changed(request: CheckRequest): boolean {
    if (request.connectedTool === undefined) return false;
    const shown = this.#of(request);
    if (shown === undefined) return true;
    // Whatever is not in the lock file is held.
    if (this.#lock !== null) return false;
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
    const shown = this.#of(request);
    // The lock file may have accepted another definition than people did.
    const byFile = shown !== undefined && this.#lock?.has(presentOf(request, shown)) === true;
    return byFile ? this.digest(request) : (shown?.digest ?? null);
  }

  #of({ connectedTool, call }: CheckRequest): ShownDefinition | undefined {
    return this.#shown.get(definitionKey(connectedTool?.id ?? '', call.toolName));
  }
}

const NOTHING = { drift: null };

/** What is known of a tool that its server has not shown yet. */
const NO_DEFINITION = {
  toolName: null,
  digest: null,
  changedDigest: null,
  acceptedDigest: null,
  look: null,
  skeleton: null,
  isAlike: 0,
};

const definitionKey = (connectedToolId: string, toolName: string): string => `${connectedToolId} ${toolName}`;
