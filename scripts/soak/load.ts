// An open load: checks arrive at a given rate, whether or not earlier ones are answered, spread over the replicas.
// Each is one of three kinds whose answer is known: allowed, denied, or of a session that was revoked.

import { type Answer, Wire } from '../../test/support/load.ts';

export interface Kind {
  token: string;
  tool: string;
  /** The one decision that is right; null when there may be no verdict at all. */
  decision: 'allow' | 'deny' | null;
}

export interface Second {
  sent: number;
  verdicts: number;
  shed: number;
  failed: number;
}

const TICK_MS = 4;
/** More than may wait in a replica, so that what is shed is shed by the service. */
const MOST_CONNECTIONS = 3000;

export class OpenLoad {
  readonly verdictMs: number[] = [];
  readonly shedMs: number[] = [];
  /** Ids of verdicts received. */
  readonly ids = new Set<string>();
  readonly seconds: Second[] = [];
  readonly statuses = new Map<number, number>();
  wrong: string[] = [];
  slowestMs = 0;
  lost = 0;
  notSent = 0;
  readonly #urls: (() => string)[];
  readonly #kinds: readonly Kind[];
  readonly #free: Wire[][];
  readonly #open: number[];
  #sent = 0;

  constructor(urls: (() => string)[], kinds: readonly Kind[]) {
    this.#urls = urls;
    this.#kinds = kinds;
    this.#free = urls.map(() => []);
    this.#open = urls.map(() => 0);
  }

  /** Sends at this rate for this long, then waits for the last answers. */
  async run(perSecond: number, seconds: number): Promise<void> {
    const begun = performance.now();
    const first = this.#sent;
    const under: Set<Promise<void>> = new Set();
    for (let now = begun; now < begun + seconds * 1000; now = performance.now()) {
      const due = Math.floor(((now - begun) * perSecond) / 1000) - (this.#sent - first);
      for (let n = 0; n < due; n++) {
        const one = this.#ask(this.#sent++, this.#second(now - begun)).finally(() => under.delete(one));
        under.add(one);
      }
      await Bun.sleep(TICK_MS);
    }
    await Promise.all(under);
  }

  close(): void {
    for (const wire of this.#free.flat()) wire.close();
  }

  #second(elapsed: number): Second {
    const index = Math.floor(elapsed / 1000);
    while (this.seconds.length <= index) this.seconds.push({ sent: 0, verdicts: 0, shed: 0, failed: 0 });
    return this.seconds[index] as Second;
  }

  async #ask(number: number, second: Second): Promise<void> {
    const replica = number % this.#urls.length;
    const kind = this.#kinds[number % this.#kinds.length] as Kind;
    const wire = await this.#take(replica);
    if (wire === null) {
      this.notSent++;
      return;
    }
    second.sent++;
    const body = JSON.stringify({ serverName: 'soak', toolName: kind.tool, args: { n: number } });
    const answer = await wire.ask({ token: kind.token, body });
    if (wire.open) this.#free[replica]?.push(wire);
    else this.#open[replica] = (this.#open[replica] as number) - 1;
    if (answer === null) this.lost++;
    else this.#note(answer, kind, second);
  }

  async #take(replica: number): Promise<Wire | null> {
    for (let wire = this.#free[replica]?.pop(); wire !== undefined; wire = this.#free[replica]?.pop()) {
      if (wire.open) return wire;
      this.#open[replica] = (this.#open[replica] as number) - 1;
    }
    if ((this.#open[replica] as number) >= MOST_CONNECTIONS) return null;
    this.#open[replica] = (this.#open[replica] as number) + 1;
    const wire = await Wire.open((this.#urls[replica] as () => string)());
    if (wire === null) this.#open[replica] = (this.#open[replica] as number) - 1;
    return wire;
  }

  #note(answer: Answer, kind: Kind, second: Second): void {
    const ms = answer.receivedAt - answer.sentAt;
    this.slowestMs = Math.max(this.slowestMs, ms);
    this.statuses.set(answer.status, (this.statuses.get(answer.status) ?? 0) + 1);
    if (answer.status === 200) this.#verdict(answer, kind, second, ms);
    else if (answer.status === 503) {
      second.shed++;
      this.shedMs.push(ms);
    } else {
      second.failed++;
      const right = answer.status === 500 || (answer.status === 401 && kind.decision === null);
      if (!right) this.wrong.push(`${kind.tool}: ${answer.status} ${answer.text.slice(0, 200)}`);
    }
  }

  #verdict(answer: Answer, kind: Kind, second: Second, ms: number): void {
    const { decision, toolCallId } = JSON.parse(answer.text) as { decision: string; toolCallId: string };
    if (decision !== kind.decision) this.wrong.push(`${kind.tool} was answered ${answer.text.slice(0, 200)}`);
    if (this.ids.has(toolCallId)) this.wrong.push(`${toolCallId} was given twice`);
    this.ids.add(toolCallId);
    second.verdicts++;
    this.verdictMs.push(ms);
  }
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
