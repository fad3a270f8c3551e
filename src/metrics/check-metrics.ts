// Counts verdicts and the commits that they wait for. Every check counts here, so all of it is plain addition.

import { DECISIONS, type Decision } from '../core/decision/decide.ts';
import { SURFACES, type Surface } from '../core/text/surface.ts';
import type { MetricFamily } from '../core/wire/metric.ts';
import type { Span } from '../core/wire/span.ts';
import type { CommittedGroup } from '../guard/check/group-work.ts';
import { counter, gauge, histogram } from './family.ts';
import { Histogram } from './histogram.ts';

const SECONDS = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 3];
const GROUP_SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

interface OfSurface {
  decided: Record<Decision, number>;
  seconds: Histogram;
}

export class CheckMetrics {
  readonly #surfaces = new Map<Surface, OfSurface>();
  readonly #groupSizes = new Histogram(GROUP_SIZES);
  readonly #waited = new Histogram(SECONDS);
  readonly #took = new Histogram(SECONDS);
  readonly #queueDepth: () => number;
  #commitErrors = 0;

  constructor(queueDepth: () => number) {
    this.#queueDepth = queueDepth;
    for (const surface of SURFACES)
      this.#surfaces.set(surface, {
        decided: { allow: 0, deny: 0, pending: 0 },
        seconds: new Histogram(SECONDS),
      });
  }

  /** A check whose trace is sent becomes an exemplar. */
  verdict(decision: Decision, surface: Surface, seconds: number, span?: Span): void {
    const { decided, seconds: times } = this.#surfaces.get(surface) as OfSurface;
    decided[decision]++;
    times.observe(seconds, span?.sampled ? span.traceId : null);
  }

  committed({ size, waited, took }: CommittedGroup): void {
    this.#groupSizes.observe(size);
    this.#waited.observe(waited / 1000);
    this.#took.observe(took / 1000);
  }

  commitFailed(): void {
    this.#commitErrors++;
  }

  families(): MetricFamily[] {
    const surfaces = [...this.#surfaces];
    return [
      counter(
        'toolgate_verdicts',
        'Verdicts given, by decision and surface.',
        surfaces.flatMap(([surface, { decided }]) =>
          DECISIONS.map(decision => ({ labels: { decision, surface }, value: decided[decision] })),
        ),
      ),
      histogram(
        'toolgate_check_seconds',
        'Time from the arrival of a check to its verdict, audit commit included, by surface.',
        // Most installations use a few surfaces only, and each has as many series as there are buckets.
        surfaces.flatMap(([surface, { seconds }]) => (seconds.isEmpty ? [] : [seconds.sample({ surface })])),
      ),
      histogram('toolgate_commit_group_size', 'Checks that shared one audit commit.', [
        this.#groupSizes.sample(),
      ]),
      histogram(
        'toolgate_commit_wait_seconds',
        'Time from the arrival of the first check of a group to the beginning of their commit.',
        [this.#waited.sample()],
      ),
      histogram(
        'toolgate_commit_seconds',
        'Time that a group took to be decided and made durable in the store.',
        [this.#took.sample()],
      ),
      gauge('toolgate_queue_depth', 'Checks waiting for their audit commit.', this.#queueDepth()),
      counter(
        'toolgate_commit_errors',
        'Audit commits that failed; their checks got no verdict.',
        this.#commitErrors,
      ),
    ];
  }
}
