// What a single sign-on provider says about a person, read into what we go by: an e-mail that can be relied on,
// and the role its groups give here. Pure; whom that makes an operator is single-sign-on.ts's.

import { hidesCharacters, normalEmail } from '../../core/email.ts';
import { GuardError } from '../../core/errors.ts';
import { ROLES, type Role } from '../../store/operators.ts';

export type Claims = Record<string, unknown>;

export interface ClaimRules {
  /** E-mail domains that may sign in; none: every domain. */
  oidcAllowedDomains: readonly string[];
  /** The claim that lists a person's groups. */
  oidcRoleClaim: string;
  oidcRoles: readonly { role: Role; group: string }[];
  /** For people of the allowed domains whom no group gives a role. */
  oidcDefaultRole: Role | null;
}

export interface Person {
  email: string;
  /** Whether the provider says so; one that says the contrary is not let through at all. */
  emailVerified: boolean;
  /** The role that the claims give; null when they give none. */
  role: Role | null;
}

const EMAIL = /^[^\s@<>,]+@[^\s@<>,]+$/;
const MAX_EMAIL = 320;

/** Refuses whose e-mail is missing, not theirs for certain, or of a domain that is not let in. */
export function readPerson(claims: Claims, rules: ClaimRules): Person {
  const email = emailOf(claims);
  const { email_verified: said } = claims;
  if (said === false || said === 'false') throw refused('Your e-mail is not verified at the provider.');
  const emailVerified = said === true || said === 'true';
  const byGroup = groupRole(claims, rules);
  // Some providers never say whether an e-mail is verified; being in a group that counts here is as good.
  if (!emailVerified && byGroup === null) {
    throw refused('The provider does not say that your e-mail is verified.');
  }
  const domain = email.slice(email.lastIndexOf('@') + 1);
  const { oidcAllowedDomains: allowed } = rules;
  if (allowed.length > 0 && !allowed.includes(domain)) {
    throw refused('People of your e-mail’s domain cannot sign in here.');
  }
  return { email, emailVerified, role: byGroup ?? (emailVerified ? rules.oidcDefaultRole : null) };
}

function emailOf({ email }: Claims): string {
  const text = typeof email === 'string' ? normalEmail(email) : '';
  if (hidesCharacters(text)) throw refused('Your e-mail at the provider has characters that nobody can see.');
  if (text.length <= MAX_EMAIL && EMAIL.test(text)) return text;
  throw refused('The provider did not tell your e-mail.');
}

/** The greatest role that any of the person's groups gives. */
function groupRole(claims: Claims, { oidcRoleClaim, oidcRoles }: ClaimRules): Role | null {
  const groups = groupsIn(claims, oidcRoleClaim);
  const given = oidcRoles.filter(each => groups.includes(each.group)).map(each => each.role);
  return ROLES.find(role => given.includes(role)) ?? null;
}

/** A claim by its name, or where the name has dots by its path: `realm_access.roles`. */
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
