// Where an OAuth client may be sent with its code. What strangers register is limited to this computer, to the addresses of
// well-known clients and to those in the settings; a client with a document may also be sent to its own host. The functions
// are pure.

/** The addresses of well-known clients, as they registered them in November 2026 (test/vectors/oauth). */
const WELL_KNOWN = new Set([
  'https://claude.ai/api/mcp/auth_callback',
  'https://claude.com/api/mcp/auth_callback',
  'https://chatgpt.com/connector_platform_oauth_redirect',
  'https://vscode.dev/redirect',
  'https://insiders.vscode.dev/redirect',
  'https://www.cursor.com/agents/mcp/oauth/callback',
  'cursor://anysphere.cursor-mcp/oauth/callback',
]);
/** ChatGPT gives each connector an address of its own, unless the server names itself in `iss`. */
const CHATGPT_CONNECTOR = /^https:\/\/chatgpt\.com\/connector\/oauth\/[\w-]{1,100}$/;

/** Only these spellings: what is compared as text must not depend on how somebody parses it. */
const LOOPBACK = /^http:\/\/(localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?((?:[/?].*)?)$/;
const APP_SCHEME = /^[a-z][a-z0-9+.-]*:\/{1,2}[^/]/;
/** Schemes with which a browser itself does something, or that lead to no app. */
const NO_APPS = new Set(
  'javascript data vbscript file blob about ws wss ftp filesystem view-source intent mailto tel sms chrome'
    .split(' ')
    .map(each => `${each}:`),
);
const MAX_CHARS = 500;

/** What is wrong with an address, whoever registers it, or null. */
export function redirectFault(uri: string): string | null {
  if (uri.length > MAX_CHARS) return `must have at most ${MAX_CHARS} characters`;
  if (!/^[\x21-\x7e]*$/.test(uri) || /[\\#<>"]/.test(uri))
    return 'must have no spaces, no fragment and no characters that URIs escape';
  const url = URL.canParse(uri) ? new URL(uri) : null;
  if (url === null) return 'must be a whole address';
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or password';
  if (LOOPBACK.test(uri) || /^https:\/\/[^/]/.test(uri)) return null;
  if (url.protocol === 'http:')
    return 'must be https, or http on localhost, 127.0.0.1 or [::1] with a plain port';
  return APP_SCHEME.test(uri) && !NO_APPS.has(url.protocol) && url.protocol !== 'https:'
    ? null
    : 'must be an https, loopback or app address';
}

export function isLoopback(uri: string): boolean {
  return redirectFault(uri) === null && LOOPBACK.test(uri);
}

/** Whether anybody who registers may name this address. `listed` are those of the settings. */
export function isOpenRedirect(uri: string, listed: readonly string[]): boolean {
  if (redirectFault(uri) !== null) return false;
  return LOOPBACK.test(uri) || WELL_KNOWN.has(uri) || CHATGPT_CONNECTOR.test(uri) || listed.includes(uri);
}

/** Whether an address is on the host of a client's document, over https. */
export function isOnHostOf(documentUrl: string, uri: string): boolean {
  return (
    redirectFault(uri) === null &&
    uri.startsWith('https://') &&
    new URL(uri).host === new URL(documentUrl).host
  );
}

/** Addresses are equal as texts. On loopback the port may differ: programs listen on any that is free (RFC 8252). */
export function sameRedirect(registered: string, asked: string): boolean {
  if (registered === asked) return true;
  const [, host, rest] = LOOPBACK.exec(registered) ?? [];
  const [, askedHost, askedRest] = LOOPBACK.exec(asked) ?? [];
  return host !== undefined && host === askedHost && (rest || '/') === (askedRest || '/');
}
