// Finds a resource of /admin/v1 by its name or id. http.ts sends the requests; service-options.ts finds the token.

import type { Key, Operator, Policy } from '../core/api/resources.ts';
import { didYouMean } from '../core/text/did-you-mean.ts';
import { normalEmail } from '../core/text/email.ts';
import { CliError, EXIT } from './exit.ts';
import type { Http } from './http.ts';
import { time } from './print.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export async function allOf<T>(http: Http, plural: string): Promise<T[]> {
  const found: T[] = [];
  for await (const item of http.all<T>(`/${plural}`, plural)) found.push(item);
  return found;
}

/** The id of the policy with this name or id. */
export async function policyId(http: Http, nameOrId: string): Promise<string> {
  if (UUID.test(nameOrId)) return nameOrId.toLowerCase();
  const policies = await allOf<Policy>(http, 'policies');
  return theOne(
    'policy',
    nameOrId,
    policies.filter(each => each.name === nameOrId),
    BY_ID,
    policies.map(each => each.name),
  ).id;
}

/** The id of the key with this name or id; only valid keys are found by name. */
export async function keyId(http: Http, nameOrId: string): Promise<string> {
  if (UUID.test(nameOrId)) return nameOrId.toLowerCase();
  return theOne('live key', nameOrId, (await keysNamed(http, nameOrId)).filter(isLive)).id;
}

/** As `keyId`, for past events: if no valid key has the name, a revoked one is found. */
export async function pastKeyId(http: Http, nameOrId: string): Promise<string> {
  if (UUID.test(nameOrId)) return nameOrId.toLowerCase();
  const named = await keysNamed(http, nameOrId);
  return theOne('key', nameOrId, named.some(isLive) ? named.filter(isLive) : named).id;
}

/** The id of the operator with this e-mail address or id. */
export async function operatorId(http: Http, emailOrId: string): Promise<string> {
  if (UUID.test(emailOrId)) return emailOrId.toLowerCase();
  const email = normalEmail(emailOrId);
  const operators = await allOf<Operator>(http, 'operators');
  const found = operators.find(each => each.email === email);
  if (found === undefined)
    throw new CliError(EXIT.failed, `There is no operator with the e-mail "${email}".`);
  return found.id;
}

async function keysNamed(http: Http, name: string): Promise<Key[]> {
  return (await allOf<Key>(http, 'keys')).filter(key => key.name === name);
}

function isLive(key: Key): boolean {
  return key.revokedAt === null;
}

/** The fields that distinguish two resources of the same name. */
interface Named {
  id: string;
  createdAt: string;
  prefix?: string;
}

const BY_ID = 'Use the id of the one you mean in place of its name:';

/** `known` are the names that may have been meant, if there is none with this one. */
export function theOne<T extends Named>(
  what: string,
  name: string,
  found: readonly T[],
  advice = BY_ID,
  known: readonly string[] = [],
): T {
  const [first, ...others] = found;
  if (first === undefined) {
    const list = what === 'policy' ? 'policies' : 'keys';
    throw new CliError(
      EXIT.failed,
      `There is no ${what} named "${name}"; \`toolgate ${list} list\` shows those there are.${didYouMean(name, known)}`,
    );
  }
  if (others.length === 0) return first;
  const list = found.map(({ id, prefix, createdAt }) => {
    const token = prefix === undefined ? '' : `  ${prefix}…`;
    return `${id}${token}  created ${time(createdAt)}`;
  });
  throw new CliError(EXIT.failed, `More than one ${what} is named "${name}". ${advice}`, { list });
}

/** The names of keys by id, for tables that show the key of something. */
export async function keyNames(http: Http): Promise<Map<string, string>> {
  const keys = await allOf<Key>(http, 'keys');
  return new Map(keys.map(key => [key.id, key.name]));
}

export async function policyNames(http: Http): Promise<Map<string, string>> {
  const policies = await allOf<Policy>(http, 'policies');
  return new Map(policies.map(policy => [policy.id, policy.name]));
}
