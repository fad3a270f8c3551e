// Credentials in headers: the token of `Authorization: Bearer`, and where a key stands if the caller cannot set that: in
// `x-api-key`, or as the password of the user `toolgate` in Basic authentication. Only the doors for agents and gateways
// accept the latter two.

import { GuardError } from '../../core/errors.ts';
import { tokenKind } from '../../guard/secrets.ts';

/** The key in one of these headers, or null if it can only be in a Bearer header. */
export function carriedKey(headers: Headers): string | null {
  const apiKey = headers.get('x-api-key');
  const authorization = headers.get('authorization');
  const other = authorization === null ? null : (basicPassword(authorization) ?? ourBearer(authorization));
  if (apiKey === null) return other;
  // A gateway may pass its client's own credential for another service on; that one is nothing to us.
  if (other !== null && other !== apiKey)
    throw new GuardError('unauthenticated', 'The headers x-api-key and Authorization name different keys.');
  return apiKey;
}

const BASIC = /^Basic +([A-Za-z0-9+/]{1,4096}={0,2}) *$/i;
const USER = 'toolgate:';

function basicPassword(header: string): string | null {
  const encoded = BASIC.exec(header)?.[1];
  if (encoded === undefined) return null;
  const decoded = Buffer.from(encoded, 'base64').toString('latin1');
  return decoded.startsWith(USER) ? decoded.slice(USER.length) : null;
}

function ourBearer(header: string): string | null {
  const token = bearerIn(header);
  return token !== null && tokenKind(token) !== null ? token : null;
}

/** The token of an Authorization header with the scheme Bearer, or null. */
export function bearerIn(header: string): string | null {
  return /^Bearer +(\S+) *$/i.exec(header)?.[1] ?? null;
}
