// Checks where the service may send: the form of a URL, and the network addresses of its host. The result contains the
// checked addresses, so that the sender connects to those and does not resolve the name again. The sender makes the
// connection.

import ipaddr from 'ipaddr.js';
import { GuardError, invalidInput } from '../../core/errors.ts';
import { lookUp } from './dns.ts';

export interface TargetRules {
  /** Whether loopback and private networks are allowed. Link-local and metadata addresses never are. */
  allowPrivate: boolean;
}

export interface Address {
  address: string;
  family: 4 | 6;
}

/** The first of the checked addresses, and all of them in the order to try. */
export interface Target extends Address {
  url: URL;
  addresses: Address[];
}

export type Resolve = (host: string) => Promise<{ address: string }[]>;

type Ip = ipaddr.IPv4 | ipaddr.IPv6;

const MAX_URL_CHARS = 2048;

/** What is wrong with the form of a target's URL, or null. It does not resolve the host. */
export function urlFault(text: string): string | null {
  if (text.length > MAX_URL_CHARS) return `must have at most ${MAX_URL_CHARS} characters`;
  // The URL parser silently drops tabs and line breaks, so the stored URL would differ from the one that is called.
  if (/[\s\p{Cc}]/u.test(text)) return 'must not contain spaces or control characters';
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:\/\//i.test(text)) return 'must be an http:// or https:// address';
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or password';
  if (url.port === '0') return 'must not name port 0';
  return null;
}

/** Checks a target when it is entered and throws its fault as an input error, so that a mistake is noticed early. */
export async function requireTarget(url: string, rules: TargetRules, path = '/url'): Promise<void> {
  try {
    await checkTarget(url, rules);
  } catch (error) {
    if (!(error instanceof GuardError)) throw error;
    throw invalidInput([{ path, message: error.message }]);
  }
}

/** Throws unless every address of the host is allowed. */
export async function checkTarget(
  text: string,
  rules: TargetRules,
  resolve: Resolve = lookUp,
): Promise<Target> {
  const fault = urlFault(text);
  if (fault !== null) throw refused(`The URL ${fault}.`);
  const url = new URL(text);
  const host = targetHost(url);
  if (isMetadataName(host)) throw refused(`${host} is a cloud metadata service, which is never allowed.`);
  const ips = (await addressesOf(host, resolve)).map(parseAddress);
  for (const ip of ips) {
    const wrong = ip === null ? 'an unreadable address' : addressFault(ip, rules);
    if (wrong !== null) throw refused(`${subject(host, ip)} ${wrong}.`);
  }
  // IPv4 comes first: many containers have no route for IPv6, and a dead route costs the whole time-out.
  const addresses = ips.map(ip => reachable(ip as Ip)).sort((a, b) => a.family - b.family);
  const first = addresses[0];
  if (first === undefined) throw refused('The host name could not be resolved.');
  return { url, ...first, addresses };
}

/** The host without IPv6 brackets and without the trailing dot that a fully qualified name may have. */
export function targetHost(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
}

function refused(sentence: string, cause?: unknown): GuardError {
  return new GuardError('invalid_input', sentence, { cause });
}

function subject(host: string, ip: Ip | null): string {
  const shown = ip === null ? 'something that is' : ip.toString();
  return shown === host ? `${host} is` : `${host} stands for ${shown},`;
}

async function addressesOf(host: string, resolve: Resolve): Promise<string[]> {
  if (ipaddr.IPv4.isValidFourPartDecimal(host) || host.includes(':')) return [host];
  // By RFC 6761 these names always mean loopback, whatever a name server answers.
  if (host === 'localhost' || host.endsWith('.localhost')) return ['127.0.0.1', '::1'];
  try {
    return (await resolve(host)).map(each => each.address);
  } catch (cause) {
    throw refused('The host name could not be resolved.', cause);
  }
}

function parseAddress(text: string): Ip | null {
  return ipaddr.isValid(text) ? ipaddr.parse(text) : null;
}

