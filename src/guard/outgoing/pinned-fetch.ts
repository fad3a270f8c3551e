// fetch to an address that was checked, under the name that was asked for. The name is looked up and
// checked again every half minute; redirects are never followed; connections are kept alive by the runtime.

import { checkTarget, type Resolve, type TargetRules } from './addresses.ts';

// The runtime's fetch obeys proxy variables: a target would then be reached by a way we did not check.
for (const name of ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'https_proxy', 'ALL_PROXY', 'all_proxy']) {
  delete process.env[name];
}

const PIN_MS = 30_000;

interface Pin {
  /** The checked address with scheme and port, to be called instead of the named origin. */
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

/** The world around it: how names are looked up, and a clock that counts up. */
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
    // Bounds are in bytes as they arrive: nothing that unpacks to a thousand times its size.
    const headers = { ...init.headers, Host: pin.host, 'Accept-Encoding': 'identity' };
    const rest = { redirect: 'manual', decompress: false, ...pin.tls } as const;
    return fetch(pin.origin + path, { ...init, headers, ...rest });
  }

  /** One wire asks one address again and again. */
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
