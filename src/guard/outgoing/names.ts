// What addresses a host name stands for, by /etc/hosts, the search domains and the name servers of the system. Asked
// without the runtime's thread pool, where a name server that is silent would hold up all that waits there; with a
// time limit, and one question per name at a time. Which addresses will do is addresses.ts's.

import { getServers, Resolver, setServers } from 'node:dns';
import { statSync } from 'node:fs';

interface Found {
  address: string;
}

/** Many times what a name server needs that answers at all. */
const LIMIT_MS = 5000;
/** Names asked about at once: a question whose limit passed goes on for up to half a minute and costs some bytes. */
const MAX_NAMES = 500;

/** On Linux, `system` is the blocking call in the pool; elsewhere it is the one that does not block. */
const BACKEND = process.platform === 'linux' ? 'c-ares' : 'system';

const asked = new Map<string, Promise<Found[]>>();

/** Throws a sentence that says why there is no answer. */
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

/** Whoever asks about a name while it is being asked about waits for that answer. */
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

/** The library reads the name servers once; a machine that changes its network gets others. */
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