function reachable(ip: Ip): Address {
  const plain = ip.kind() === 'ipv6' && (ip as ipaddr.IPv6).isIPv4MappedAddress() ? embedded(ip)[0] : ip;
  const address = (plain ?? ip).toString();
  return { address, family: address.includes(':') ? 6 : 4 };
}

const METADATA_NAMES = new Set([
  'metadata',
  'metadata.google.internal',
  'metadata.goog',
  'metadata.azure.internal',
  'metadata.tencentyun.com',
  'metadata.platformequinix.com',
  'instance-data',
  'instance-data.ec2.internal',
  'rancher-metadata',
]);

/** Metadata addresses outside the link-local ranges. Those ranges are refused as a whole. */
const METADATA_ADDRESSES = new Set([
  '100.100.100.200', // Alibaba
  '168.63.129.16', // Azure's host service, on a public address that is reachable only inside Azure
  'fd00:ec2::254', // Amazon
  'fd00:ec2::253',
  'fd20:ce::254', // Google
  'fd00:42::42', // Scaleway
  'fd00:c1::a9fe:a9fe', // Oracle
]);

function isMetadataName(host: string): boolean {
  return METADATA_NAMES.has(host) || host.endsWith('.metadata.google.internal');
}

const PRIVATE_RANGES: Record<string, string> = {
  private: 'a private address',
  uniqueLocal: 'a private address',
  loopback: 'a loopback address',
  carrierGradeNat: 'an address of a shared network (carrier-grade NAT)',
};

const REFUSED_RANGES: Record<string, string> = {
  linkLocal: 'a link-local address',
  metadata: 'a cloud metadata address',
  unspecified: 'an unspecified address',
  multicast: 'a multicast address',
  broadcast: 'a broadcast address',
};

function addressFault(ip: Ip, rules: TargetRules): string | null {
  for (const each of embedded(ip)) {
    const range = rangeOf(each);
    if (range === 'unicast') continue;
    const soft = PRIVATE_RANGES[range];
    if (soft === undefined) return `${REFUSED_RANGES[range] ?? 'a reserved address'}, which is never allowed`;
    if (!rules.allowPrivate) return `${soft}; to allow it set TOOLGATE_ALLOW_PRIVATE_NETWORKS=true`;
  }
  return null;
}

function rangeOf(ip: Ip): string {
  if (METADATA_ADDRESSES.has(ip.toString())) return 'metadata';
  const range = ip.range();
  // The library calls every range that it does not know unicast. Of IPv6, only 2000::/3 is assigned as global unicast.
  if (range === 'unicast' && ip.kind() === 'ipv6' && (ip as ipaddr.IPv6).parts[0]! >> 13 !== 1)
    return 'reserved';
  return range;
}

/** The addresses at which a packet to this one may arrive: the IPv4 addresses embedded in it, or else itself. */
function embedded(ip: Ip): Ip[] {
  if (ip.kind() === 'ipv4') return [ip];
  const parts = (ip as ipaddr.IPv6).parts as [number, number, number, number, number, number, number, number];
  const [, a, b, c, , , y, z] = parts;
  switch (ip.range() as string) {
    case 'ipv4Mapped':
    case 'rfc6145':
      return [ipv4(y, z)];
    case 'rfc6052': // NAT64; in 64:ff9b:1::/48 each network chooses where the IPv4 address is
      return b === 0 ? [ipv4(y, z)] : [ip];
    case '6to4':
      return [ipv4(a, b)];
    case 'teredo': // the server, and the client with its bits inverted
      return [ipv4(b, c), ipv4(y ^ 0xffff, z ^ 0xffff)];
    case 'unicast': // ::a.b.c.d, the deprecated compatible form
      return parts.slice(0, 6).every(part => part === 0) ? [ipv4(y, z)] : [ip];
    default:
      return [ip];
  }
}

function ipv4(high: number, low: number): Ip {
  return new ipaddr.IPv4([high >> 8, high & 255, low >> 8, low & 255]);
}
