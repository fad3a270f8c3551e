// Counts observations in buckets, and remembers the newest traced one of each bucket.

import type { Distribution, Exemplar, Labels } from '../core/wire/metric.ts';

export class Histogram {
  readonly #bounds: readonly number[];
  readonly #counts: number[];
  readonly #exemplars: (Exemplar | null)[];
  #sum = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = Array.from({ length: bounds.length + 1 }, () => 0);
    this.#exemplars = this.#counts.map(() => null);
  }

  get isEmpty(): boolean {
    return this.#counts.every(count => count === 0);
  }

  observe(value: number, traceId: string | null = null): void {
    let bucket = 0;
    while (bucket < this.#bounds.length && value > (this.#bounds[bucket] as number)) bucket++;
    this.#counts[bucket] = (this.#counts[bucket] as number) + 1;
    this.#sum += value;
    if (traceId !== null) this.#exemplars[bucket] = { traceId, value, at: Date.now() };
  }

  sample(labels: Labels = {}): Distribution {
    const counts = [...this.#counts];
    return { labels, bounds: this.#bounds, counts, sum: this.#sum, exemplars: [...this.#exemplars] };
  }
}
