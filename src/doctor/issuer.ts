// The checks of the identity providers: that of single sign-on and the issuer of the company's own tokens. What a
// provider says about itself is read, its issuer is compared, and its keys are read. Nobody signs in.

import { GuardError } from '../core/errors.ts';
import { isObject } from '../core/wire/json.ts';
import type { TargetRules } from '../guard/outgoing/addresses.ts';
import { boundedBody } from '../guard/outgoing/bounded-body.ts';
import { PinnedFetch } from '../guard/outgoing/pinned-fetch.ts';
import { type Config, targetRules } from '../settings/config.ts';
import { bad, type Examination, type Found, good } from './examine.ts';
import { sentence } from './reach.ts';

const MAX_BYTES = 1024 * 1024;
const METADATA = '/.well-known/openid-configuration';

export function issuerChecks(config: Config): Examination[] {
  const of = (name: string, issuer: string | null, setting: string): Examination[] =>
    issuer === null
      ? []
      : [
          {
            name,
            run: async signal => [await issuerFound({ name, issuer, setting }, targetRules(config), signal)],
          },
        ];
  return [
    ...of('single sign-on', config.oidcIssuer, 'TOOLGATE_OIDC_ISSUER'),
    ...of('company tokens', config.jwtIssuer, 'TOOLGATE_JWT_ISSUER'),
  ];
}

interface IssuerSetting {
  name: string;
  issuer: string;
  setting: string;
}

async function issuerFound(
  { name, issuer, setting }: IssuerSetting,
  rules: TargetRules,
  signal: AbortSignal,
): Promise<Found> {
  const fetcher = new PinnedFetch(rules);
  const { host } = new URL(issuer);
  try {
    const about = await readJson(fetcher, issuer.replace(/\/$/, '') + METADATA, signal);
    const named = typeof about['issuer'] === 'string' ? about['issuer'] : '';
    if (!isSame(named, issuer))
      return bad(
        name,
        `The provider at ${host} says that its issuer is ${named.slice(0, 200) || 'nothing'}, not ${issuer}: set ${setting} to exactly what it says.`,
      );
    const keys = await readJson(fetcher, String(about['jwks_uri'] ?? ''), signal);
    const count = Array.isArray(keys['keys']) ? keys['keys'].length : 0;
    if (count === 0)
      return bad(name, `The provider at ${host} shows no keys, so nothing that it signs can be verified.`);
    return good(name, `The provider at ${host} is ${issuer} and shows ${count} keys.`);
  } catch (error) {
    const why =
      error instanceof GuardError || error instanceof Unusable ? error.message : sentence(host, error);
    return bad(name, `${why} Is ${setting} right, and the provider up?`);
  }
}

/** A slash at the end makes another issuer, except after the host alone. */
function isSame(named: string, issuer: string): boolean {
  return URL.canParse(named) && new URL(named).href === new URL(issuer).href;
}

class Unusable extends Error {}

async function readJson(
  fetcher: PinnedFetch,
  url: string,
  signal: AbortSignal,
): Promise<Record<string, unknown>> {
  if (!URL.canParse(url)) throw new Unusable('The provider does not say where its keys are.');
  const { host } = new URL(url);
  const response = await fetcher.fetch(url, { headers: { Accept: 'application/json' }, signal });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Unusable(`The provider at ${host} answered ${response.status} when asked about itself.`);
  }
  const body = await boundedBody(response, MAX_BYTES);
  try {
    const value: unknown = JSON.parse(body?.toString('utf8') ?? '');
    if (isObject(value)) return value;
  } catch {}
  throw new Unusable(`The provider at ${host} gave an answer about itself that is no JSON.`);
}
