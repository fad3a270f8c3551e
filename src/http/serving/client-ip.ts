// Finds the client's address, for limits: the address of the socket or, if that is a trusted proxy, the rightmost
// address in X-Forwarded-For that is not one. An IPv6 client counts by its /64 network, since one person usually has
// all of it.

import ipaddr from 'ipaddr.js';
import type { Cidr } from '../../settings/setting-readers.ts';

export function clientIp(peer: string, forwardedFor: string | null, trusted: readonly Cidr[]): string {
  let client = peer;
  const hops = (forwardedFor ?? '').split(',').map(hop => hop.trim());
  while (isTrusted(client, trusted)) {
    const hop = hops.pop();
    // If a proxy gives no readable address of its client, the proxy's own address counts.
    if (hop === undefined || !ipaddr.isValid(hop)) break;
    client = hop;
  }
  return network(client);
}

/** Whether an address is one of the proxies that the settings name. */
export function isTrusted(address: string, trusted: readonly Cidr[]): boolean {
  if (!ipaddr.isValid(address)) return false;
  const ip = ipaddr.process(address);
  return trusted.some(([range, bits]) => ip.kind() === range.kind() && ip.match([range, bits] as never));
}

function network(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const ip = ipaddr.process(address);
  if (ip.kind() === 'ipv4') return ip.toString();
  return `${ip.toNormalizedString().split(':').slice(0, 4).join(':')}::/64`;
}
