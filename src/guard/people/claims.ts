// Reads the claims of a single sign-on provider about a person: an e-mail that can be relied on, the role that the
// person's groups give, and the groups that the person is in here. The functions are pure. single-sign-on.ts decides
// who becomes an operator.

import { GuardError } from '../../core/errors.ts';
import { hidesCharacters, normalEmail } from '../../core/text/email.ts';
import { groupFault, MAX_GROUPS } from '../../core/text/name.ts';
import { ROLES, type Role } from '../../store/operators.ts';

export type Claims = Record<string, unknown>;

export interface ClaimRules {
  /** The e-mail domains whose people may sign in. If the list is empty, all may. */
  oidcAllowedDomains: readonly string[];
  /** The claim that lists a person's groups. */
  oidcRoleClaim: string;
  /** The claim that lists the groups that a person is in here; null if admins manage them. */
  oidcGroupsClaim: string | null;
  oidcRoles: readonly { role: Role; group: string }[];
  /** The role of people in the allowed domains who get no role from a group. */
  oidcDefaultRole: Role | null;
}

export interface Person {
  email: string;
  /** Whether the provider says that the e-mail is verified. A person whose e-mail it calls unverified is refused. */
  emailVerified: boolean;
  role: Role | null;
  /** The groups that the claims give; null if claims do not decide about groups. */
  groups: readonly string[] | null;
}

const EMAIL = /^[^\s@<>,]+@[^\s@<>,]+$/;
const MAX_EMAIL = 320;

/** Throws if the e-mail is missing, cannot be relied on, or is in a domain that is not allowed. */
export function readPerson(claims: Claims, rules: ClaimRules): Person {
  const email = emailOf(claims);
  const { email_verified: said } = claims;
  if (said === false || said === 'false') throw refused('Your e-mail is not verified at the provider.');
  const emailVerified = saysVerified(claims);
  const byGroup = groupRole(claims, rules);
  // Some providers never say whether an e-mail is verified. A group that gives a role is accepted instead.
  if (!emailVerified && byGroup === null) {
    throw refused('The provider does not say that your e-mail is verified.');
  }
  const domain = email.slice(email.lastIndexOf('@') + 1);
  const { oidcAllowedDomains: allowed } = rules;
  if (allowed.length > 0 && !allowed.includes(domain)) {
    throw refused('People of your e-mail’s domain cannot sign in here.');
  }
  const role = byGroup ?? (emailVerified ? rules.oidcDefaultRole : null);
  return { email, emailVerified, role, groups: givenGroups(claims, rules.oidcGroupsClaim) };
}

export const saysVerified = ({ email_verified: said }: Claims): boolean => said === true || said === 'true';

/** Names that no group can have here, and those beyond the most that a person can have, are left out. */
export function givenGroups(claims: Claims, claim: string | null): string[] | null {
  if (claim === null) return null;
  const names = groupsIn(claims, claim).filter(each => typeof each === 'string');
  return names.filter(each => groupFault(each) === null).slice(0, MAX_GROUPS);
}

function emailOf({ email }: Claims): string {
  const text = typeof email === 'string' ? normalEmail(email) : '';
  if (hidesCharacters(text)) throw refused('Your e-mail at the provider has characters that nobody can see.');
  if (text.length <= MAX_EMAIL && EMAIL.test(text)) return text;
  throw refused('The provider did not tell your e-mail.');
}

/** The highest role that any of the person's groups gives. */
function groupRole(claims: Claims, { oidcRoleClaim, oidcRoles }: ClaimRules): Role | null {
  const groups = groupsIn(claims, oidcRoleClaim);
  const given = oidcRoles.filter(each => groups.includes(each.group)).map(each => each.role);
  return ROLES.find(role => given.includes(role)) ?? null;
}

/** Finds a claim by its name or, if the name has dots, by its path, such as `realm_access.roles`. */
function groupsIn(claims: Claims, name: string): unknown[] {
  const found = Object.hasOwn(claims, name) ? claims[name] : name.split('.').reduce<unknown>(inside, claims);
  return Array.isArray(found) ? found : [found];
}

function inside(value: unknown, name: string): unknown {
  const within = typeof value === 'object' && value !== null && Object.hasOwn(value, name);
  return within ? (value as Claims)[name] : undefined;
}

function refused(message: string): GuardError {
  return new GuardError('forbidden', message);
}
