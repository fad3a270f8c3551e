// A fetch that connects to an address that was checked, and sends the original host name in Host and TLS (pins.ts).
// Redirects are never followed. The runtime keeps connections alive. Calls of tool servers use client/ instead.

import type { TargetRules } from './addresses.ts';
import { type Pin, Pins, type Surroundings } from './pins.ts';
import { toFirst } from './send.ts';

// The runtime's fetch uses proxy variables: a request would then go through a proxy that was not checked.
for (const name of ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'https_proxy', 'ALL_PROXY', 'all_proxy']) {
  delete process.env[name];
}

export class PinnedFetch {
  readonly #pins: Pins;

  constructor(rules: TargetRules, surroundings?: Surroundings) {
    this.#pins = new Pins(rules, surroundings);
  }

  async fetch(to: string, init: RequestInit & { headers: Record<string, string> }): Promise<Response> {
    const { origin, pathname, search } = new URL(to);
    const pins = await this.#pins.all(origin);
    return toFirst(pins, async pin => {
      const response = await send(pin, pathname + search, init);
      this.#pins.prefer(origin, pin);
      return response;
    });
  }
}

function send(
  pin: Pin,
  path: string,
  init: RequestInit & { headers: Record<string, string> },
): Promise<Response> {
  // Size limits count bytes as they arrive, so compression is off: an answer could unpack to far more than the limit.
  const headers = { ...init.headers, Host: pin.host, 'Accept-Encoding': 'identity' };
  // Verification is asked for explicitly, because an environment variable could turn it off.
  const tls = { rejectUnauthorized: true, ...(pin.serverName !== null && { serverName: pin.serverName }) };
  return fetch(pin.origin + path, { ...init, headers, redirect: 'manual', decompress: false, tls });
}
