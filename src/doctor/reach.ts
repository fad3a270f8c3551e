// Whether a server can be reached: its name is resolved, a connection is opened and, for https, its certificate is
// verified. Nothing is sent.

import { connect as connectPlain, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { GuardError } from '../core/errors.ts';
import { type Address, checkTarget, type TargetRules, targetHost } from '../guard/outgoing/addresses.ts';
import { codeOf } from './examine.ts';

/** The operator's own settings may lead anywhere. */
export const ANYWHERE: TargetRules = { allowPrivate: true };

const CERTIFICATE = /CERT|ALTNAME|SELF_SIGNED|UNABLE_TO|ISSUER/;

/**
 * A sentence about what is wrong, or null if the server can be reached. It names the host only. `ca` has the certificates
 * that may have issued the server's; null for those that the system trusts.
 */
export async function unreachable(
  address: string,
  rules: TargetRules,
  signal: AbortSignal,
  ca: string | null = null,
): Promise<string | null> {
  try {
    const { url, addresses } = await checkTarget(address, rules);
    await anyOf(addresses, each => opened(each, url, signal, ca));
    return null;
  } catch (error) {
    return error instanceof GuardError ? error.message : sentence(new URL(address).host, error);
  }
}

export function sentence(host: string, error: unknown): string {
  const code = codeOf(error);
  if (CERTIFICATE.test(code)) return `The certificate of ${host} is not accepted${code}.`;
  return `${host} cannot be reached${code}.`;
}

async function anyOf(addresses: readonly Address[], open: (to: Address) => Promise<void>): Promise<void> {
  let last: unknown;
  for (const each of addresses) {
    try {
      return await open(each);
    } catch (error) {
      last = error;
    }
  }
  throw last;
}

function opened({ address }: Address, url: URL, signal: AbortSignal, ca: string | null): Promise<void> {
  const isTls = url.protocol === 'https:';
  const to = { host: address, port: Number(url.port) || (isTls ? 443 : 80) };
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const socket: Socket = isTls
    ? connectTls({ ...to, ...named(targetHost(url)), ...(ca && { ca }), rejectUnauthorized: true })
    : connectPlain(to);
  const stop = () => reject(Object.assign(new Error('too late'), { code: 'ETIMEDOUT' }));
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop, { once: true });
  socket.once(isTls ? 'secureConnect' : 'connect', resolve).once('error', reject);
  return promise.finally(() => {
    signal.removeEventListener('abort', stop);
    socket.destroy();
  });
}

/** TLS has names only; the certificate of an address is compared with the address itself. */
function named(host: string): { servername?: string } {
  return /^[\d.]+$|:/.test(host) ? {} : { servername: host };
}
