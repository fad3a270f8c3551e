// The company's own tokens as credentials. At first sight a valid token becomes a session row of the one key that is
// open to its person. From then on the token is found by its hash, like any session, so that every replica knows it and
// a revocation holds. company-issuer.ts verifies tokens; single-sign-on.ts has the rules for people who come from outside.

import { isOpenTo } from '../../core/approvals/open-to.ts';
import { GuardError, overloaded } from '../../core/errors.ts';
import type { Person as OpenPerson } from '../../core/policy/situation.ts';
import { visible } from '../../core/text/visible.ts';
import type { Queries, Transaction } from '../../store/engine/db.ts';
import { type Account, findIdentity } from '../../store/identities.ts';
import { findKey } from '../../store/keys.ts';
import { findOperator, findOperatorCredential, type ListedOperator } from '../../store/operators.ts';
import { type OpenKey, openKeys, personFacts } from '../../store/people.ts';
import {
  findSessionByHash,
  hasActiveTokens,
  insertTokenSession,
  type SessionRecord,
} from '../../store/sessions.ts';
import {
  type ForeignTokens,
  keyLives,
  type Principal,
  sessionPrincipal,
  unauthenticated,
} from '../credentials.ts';
import type { Deps } from '../deps.ts';
import { newId } from '../ids.ts';
import { keyLock, PEOPLE_LOCK } from '../locks.ts';
import { hashToken } from '../secrets.ts';
import { changeOperators } from './admins.ts';
import { type ClaimRules, givenGroups, type Person, readPerson, saysVerified } from './claims.ts';
import type { CompanyClaims, CompanyIssuer } from './company-issuer.ts';
import { link, noteVerified, provision, removed } from './single-sign-on.ts';

/** How many tokens of one person may be in use at once. */
export const MAX_TOKENS_PER_PERSON = 200;
/** How many new tokens are looked at at once: while the issuer is slow, they must not take the place of other credentials. */
const MAX_ADMITTING = 100;
/**
 * Somebody who is new and comes with a token gets the role `user`. A token changes no role: it gives access to tools
 * only.
 */
const RULES: ClaimRules = {
  oidcAllowedDomains: [],
  oidcRoleClaim: '',
  oidcGroupsClaim: null,
  oidcRoles: [],
  oidcDefaultRole: 'user',
};
const MAX_CLIENT_ID = 200;
/** A message that names keys does not name more. */
const MAX_NAMED = 10;

interface Bearer {
  operator: ListedOperator;
  /** The groups that the token names; null for those of the operator. */
  groups: string[] | null;
}

export class CompanyTokens implements ForeignTokens {
  readonly #deps: Deps;
  readonly #issuer: CompanyIssuer;
  readonly #groupsClaim: string | null;
  #admitting = 0;

  constructor(deps: Deps, issuer: CompanyIssuer, groupsClaim: string | null) {
    this.#deps = deps;
    this.#issuer = issuer;
    this.#groupsClaim = groupsClaim;
  }

  mayBe(token: string): boolean {
    return this.#issuer.mayBe(token);
  }

