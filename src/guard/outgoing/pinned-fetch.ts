// A fetch that connects to an address that was checked, and sends the original host name in Host and TLS. The name is
// resolved and checked again every half minute. Redirects are never followed. The runtime keeps connections alive.

import { checkTarget, type Resolve, type TargetRules } from './addresses.ts';

// The runtime's fetch uses proxy variables: a request would then go through a proxy that was not checked.
for (const name of ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'https_proxy', 'ALL_PROXY', 'all_proxy']) {
  delete process.env[name];
}

const PIN_MS = 30_000;

interface Pin {
  /** The checked address with scheme and port. It is called in place of the origin with the host name. */
  origin: string;
  host: string;
  tls: { tls?: { serverName: string } };
  until: number;
}

interface Parts {
  to: string;
  origin: string;
  /** Path and query. */
  rest: string;
}

/** What tests may replace: how names are resolved, and the monotonic clock. */
interface Surroundings {
  resolve?: Resolve;
  now?: () => number;
}

export class PinnedFetch {
  readonly #rules: TargetRules;
  readonly #resolve: Resolve | undefined;
  readonly #now: () => number;
  readonly #pins = new Map<string, Pin>();
  #last: Parts | null = null;

  constructor(rules: TargetRules, { resolve, now = () => performance.now() }: Surroundings = {}) {
    this.#rules = rules;
    this.#resolve = resolve;
    this.#now = now;
  }

  async fetch(to: string, init: RequestInit & { headers: Record<string, string> }): Promise<Response> {
    const { origin, rest: path } = this.#parts(to);
    const pin = this.#kept(origin) ?? (await this.#pin(origin));
    // Size limits count bytes as they arrive, so compression is off: an answer could unpack to far
    // more than the limit.
    const headers = { ...init.headers, Host: pin.host, 'Accept-Encoding': 'identity' };
    const rest = { redirect: 'manual', decompress: false, ...pin.tls } as const;
    return fetch(pin.origin + path, { ...init, headers, ...rest });
  }

  /** The parts of the last URL are kept, because most callers call the same URL again and again. */
  #parts(to: string): Parts {
    if (this.#last?.to === to) return this.#last;
    const { origin, pathname, search } = new URL(to);
    this.#last = { to, origin, rest: pathname + search };
    return this.#last;
  }

  #kept(origin: string): Pin | null {
    const kept = this.#pins.get(origin);
    return kept !== undefined && this.#now() < kept.until ? kept : null;
  }

  async #pin(origin: string): Promise<Pin> {
    const { url, address, family } = await checkTarget(origin, this.#rules, this.#resolve);
    const port = url.port === '' ? '' : `:${url.port}`;
    const pin: Pin = {
      origin: `${url.protocol}//${family === 6 ? `[${address}]` : address}${port}`,
      host: url.host,
      tls: url.protocol === 'https:' ? { tls: { serverName: url.hostname } } : {},
      until: this.#now() + PIN_MS,
    };
    this.#pins.set(origin, pin);
    return pin;
  }
}
