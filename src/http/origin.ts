// Protects against pages that make a browser send requests to a service on its own machine (DNS rebinding). A request
// must name a host of this service, and a request from a page must come from a page of this service. Routes with
// `checksOrigin` check this before anything else about a request.

import ipaddr from 'ipaddr.js';
import type { Config } from '../config.ts';
import { GuardError } from '../core/errors.ts';

export function checkOrigin(request: Request, config: Config): void {
  const host = request.headers.get('host') ?? '';
  const own = ownUrl(config);
  if (!isOwn(host, own)) {
    throw new GuardError(
      'forbidden',
      'The Host header names another service. Set TOOLGATE_PUBLIC_URL to this one’s.',
    );
  }
  const origin = request.headers.get('origin');
  if (origin === null || origin === own?.origin) return;
  const page = URL.canParse(origin) ? new URL(origin) : null;
  if (page === null || page.host !== host) {
    throw new GuardError('forbidden', 'Requests from pages of other origins are refused.');
  }
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
