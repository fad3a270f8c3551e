// Reads the challenge of a server that wants a token: the header WWW-Authenticate with the scheme Bearer (RFC 6750,
// RFC 9728). What a server says there is bounded, and whatever cannot be read counts as not said. Which scopes a sign-in
// asks for follows from it.

export interface Challenge {
  resourceMetadata: string | null;
  /** Null if the challenge names none. */
  scopes: string[] | null;
  error: string | null;
}

const MAX_HEADER = 8192;
const MAX_SCOPES = 100;
const MAX_SCOPE_CHARS = 200;
/** A parameter, or the name of a scheme that begins another challenge. */
const PART = /[\s,]*(?:([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))|([\w-]+)(?=[\s,]|$))/y;

export function readChallenge(header: string | null): Challenge {
  const said = new Map<string, string>();
  const text = (header ?? '').slice(0, MAX_HEADER);
  let scheme = '';
  PART.lastIndex = 0;
  for (let part = PART.exec(text); part !== null; part = PART.exec(text)) {
    const [, name, quoted, plain, begins] = part;
    if (begins !== undefined) scheme = begins.toLowerCase();
    else if (scheme === 'bearer' && name !== undefined && !said.has(name.toLowerCase()))
      said.set(name.toLowerCase(), quoted?.replace(/\\(.)/g, '$1') ?? plain ?? '');
  }
  const scope = said.get('scope');
  return {
    resourceMetadata: said.get('resource_metadata') ?? null,
    scopes: scope === undefined ? null : readScopes(scope.split(' ')),
    error: said.get('error') ?? null,
  };
}

/** The scopes in a list of a server, without what cannot be a scope (RFC 6749, section 3.3). */
export function readScopes(list: readonly unknown[]): string[] {
  const scopes = list.filter(
    (each): each is string =>
      typeof each === 'string' && each.length <= MAX_SCOPE_CHARS && /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(each),
  );
  return [...new Set(scopes)].slice(0, MAX_SCOPES);
}

/** The scopes in a text in which spaces separate them. */
export const listedScopes = (scopes: string | null): string[] =>
  (scopes ?? '').split(' ').filter(each => each !== '');

/** What a sign-in asks for: what is wanted already, what the server names, and lasting access if the server offers it. */
export function chosenScopes(
  found: string[] | null,
  wanted: string | null,
  supported: string[] | undefined,
): string[] | null {
  const chosen = [...new Set([...listedScopes(wanted), ...(found ?? [])])];
  if (chosen.length === 0) return null;
  const offline = supported?.includes('offline_access') && !chosen.includes('offline_access');
  return offline ? [...chosen, 'offline_access'] : chosen;
}
