// Functions that read the text of a setting. A reader that cannot read it throws Wrong, which completes the sentence
// "NAME is …: it must be …".

import ipaddr from 'ipaddr.js';
import { asciiLowerCase, isEmail } from '../core/text/email.ts';
import { parseDuration } from '../core/time/duration.ts';
import { TRACE_ID } from '../core/wire/trace-context.ts';

export class Wrong extends Error {}

export function text(raw: string): string {
  if (raw.trim() === '') throw new Wrong('set to something');
  return raw.trim();
}

export function host(raw: string): string {
  if (!ipaddr.isValid(raw) && !/^[A-Za-z0-9.-]+$/.test(raw))
    throw new Wrong('an address to listen on, such as 127.0.0.1, ::1, or 0.0.0.0 for every one');
  return raw;
}

export function longText(length: number): (raw: string) => string {
  return raw => {
    if (raw.length < length) throw new Wrong(`at least ${length} characters long`);
    return raw;
  };
}

export function wholeNumber(min: number, max: number): (raw: string) => number {
  return raw => {
    const value = /^[0-9]{1,15}$/.test(raw) ? Number(raw) : Number.NaN;
    if (!(value >= min && value <= max)) throw new Wrong(`a whole number from ${min} to ${max}`);
    return value;
  };
}

export function oneOf<const T extends string>(...words: T[]): (raw: string) => T {
  return raw => {
    const found = words.find(word => word === raw);
    if (found === undefined) throw new Wrong(`one of ${words.join(', ')}`);
    return found;
  };
}

export function trueOrFalse(raw: string): boolean {
  return oneOf('true', 'false')(raw) === 'true';
}

export function onOrOff(raw: string): boolean {
  return oneOf('on', 'off')(raw) === 'on';
}

export function duration(raw: string): number {
  const ms = parseDuration(raw);
  if (ms === null) throw new Wrong('a duration such as 90s, 60m, 24h or 7d');
  return ms;
}

/** A shorter retention would delete what statistics and open approvals still need. */
const SHORTEST_RETENTION = 3_600_000;

export function retention(raw: string): number {
  const ms = parseDuration(raw);
  if (ms === null || ms < SHORTEST_RETENTION)
    throw new Wrong('a duration of at least an hour, such as 90d or 8760h');
  return ms;
}

export function webUrl(raw: string): string {
  const url = URL.canParse(raw) ? new URL(raw) : null;
  if (url === null || !/^https?:$/.test(url.protocol) || url.username + url.password !== '') {
    throw new Wrong('an http:// or https:// address, without a user name or password in it');
  }
  return raw.trim().replace(/\/+$/, '');
}

