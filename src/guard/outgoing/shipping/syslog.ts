// Ships the audit log to a syslog server over TLS (RFC 5424 and 5425), one connection for each batch. The protocol has
// no acknowledgement. A batch counts as received when the server closes the connection in order after we have said that
// nothing more comes: by then its system has read everything. What a server loses after that, we cannot notice.

import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import tls from 'node:tls';
import type { Decision } from '../../../core/decision/decide.ts';
import type { Schema, SyslogTarget } from '../../../core/log/shipping.ts';
import { framed, type Severity, syslogMessage } from '../../../core/log/syslog.ts';
import { type Address, checkTarget, type TargetRules, targetHost } from '../addresses.ts';
import { ATTEMPT_MS, SendError, toFirst, within } from '../send.ts';
import { shippedLine } from './line.ts';
import type { Shipped, Target } from './target.ts';

const MOST_ENTRIES = 500;

const SEVERITIES: Record<Decision, Severity> = {
  allow: 'informational',
  pending: 'notice',
  deny: 'warning',
};

/** The number that RFC 5612 reserves for examples: the project has none of its own. */
const ELEMENT = 'toolgate@32473';

export function syslogTarget(server: SyslogTarget, rules: TargetRules): Target {
  return {
    most: MOST_ENTRIES,
    send: batch => {
      const text = batch.map(each => framed(messageOf(each, server.schema))).join('');
      return within(ATTEMPT_MS, signal => deliver(server, rules, text, signal));
    },
  };
}

export function messageOf(shipped: Shipped, schema: Schema): string {
  const { id, at, decision } = shipped.entry;
  return syslogMessage({
    severity: SEVERITIES[decision],
    at,
    host: hostname(),
    app: 'toolgate',
    kind: 'audit',
    element: ELEMENT,
    fields: { id, seq: String(shipped.seq), decision },
    text: shippedLine(shipped, schema),
  });
}

async function deliver(
  { host, port, caFile }: SyslogTarget,
  rules: TargetRules,
  text: string,
  signal: AbortSignal,
): Promise<void> {
  // The file is read for each batch, so that a renewed one counts without a restart.
  const ca = caFile === null ? undefined : certificates(caFile);
  const address = `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
  const { url, addresses } = await checkTarget(address, rules);
  const name = targetHost(url);
  await toFirst(addresses, each => exchange(each, { name, port, ca }, text, signal));
}

interface Peer {
  name: string;
  port: number;
  ca: string | undefined;
}

/** Even on a fast network, a server that is about to close gets this long to do so before our end. */
const LEAST_PAUSE_MS = 50;

/**
 * Resolves when the server has closed the connection in answer to our end. Its close must not be one that was under way
 * while we were still writing. That one arrives within a round trip of the last byte, so our end waits that long: the
 * handshake took at least one.
 */
function exchange(to: Address, { name, port, ca }: Peer, text: string, signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  if (signal.aborted) throw new SendError('given up');
  const socket = tls.connect({
    host: to.address,
    port,
    ...(ca === undefined ? {} : { ca }),
    servername: isIP(name) === 0 ? name : '',
    checkServerIdentity: (_, certificate) => tls.checkServerIdentity(name, certificate),
    rejectUnauthorized: true,
    minVersion: 'TLSv1.2',
  });
  let ended = false;
  const begun = performance.now();
  signal.addEventListener('abort', () => socket.destroy(), { once: true });
  socket.on('secureConnect', () => {
    const settled = Math.max(performance.now() - begun, LEAST_PAUSE_MS);
    // Nothing is expected from the server, but its end is seen only if its bytes are read.
    socket.resume();
    socket.write(text, () => {
      const end = () => {
        ended = true;
        socket.end();
      };
      // If this process stood still meanwhile, a close may have arrived that is read before the next turn.
      setTimeout(() => setImmediate(end), settled);
    });
  });
  socket.on('end', () => {
    if (ended) resolve();
    else reject(new SendError('the server closed the connection before the end'));
  });
  socket.on('error', reject);
  socket.on('close', () => reject(new SendError('connection closed before the end')));
  return promise.finally(() => socket.destroy());
}

function certificates(file: string): string {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    throw new SendError('the file with the certificates cannot be read', { cause });
  }
  if (!text.includes('-----BEGIN CERTIFICATE-----')) throw new SendError('the file has no certificates');
  return text;
}
