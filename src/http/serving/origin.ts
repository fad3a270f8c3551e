// Protects against pages of other sites, for which browsers send requests, with cookies and to services on their own
// machine (DNS rebinding). `senderOf` tells by the headers of a browser who has sent a request. Routes with `checksOrigin`
// check it, and the host that the request names, before anything else; others say which senders they accept.

import ipaddr from 'ipaddr.js';
import { GuardError } from '../../core/errors.ts';
import type { Config } from '../../settings/config.ts';

export function checkOrigin(request: Request, config: Config): void {
  const host = request.headers.get('host') ?? '';
  const own = ownUrl(config);
  if (!isOwn(host, own)) {
    throw new GuardError(
      'forbidden',
      'The Host header names another service. Set TOOLGATE_PUBLIC_URL to this one’s.',
    );
  }
  requireSender(config, request, 'own page', 'program');
}

/** A page without a name hides its origin, or it is a person who has entered the address. */
export type Sender = 'own page' | 'other page' | 'unnamed page' | 'program';

export function requireSender(config: Config, request: Request, ...accepted: Sender[]): void {
  if (!accepted.includes(senderOf(config, request)))
    throw new GuardError('forbidden', 'Only this service’s own pages may send this.');
}

/** No page can set these headers itself. Browsers send `Sec-Fetch-Site` over https and to loopback. */
export function senderOf(config: Config, request: Request): Sender {
  const site = request.headers.get('sec-fetch-site');
  const origin = request.headers.get('origin');
  if (site === null && origin === null) return 'program';
  const isNamed = origin !== null && origin !== 'null';
  const own = isNamed ? ownUrl(config) : null;
  // Behind a proxy that speaks https, a request names the origin of plain http, where anybody on the way can make pages.
  if (isNamed && own?.protocol === 'https:' && origin !== own.origin) return 'other page';
  if (site === 'same-origin') return 'own page';
  if (site !== null) return site === 'none' ? 'unnamed page' : 'other page';
  if (!isNamed) return 'unnamed page';
  return origin === own?.origin || origin === new URL(request.url).origin ? 'own page' : 'other page';
}

/** Whether the Host header of a request names this service. */
export function isOwnHost(request: Request, config: Config): boolean {
  return isOwn(request.headers.get('host') ?? '', ownUrl(config));
}

function ownUrl({ publicUrl }: Config): URL | null {
  return publicUrl === null ? null : new URL(publicUrl);
}

function isOwn(host: string, own: URL | null): boolean {
  return host === own?.host || isLocalName(host);
}

const KNOWN_LOCAL = new Set<string>();
const MAX_KNOWN = 100;

/** Rebinding needs a name that an attacker controls. An address or localhost is not such a name. */
function isLocalName(host: string): boolean {
  if (KNOWN_LOCAL.has(host)) return true;
  const local = readsAsLocal(host);
  // Parsing a host took 5 % of a forwarded call, and a service has few hosts, so the results are kept.
  if (local && KNOWN_LOCAL.size < MAX_KNOWN) KNOWN_LOCAL.add(host);
  return local;
}

function readsAsLocal(host: string): boolean {
  const url = URL.canParse(`http://${host}`) ? new URL(`http://${host}`) : null;
  if (url === null) return false;
  const name = url.hostname.replace(/^\[|\]$/g, '');
  return name === 'localhost' || name.endsWith('.localhost') || ipaddr.isValid(name);
}

/** The address under which people reach the service: as configured, or else that of this request. */
export function baseUrl({ publicUrl }: Pick<Config, 'publicUrl'>, request: Request): string {
  return publicUrl ?? new URL(request.url).origin;
}

/** The issuer of our OAuth tokens. The settings guarantee a public URL wherever OAuth is on. */
export const issuerOf = ({ publicUrl }: Config): string => publicUrl ?? '';
/** The resource that our OAuth tokens are for. */
export const resourceOf = (config: Config): string => `${issuerOf(config)}/mcp`;
