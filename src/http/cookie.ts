// The cookie that carries a sign-in. Over https it has the `__Host-` prefix, which ties it to this very host;
// browsers refuse that prefix over plain http, so there it has another name.

import type { Config } from '../config.ts';
import { SIGN_IN_MS } from '../guard/sign-ins.ts';

function isSecure({ publicUrl }: Config): boolean {
  return publicUrl !== null && new URL(publicUrl).protocol === 'https:';
}

const nameOf = (config: Config): string => (isSecure(config) ? '__Host-toolgate' : 'toolgate_session');

/** What the browser brought; null when it brought none. */
export function readCookie(config: Config, request: Request): string | null {
  const start = `${nameOf(config)}=`;
  const pairs = (request.headers.get('cookie') ?? '').split(';').map(pair => pair.trim());
  return pairs.find(pair => pair.startsWith(start))?.slice(start.length) ?? null;
}

export function cookieFor(config: Config, secret: string): string {
  return setCookie(config, secret, SIGN_IN_MS / 1000);
}

export function cookieGone(config: Config): string {
  return setCookie(config, '', 0);
}

function setCookie(config: Config, value: string, maxAge: number): string {
  const flags = `Path=/; Max-Age=${maxAge}; HttpOnly; SameSite=Lax${isSecure(config) ? '; Secure' : ''}`;
  return `${nameOf(config)}=${value}; ${flags}`;
}
