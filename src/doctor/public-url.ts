// The checks of the way to the service: on which addresses it listens, whether it answers on this machine and at its
// public address, and whether a proxy in between passes on what the service needs.

import { GuardError } from '../core/errors.ts';
import { boundedBody } from '../guard/outgoing/bounded-body.ts';
import { PinnedFetch } from '../guard/outgoing/pinned-fetch.ts';
import type { Vault } from '../guard/secrets.ts';
import { type Config, listensOnLoopback } from '../settings/config.ts';
import { bad, type Examination, type Found, good, warning } from './examine.ts';
import type { Examined } from './examined.ts';
import { answered, newQuestion, PROBE_HEADER, type Seen } from './probe.ts';
import { ANYWHERE, sentence } from './reach.ts';

export function publicUrlChecks(examined: Examined): Examination[] {
  const { config, running, localUrl } = examined;
  const checks: Examination[] = [{ name: 'listening', run: async () => [listeningFound(config)] }];
  const vault = examined.vault();
  if (vault === null) return checks;
  let local: Promise<ProbeAnswer> | null = null;
  const askLocal = (signal: AbortSignal) => (local ??= ask(localUrl, vault, signal));
  if (!running)
    checks.push({ name: 'service', run: async signal => [serviceFound(examined, await askLocal(signal))] });
  const { publicUrl } = config;
  if (publicUrl !== null)
    checks.push({
      name: 'public URL',
      run: async signal => {
        const isUp = running || (await askLocal(signal)).kind === 'ours';
        return isUp
          ? publicFound(localUrl, publicUrl, await ask(publicUrl, vault, signal))
          : [notUp(publicUrl)];
      },
    });
  return checks;
}

function listeningFound(config: Config): Found {
  const name = 'listening';
  const { host, publicUrl } = config;
  if (listensOnLoopback(config)) return good(name, `Only this machine reaches ${host}.`);
  if (publicUrl === null)
    return warning(
      name,
      `The service listens on ${host} without TOOLGATE_PUBLIC_URL: links lead to localhost, tokens travel unencrypted, and a page that names this machine otherwise (DNS rebinding) can reach what does not check the Host header. Put a proxy with TLS in front, and set it to that address.`,
    );
  if (!isSafe(publicUrl))
    return warning(
      name,
      `TOOLGATE_PUBLIC_URL is not https, so tokens and cookies travel unencrypted and cookies are not bound to this host: put a proxy with TLS in front.`,
    );
  return good(name, `The service listens on ${host} behind ${new URL(publicUrl).host}.`);
}

function isSafe(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === 'https:' || /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
}

type ProbeAnswer =
  | { kind: 'ours'; seen: Seen; version: string }
  /** A Toolgate of another installation, or of a version that does not know the probe. */
  | { kind: 'another Toolgate'; version: string }
  | { kind: 'something else'; status: number }
  | { kind: 'none'; why: string };

const MAX_BYTES = 64 * 1024;

async function ask(url: string, vault: Vault, signal: AbortSignal): Promise<ProbeAnswer> {
  const { nonce, header } = newQuestion(vault);
  try {
    const response = await new PinnedFetch(ANYWHERE).fetch(`${url}/healthz`, {
      headers: { [PROBE_HEADER]: header },
      signal,
    });
    const version = versionIn(await boundedBody(response, MAX_BYTES));
    const seen = answered(vault, nonce, response.headers.get(PROBE_HEADER) ?? '');
    if (seen !== null) return { kind: 'ours', seen, version: version ?? '' };
    if (response.status === 200 && version !== null) return { kind: 'another Toolgate', version };
    return { kind: 'something else', status: response.status };
  } catch (error) {
    const why = error instanceof GuardError ? error.message : sentence(new URL(url).host, error);
    return { kind: 'none', why };
  }
}

