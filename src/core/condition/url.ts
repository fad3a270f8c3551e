// `url.host(u)`, `url.scheme(u)` and `url.port(u)` of the condition language. They answer only where a strict reading by RFC
// 3986 and the WHATWG parser agree: that parser repairs much (backslashes, tabs, missing slashes, `127.1`), and the tool that
// later opens the URL may have another one, which reads another host. null is a failure.

import { asciiLowerCase } from '../text/email.ts';

interface Parts {
  scheme: string;
  host: string | null;
  port: number | null;
}

const PORTS: Record<string, number> = { http: 80, https: 443, ws: 80, wss: 443, ftp: 21 };

/** Control characters, blanks and backslashes are dropped or replaced by the parser; halves of characters too. */
const UNCLEAR = /[\p{Cc}\p{Cs}\p{Z}\ufeff\\]/u;
/** Scheme, user, host, port and rest. The user is plain, because `evil.com%2f@good.com` and `evil.com&@good.com` are tricks. */
const URL_PARTS =
  /^([a-z][a-z0-9+.-]*):\/\/(?:[\w.~:+-]*@)?(\[[0-9a-f:.]+\]|[^[\]/?#@:%]*)(?::([1-9]\d{0,4}))?($|[/?#].*$)/is;
/** Schemes without a host. `example.com:80/` looks like one of them as well, hence a list. */
const WITHOUT_HOST = /^(about|blob|cid|data|javascript|mailto|mid|tel|urn):/i;

const HOST = /^(?:[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?$/;
const MAX_HOST = 253;
/** What parsers map in different ways, or to nothing; ß and ς are among them. */
const MAPPED = /[^\p{L}\p{N}\p{M}.-]|\p{Default_Ignorable_Code_Point}|[ßς]/u;

/** The host in lower case and in punycode; an IPv6 address keeps its brackets and is written in its shortest form. */
export function urlHost(url: string): string | null {
  return partsOf(url)?.host ?? null;
}

/** The scheme in lower case and without the colon. */
export function urlScheme(url: string): string | null {
  return partsOf(url)?.scheme ?? null;
}

/** The scheme's own where none is given; a scheme that has none fails. */
export function urlPort(url: string): number | null {
  const parts = partsOf(url);
  if (parts === null || parts.host === null) return null;
  return parts.port ?? (Object.hasOwn(PORTS, parts.scheme) ? (PORTS[parts.scheme] as number) : null);
}

function partsOf(url: string): Parts | null {
  if (UNCLEAR.test(url) || !URL.canParse(url)) return null;
  const found = URL_PARTS.exec(url);
  if (found === null) {
    const scheme = WITHOUT_HOST.exec(url)?.[1];
    return scheme === undefined ? null : { scheme: scheme.toLowerCase(), host: null, port: null };
  }
  const [, name = '', written = '', port, rest = ''] = found;
  const scheme = name.toLowerCase();
  // Some parsers look for the `@` before they look for the end of the host: `http://evil.com#@good.com/`.
  if (/^[?#].*@/s.test(rest)) return null;
  if (written === '') {
    // `file:///etc` names no host, `http:///x` lacks one, and `file:////x` is a host to some.
    const isPath = !Object.hasOwn(PORTS, scheme) && /^\/(?!\/)/.test(rest);
    return isPath ? { scheme, host: null, port: null } : null;
  }
  const host = hostOf(written);
  // The parser takes the host of other schemes than the web's as it is written, hence the lower case.
  if (host === null || new URL(url).hostname.toLowerCase() !== host) return null;
  return { scheme, host, port: port === undefined ? null : Number(port) };
}

/** The host as the parser reads it, if it means the same to everybody. */
function hostOf(written: string): string | null {
  if (written.length > MAX_HOST || !URL.canParse(`http://${written}/`)) return null;
  const host = new URL(`http://${written}/`).hostname;
  if (written.startsWith('[')) return host;
  if (!HOST.test(host)) return null;
  const plain = asciiLowerCase(written);
  if (/^[\0-\x7f]*$/.test(plain)) return host === plain ? host : null;
  return plain === plain.toLowerCase().normalize('NFKC') && !MAPPED.test(plain) ? host : null;
}
