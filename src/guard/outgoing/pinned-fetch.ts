// A fetch that connects to an address that was checked, and sends the original host name in Host and TLS (pins.ts).
// Redirects are never followed. The runtime keeps connections alive. client/ is what tool servers are called with.

import type { TargetRules } from './addresses.ts';
import { Pins, type Surroundings } from './pins.ts';

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
    const pin = this.#pins.kept(origin) ?? (await this.#pins.check(origin));
    // Size limits count bytes as they arrive, so compression is off: an answer could unpack to far
    // more than the limit.
    const headers = { ...init.headers, Host: pin.host, 'Accept-Encoding': 'identity' };
    // Verification is asked for explicitly, because an environment variable could turn it off.
    const tls = { rejectUnauthorized: true, ...(pin.serverName !== null && { serverName: pin.serverName }) };
    const rest = { redirect: 'manual', decompress: false, tls } as const;
    return fetch(pin.origin + pathname + search, { ...init, headers, ...rest });
  }
}
