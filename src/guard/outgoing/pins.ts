// The checked addresses of servers. A name is resolved and checked when it is first needed, and again every half minute;
// whoever sends connects to the address, and sends the original host name in Host and TLS.

import { type Address, checkTarget, type Resolve, type TargetRules, targetHost } from './addresses.ts';

const PIN_MS = 30_000;

/** A checked address of an origin. A new one is made whenever the address is checked. */
export interface Pin extends Address {
  /** The scheme, the address and the port: what is called in place of the origin with the host name. */
  origin: string;
  /** The value of the header Host. */
  host: string;
  port: number;
  /** The name that the certificate has to have; null where there is no TLS. */
  serverName: string | null;
  until: number;
}

/** What tests may replace: how names are resolved, and the monotonic clock. */
export interface Surroundings {
  resolve?: Resolve;
  now?: () => number;
}

export class Pins {
  readonly #rules: TargetRules;
  readonly #resolve: Resolve | undefined;
  readonly #now: () => number;
  readonly #pins = new Map<string, Pin>();

  constructor(rules: TargetRules, { resolve, now = () => performance.now() }: Surroundings = {}) {
    this.#rules = rules;
    this.#resolve = resolve;
    this.#now = now;
  }

  /** The pin of an origin, if it was checked within the last half minute. */
  kept(origin: string): Pin | null {
    const kept = this.#pins.get(origin);
    return kept !== undefined && this.#now() < kept.until ? kept : null;
  }

  async check(origin: string): Promise<Pin> {
    const { url, address, family } = await checkTarget(origin, this.#rules, this.#resolve);
    const port = url.port === '' ? '' : `:${url.port}`;
    const isTls = url.protocol === 'https:';
    const pin: Pin = {
      address,
      family,
      origin: `${url.protocol}//${family === 6 ? `[${address}]` : address}${port}`,
      host: url.host,
      port: Number(url.port) || (isTls ? 443 : 80),
      serverName: isTls ? targetHost(url) : null,
      until: this.#now() + PIN_MS,
    };
    this.#pins.set(origin, pin);
    return pin;
  }
}
