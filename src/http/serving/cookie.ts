// The cookies: one carries a sign-in, the others bind a single sign-on or a sign-in to a server that is in progress to its
// browser. Over https their names have the prefix `__Host-`, which binds them to this host. Browsers refuse that prefix
// over plain http, so there they have other names.

import { SIGN_IN_MS } from '../../guard/people/sign-ins.ts';
import { SIGN_ON_MS } from '../../guard/people/single-sign-on.ts';
import { VISIT_MS } from '../../guard/server-sign-ins/visits.ts';
import type { Config } from '../../settings/config.ts';

function isSecure({ publicUrl }: Config): boolean {
  return publicUrl !== null && new URL(publicUrl).protocol === 'https:';
}

type Name = 'sign-in' | 'sign-on' | 'server';
const NAMES: Record<Name, [overHttps: string, otherwise: string]> = {
  'sign-in': ['__Host-toolgate', 'toolgate_session'],
  'sign-on': ['__Host-toolgate-sign-on', 'toolgate_sign_on'],
  server: ['__Host-toolgate-server', 'toolgate_server'],
};

const nameOf = (config: Config, name: Name): string => NAMES[name][isSecure(config) ? 0 : 1];

/** The sign-in in the browser's cookie, or null. */
export function readCookie(config: Config, request: Request): string | null {
  return read(config, 'sign-in', request);
}

export function cookieFor(config: Config, secret: string): string {
  return setCookie(config, 'sign-in', secret, SIGN_IN_MS / 1000);
}

export function cookieGone(config: Config): string {
  return setCookie(config, 'sign-in', '', 0);
}

/** The sign-on that this browser began. */
export function readSignOnCookie(config: Config, request: Request): string | null {
  return read(config, 'sign-on', request);
}

export function signOnCookie(config: Config, secret: string): string {
  return setCookie(config, 'sign-on', secret, SIGN_ON_MS / 1000);
}

export function signOnCookieGone(config: Config): string {
  return setCookie(config, 'sign-on', '', 0);
}

/** The browser in which somebody began to sign in to a server. */
export function readServerCookie(config: Config, request: Request): string | null {
  return read(config, 'server', request);
}

export function serverCookie(config: Config, secret: string): string {
  return setCookie(config, 'server', secret, VISIT_MS / 1000);
}

function read(config: Config, name: Name, request: Request): string | null {
  const start = `${nameOf(config, name)}=`;
  const pairs = (request.headers.get('cookie') ?? '').split(';').map(pair => pair.trim());
  return pairs.find(pair => pair.startsWith(start))?.slice(start.length) ?? null;
}

function setCookie(config: Config, name: Name, value: string, maxAge: number): string {
  const flags = `Path=/; Max-Age=${maxAge}; HttpOnly; SameSite=Lax${isSecure(config) ? '; Secure' : ''}`;
  return `${nameOf(config, name)}=${value}; ${flags}`;
}