function versionIn(body: Buffer | null): string | null {
  try {
    const { status, version } = JSON.parse(body?.toString('utf8') ?? '');
    return status === 'ok' && typeof version === 'string' ? version.slice(0, 50) : null;
  } catch {
    return null;
  }
}

function serviceFound({ localUrl, version }: Examined, answer: ProbeAnswer): Found {
  const name = 'service';
  switch (answer.kind) {
    case 'none':
      return warning(
        name,
        `Nothing answers at ${localUrl}: the service does not run, or on another port. Start it with \`toolgate serve\`, or set TOOLGATE_PORT as it is set for the service.`,
      );
    case 'ours':
      if (answer.version === version) return good(name, `It runs at ${localUrl}, in version ${version}.`);
      return warning(
        name,
        `Version ${answer.version} runs at ${localUrl}, and this program is ${version}: start the service again.`,
      );
    case 'another Toolgate':
      return bad(
        name,
        `At ${localUrl} another Toolgate answers, with another master key: run this with the settings of that service, or choose another TOOLGATE_PORT.`,
      );
    case 'something else':
      return bad(
        name,
        `Something else answers at ${localUrl} (${answer.status}): choose another TOOLGATE_PORT, or stop it.`,
      );
  }
}

function notUp(publicUrl: string): Found {
  return warning(
    'public URL',
    `Whether ${publicUrl} leads here cannot be found out while the service does not run. Start it, and run this again.`,
  );
}

function publicFound(localUrl: string, publicUrl: string, answer: ProbeAnswer): Found[] {
  const name = 'public URL';
  switch (answer.kind) {
    case 'none':
      return [
        warning(
          name,
          `From this machine, ${answer.why.replace(/\.$/, '')}. If people and agents reach ${publicUrl}, this is no fault; otherwise look at the proxy and at TOOLGATE_PUBLIC_URL.`,
        ),
      ];
    case 'another Toolgate':
      return [
        bad(
          name,
          `At ${publicUrl} another Toolgate answers, with another master key: let the proxy lead here, or correct TOOLGATE_PUBLIC_URL.`,
        ),
      ];
    case 'something else':
      return [
        bad(
          name,
          `Something else answers at ${publicUrl} (${answer.status}): let the proxy lead here with all paths, /healthz among them, or correct TOOLGATE_PUBLIC_URL.`,
        ),
      ];
    case 'ours':
      return [
        good(name, `${publicUrl} leads to this service.`),
        proxyFound(localUrl, publicUrl, answer.seen),
      ];
  }
}

function proxyFound(localUrl: string, publicUrl: string, seen: Seen): Found {
  const name = 'proxy';
  const { peer, isTrusted, forwardedFor, host, isHostAccepted } = seen;
  const behindProxy = forwardedFor !== null || isElsewhere(localUrl, publicUrl);
  if (!isHostAccepted)
    return bad(
      name,
      `The proxy sends "Host: ${host}", so /mcp and the pages for people are refused: let it pass on the Host header (nginx: proxy_set_header Host $http_host).`,
    );
  if (!behindProxy) return good(name, 'There is no proxy in between.');
  if (forwardedFor === null)
    return warning(
      name,
      `The proxy at ${peer} sends no X-Forwarded-For, so all people share one limit for failed sign-ins: let it add the header (nginx: proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for).`,
    );
  if (!isTrusted)
    return warning(
      name,
      `X-Forwarded-For comes from ${peer}, which is not trusted, so all people share one limit for failed sign-ins: set TOOLGATE_TRUSTED_PROXIES to its network, for example ${peer}.`,
    );
  return good(name, `The proxy at ${peer} is trusted, and passes on Host and X-Forwarded-For.`);
}

/** The service speaks plain http on its own port, so any other public address is that of a proxy. */
function isElsewhere(localUrl: string, publicUrl: string): boolean {
  const url = new URL(publicUrl);
  return url.protocol === 'https:' || url.port !== new URL(localUrl).port;
}