/** An address to which paths are appended. */
export function baseUrl(raw: string): string {
  const url = webUrl(raw);
  if (/[?#]/.test(url)) throw new Wrong('an http:// or https:// address without a query');
  return url;
}

export function traceUrl(raw: string): string {
  if (!raw.includes(TRACE_ID)) throw new Wrong(`an address with ${TRACE_ID} in it`);
  webUrl(raw);
  return raw;
}

/** The URL is used unchanged: for a provider, a slash at the end makes it another issuer. */
export function issuerUrl(raw: string): string {
  const url = URL.canParse(webUrl(raw)) ? new URL(raw) : null;
  const local = url !== null && /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname);
  if (url === null || url.search !== '' || url.hash !== '' || (url.protocol !== 'https:' && !local)) {
    throw new Wrong('an https:// address, without a query (http:// only on loopback)');
  }
  return raw;
}

export function smtpUrl(raw: string): string {
  const url = URL.canParse(raw) ? new URL(raw) : null;
  if (url === null || !/^smtps?:$/.test(url.protocol)) {
    throw new Wrong('an address such as smtp://user:password@host:587 or smtps://host');
  }
  return raw;
}

export function databaseUrl(raw: string): string {
  if (/^sqlite:.+/.test(raw) || /^postgres(ql)?:\/\//.test(raw)) return raw;
  throw new Wrong('sqlite:<path> or postgres://user:password@host:5432/database');
}

export function s3Key(raw: string): { id: string; secret: string } {
  const [, id, secret] = /^([^\s:]+):(\S+)$/.exec(raw) ?? [];
  if (id === undefined || secret === undefined) throw new Wrong('<access key id>:<secret access key>');
  return { id, secret };
}

export function masterKey(raw: string): Uint8Array {
  const bytes = /^[A-Za-z0-9+/]{43}=$/.test(raw) ? Buffer.from(raw, 'base64') : null;
  if (bytes?.length !== 32) throw new Wrong('base64 of 32 bytes (make one with: openssl rand -base64 32)');
  return new Uint8Array(bytes);
}

function list(raw: string): string[] {
  return raw
    .split(',')
    .map(each => each.trim())
    .filter(each => each !== '');
}

/** Methods of MCP, and `GET` and `DELETE` of its transport. `allow` and `deny` stand for all methods and for none. */
export function mcpMethods(raw: string): string[] {
  if (raw === 'deny') return [];
  const found = raw === 'allow' ? ['*'] : list(raw);
  if (found.length > 0 && found.every(each => MCP_METHOD.test(each) && each !== 'tools/call')) return found;
  throw new Wrong(
    'allow, deny, or methods of MCP such as initialize,ping,notifications/*, without tools/call, which is always judged',
  );
}

const MCP_METHOD = /^(?:\*|[A-Za-z][A-Za-z0-9_$.-]*(?:\/[A-Za-z0-9_$.-]+)*(?:\/\*)?)$/;

export function emails(raw: string): string[] {
  const found = list(raw);
  if (!found.every(isEmail)) throw new Wrong('e-mail addresses, comma-separated');
  return found;
}

export function domains(raw: string): string[] {
  const found = list(raw).map(asciiLowerCase);
  if (found.some(each => !/^[a-z0-9.-]+$/.test(each)))
    throw new Wrong('domains such as example.com, comma-separated');
  return found;
}

export function scopes(raw: string): string {
  const found = raw.split(/[\s,]+/).filter(each => each !== '');
  if (!found.includes('openid')) throw new Wrong('scopes separated by spaces, openid among them');
  return found.join(' ');
}

interface GroupRole {
  role: 'admin' | 'approver' | 'viewer' | 'user';
  group: string;
}

export function groupRoles(raw: string): GroupRole[] {
  return list(raw).map(each => {
    const [, role, group] = /^(admin|approver|viewer|user)=(.+)$/.exec(each) ?? [];
    if (role === undefined || group === undefined)
      throw new Wrong('roles and groups such as admin=platform,viewer=staff');
    return { role, group: group.trim() } as GroupRole;
  });
}

export type Cidr = [ipaddr.IPv4 | ipaddr.IPv6, number];

export function cidrs(raw: string): Cidr[] {
  return list(raw).map(each => {
    const whole = each.includes('/') ? each : `${each}/${each.includes(':') ? 128 : 32}`;
    if (!ipaddr.isValidCIDR(whole)) throw new Wrong('networks such as 10.0.0.0/8, comma-separated');
    return ipaddr.parseCIDR(whole);
  });
}

const isRedirect = (raw: string): boolean =>
  URL.canParse(raw) && !raw.includes('#') && !/^(http|javascript|data|file|blob|about|vbscript):/i.test(raw);

/** Addresses of https and of apps, such as cursor://…. Those of loopback need not be listed. */
export function redirectUris(raw: string): string[] {
  const uris = raw
    .split(',')
    .map(each => each.trim())
    .filter(each => each !== '');
  if (uris.every(isRedirect)) return uris;
  throw new Wrong(
    'whole https or app addresses without a fragment, such as https://agent.example.com/callback',
  );
}

/** As OpenTelemetry has it: only `true`, in any case, is true. */
export function trueOnly(raw: string): boolean {
  return raw.trim().toLowerCase() === 'true';
}

export function ratio(raw: string): number {
  const value = /^(?:\d+\.?\d*|\.\d+)$/.test(raw) ? Number(raw) : Number.NaN;
  if (!(value >= 0 && value <= 1)) throw new Wrong('a number from 0 to 1, such as 0.01');
  return value;
}

/** OpenTelemetry allows a list of exporters, of which this program has one. */
export function exporter(raw: string): 'otlp' | 'none' {
  return list(raw).includes('otlp') ? 'otlp' : 'none';
}

/** Pairs of `name=value`, comma-separated, whose values are percent-encoded. */
function pairs(raw: string): [name: string, value: string][] | null {
  const found: [string, string][] = [];
  for (const each of list(raw)) {
    const at = each.indexOf('=');
    if (at < 1) return null;
    try {
      found.push([each.slice(0, at).trim(), decodeURIComponent(each.slice(at + 1).trim())]);
    } catch {
      return null;
    }
  }
  return found;
}

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const HEADER_VALUE = /^[\x20-\x7e]*$/;

/** Names are in lower case, so that one that is given takes the place of one of ours. */
export function headerList(raw: string): Record<string, string> {
  const found = pairs(raw);
  if (found?.every(([name, value]) => HEADER_NAME.test(name) && HEADER_VALUE.test(value)) !== true)
    throw new Wrong('headers such as authorization=Bearer%20abc,x-tenant=one, with values percent-encoded');
  return Object.fromEntries(found.map(([name, value]) => [asciiLowerCase(name), value]));
}

export function attributeList(raw: string): Record<string, string> {
  const found = pairs(raw);
  if (found === null)
    throw new Wrong('attributes such as deployment.environment.name=prod, comma-separated, percent-encoded');
  return Object.fromEntries(found);
}