  /** A known token is not verified again, so its session goes on while the issuer cannot be reached. */
  async authenticate(token: string): Promise<Principal> {
    const { db } = this.#deps;
    const hash = hashToken(token);
    const session = (await findSessionByHash(db, hash)) ?? (await this.#admitOneOfFew(token, hash));
    const principal = await sessionPrincipal(this.#deps, session, session?.expiresAt ?? null);
    if (principal === null) throw unauthenticated();
    return { ...principal, companys: true };
  }

  async #admitOneOfFew(token: string, hash: string): Promise<SessionRecord | null> {
    if (this.#admitting >= MAX_ADMITTING) throw overloaded();
    this.#admitting += 1;
    try {
      return await this.#admit(token, hash);
    } finally {
      this.#admitting -= 1;
    }
  }

  /** The new session of a valid token; null if a copy of the token with another signature has one. */
  async #admit(token: string, hash: string): Promise<SessionRecord | null> {
    const { db, now: clock } = this.#deps;
    const claims = await this.#issuer.verify(token, clock());
    const { operator, groups } = await this.#bearerOf(claims);
    const { id: keyId } = await theKeyOf(db, await factsOf(db, operator.id, groups), clock());
    const signedHash = hashToken(token.slice(0, token.lastIndexOf('.')));
    return db.transaction({ shared: [PEOPLE_LOCK, keyLock(keyId)] }, async tx => {
      const now = clock();
      const key = await findKey(tx, keyId);
      if (key === null || !keyLives(key, now)) throw unauthenticated();
      // The person may have been removed or reset, or the key closed to them, since the token was verified.
      const personId = operator.id;
      const known = await findIdentity(tx, { issuer: claims.iss, subject: claims.sub });
      if (known?.operatorId !== personId) throw unauthenticated();
      if (!isOpenTo(key.openTo, await factsOf(tx, personId, groups))) throw unauthenticated();
      if (await hasActiveTokens(tx, personId, now, MAX_TOKENS_PER_PERSON)) throw tooMany();
      const until = claims.exp * 1000;
      const session: SessionRecord = {
        id: newId(),
        keyId,
        prefix: 'jwt',
        label: `company token of ${new URL(claims.iss).host}`,
        scopeTools: null,
        createdAt: now,
        expiresAt: key.expiresAt === null ? until : Math.min(until, key.expiresAt),
        revokedAt: null,
        revokedBecause: null,
        attributes: null,
        personId,
        personGroups: groups,
        clientId: clientOf(claims),
        clientName: null,
        usedAt: now,
      };
      await insertTokenSession(tx, session, hash, signedHash);
      return findSessionByHash(tx, hash);
    });
  }

  async #bearerOf(claims: CompanyClaims): Promise<Bearer> {
    const groups = givenGroups(claims, this.#groupsClaim);
    const account = { issuer: claims.iss, subject: claims.sub };
    const known = await operatorOf(this.#deps.db, account);
    if (known !== null) await this.#noteVerified(known, claims);
    return { operator: known ?? (await this.#newcomer(account, claims, groups)), groups };
  }

  async #noteVerified(known: ListedOperator, claims: CompanyClaims): Promise<void> {
    const [person] = await personFacts(this.#deps.db, [known.id]);
    if (!person?.unverified || !saysVerified(claims)) return;
    const said = readPerson(claims, RULES);
    await changeOperators(this.#deps, tx => noteVerified(tx, known, said));
  }

  async #newcomer(account: Account, claims: CompanyClaims, groups: string[] | null): Promise<ListedOperator> {
    // Access tokens seldom say it. Then the person comes in all the same, but the e-mail opens nothing.
    const read = readPerson({ email_verified: true, ...claims }, RULES);
    const person = { ...read, emailVerified: saysVerified(claims) };
    const { db, now } = this.#deps;
    const known = await findOperatorCredential(db, person.email);
    const [facts = { ...newFacts(person), groups: [] }] =
      known === null ? [] : await personFacts(db, [known.id]);
    // Nobody becomes an operator for whom no key is open, nor do the checks of others have to wait for that.
    await theKeyOf(db, { ...facts, groups: groups ?? facts.groups }, now());
    return changeOperators(this.#deps, tx => this.#join(tx, account, person));
  }

  async #join(tx: Transaction, account: Account, person: Person): Promise<ListedOperator> {
    const meanwhile = await operatorOf(tx, account);
    if (meanwhile !== null) return meanwhile;
    const known = await findOperatorCredential(tx, person.email);
    if (known === null) return provision(tx, this.#deps, account, person);
    // Otherwise an account that cannot sign in would count as an admin who can, for example.
    if ((await findOperator(tx, known.id))?.status !== 'active') {
      throw new GuardError(
        'forbidden',
        'You are invited. Accept the invitation before you use company tokens.',
      );
    }
    return link(tx, this.#deps, account, person, known.id);
  }
}

const newFacts = ({ email, emailVerified }: Person) => ({
  email,
  ...(!emailVerified && { unverified: true as const }),
});

/** What decides to whom keys are open. A token's own groups stand in place of those that the person has here. */
async function factsOf(db: Queries, personId: string, groups: string[] | null): Promise<OpenPerson> {
  const [person] = await personFacts(db, [personId]);
  if (person === undefined) throw removed();
  return { ...person, groups: groups ?? person.groups };
}

/** The operator with this account, or null if no operator has had it. */
async function operatorOf(db: Queries, account: Account): Promise<ListedOperator | null> {
  const identity = await findIdentity(db, account);
  if (identity === null) return null;
  const operator = await findOperator(db, identity.operatorId);
  if (operator === null) throw removed();
  return operator;
}

/** The only key that is open to the person. If there are several, an admin has to decide, and not we. */
async function theKeyOf(db: Queries, person: OpenPerson, now: number): Promise<OpenKey> {
  const open = (await openKeys(db, now)).filter(key => isOpenTo(key.openTo, person));
  const [first, ...others] = open;
  if (first === undefined) {
    throw new GuardError(
      'forbidden',
      'No key is open to you. Ask an admin to open one to you or to one of your groups.',
    );
  }
  if (others.length === 0) return first;
  const names = open.slice(0, MAX_NAMED).map(({ name }) => `"${visible(name)}"`);
  const more = open.length > MAX_NAMED ? ` and ${open.length - MAX_NAMED} more` : '';
  throw new GuardError(
    'forbidden',
    `Several keys are open to you: ${names.join(', ')}${more}. A company token needs exactly one: ask an admin to leave one open to you.`,
  );
}

function clientOf(claims: CompanyClaims): string | null {
  const client = claims['client_id'] ?? claims['azp'];
  const fits = typeof client === 'string' && client !== '' && client.length <= MAX_CLIENT_ID;
  return fits && visible(client) === client ? client : null;
}

function tooMany(): GuardError {
  return new GuardError(
    'conflict',
    `You have ${MAX_TOKENS_PER_PERSON} company tokens in use, and may have no more. Use one for longer, or wait until some have ended.`,
  );
}
