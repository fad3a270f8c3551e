// Resolves host names with /etc/hosts, the search domains and the name servers of the system. The look-up does not use
// the runtime's thread pool, where a name server that does not answer would delay everything else in it. It has a time
// limit, and there is one look-up per name at a time. addresses.ts decides which addresses are allowed.

import { getServers, Resolver, setServers } from 'node:dns';
import { statSync } from 'node:fs';

interface Found {
  address: string;
}

/** This is many times what a working name server needs. */
const LIMIT_MS = 5000;
/** How many names are looked up at once. A look-up past its time limit still runs for up to half a minute. */
const MAX_NAMES = 500;

/** On Linux `system` is a blocking call in the thread pool. On other systems it is the one that does not block. */
const BACKEND = process.platform === 'linux' ? 'c-ares' : 'system';

const asked = new Map<string, Promise<Found[]>>();

/** Throws an error whose message says why there is no answer. */
export async function lookUp(host: string, limitMs = LIMIT_MS): Promise<Found[]> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new Error(`no name server answered within ${limitMs / 1000} s`)),
    limitMs,
  );
  try {
    return await Promise.race([shared(host), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Callers that ask for the same name at the same time share one look-up. */
function shared(host: string): Promise<Found[]> {
  const underWay = asked.get(host);
  if (underWay !== undefined) return underWay;
  if (asked.size >= MAX_NAMES) throw new Error('too many names are being looked up');
  followServers();
  const answer = Bun.dns.lookup(host, { backend: BACKEND }).finally(() => asked.delete(host));
  asked.set(host, answer);
  return answer;
}

const SERVERS = '/etc/resolv.conf';
let readAt = changedAt();

/** The library reads the list of name servers only once, but it changes when the machine changes its network. */
function followServers(): void {
  const changed = changedAt();
  if (changed === readAt) return;
  readAt = changed;
  const now = new Resolver().getServers();
  if (now.join() !== getServers().join()) setServers(now);
}

function changedAt(): number {
  return BACKEND === 'c-ares' ? (statSync(SERVERS, { throwIfNoEntry: false })?.mtimeMs ?? 0) : 0;
}
