// The checked addresses of servers. A name is resolved and checked when it is first needed, and again every half minute;
// whoever sends connects to one of the addresses, and sends the original host name in Host and TLS.

import { type Address, checkTarget, type Resolve, type TargetRules, targetHost } from './addresses.ts';

const PIN_MS = 30_000;
/** How many addresses of a name are tried: whoever owns the name decides how many it has. */
const MAX_TRIED = 8;

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

/** What tests may replace: how names are resolved, the monotonic clock, and how long one address of several may take. */
export interface Surroundings {
  resolve?: Resolve;
  now?: () => number;
  connectMs?: number;
}

export class Pins {
  readonly #rules: TargetRules;
  readonly #resolve: Resolve | undefined;
  readonly #now: () => number;
  /** The pins of each origin, in the order to try. */
  readonly #pins = new Map<string, Pin[]>();
  /** The address of an origin that could be connected to when another one could not. */
  readonly #preferred = new Map<string, string>();

  constructor(rules: TargetRules, { resolve, now = () => performance.now() }: Surroundings = {}) {
    this.#rules = rules;
    this.#resolve = resolve;
    this.#now = now;
  }

  /** The first pin of an origin, if it was checked within the last half minute. */
  kept(origin: string): Pin | null {
    const kept = this.#pins.get(origin)?.[0];
    return kept !== undefined && this.#now() < kept.until ? kept : null;
  }

  /** All pins of an origin, in the order to try. They are checked if that was longer ago. */
  async all(origin: string): Promise<Pin[]> {
    if (this.kept(origin) === null) await this.#check(origin);
    return this.#pins.get(origin) as Pin[];
  }

  /** Notes a pin that could be connected to. It comes first from now on, for as long as the name has this address. */
  prefer(origin: string, { address }: Pin): void {
    const pins = this.#pins.get(origin);
    if (pins === undefined || pins[0]?.address === address) return;
    this.#preferred.set(origin, address);
    this.#pins.set(origin, firstOf(pins, address));
  }

  async #check(origin: string): Promise<void> {
    const { url, addresses } = await checkTarget(origin, this.#rules, this.#resolve);
    const pins = addresses.map(each => this.#pin(url, each));
    this.#pins.set(origin, firstOf(pins, this.#preferred.get(origin)).slice(0, MAX_TRIED));
  }

  #pin(url: URL, { address, family }: Address): Pin {
    const port = url.port === '' ? '' : `:${url.port}`;
    const isTls = url.protocol === 'https:';
    return {
      address,
      family,
      origin: `${url.protocol}//${family === 6 ? `[${address}]` : address}${port}`,
      host: url.host,
      port: Number(url.port) || (isTls ? 443 : 80),
      serverName: isTls ? targetHost(url) : null,
      until: this.#now() + PIN_MS,
    };
  }
}

function firstOf(pins: readonly Pin[], address: string | undefined): Pin[] {
  const rank = (pin: Pin) => (pin.address === address ? 0 : 1);
  return [...pins].sort((a, b) => rank(a) - rank(b));
}
