// What the service counts, for Prometheus. No label ever holds a name that a caller can choose.

import { Counter, Gauge, Histogram, Registry } from '@prometheus-io/client';
import type { Decision } from './core/decide.ts';
import type { Surface } from './core/event.ts';

export type Metrics = ReturnType<typeof createMetrics>;

export function createMetrics(queueDepth: () => number) {
  const registry = new Registry();
  const registers = [registry];
  const verdicts = new Counter({
    name: 'toolgate_verdicts_total',
    help: 'Verdicts given, by decision and surface.',
    labelNames: ['decision', 'surface'],
    registers,
  });
  const checkSeconds = new Histogram({
    name: 'toolgate_check_seconds',
    help: 'Time from the arrival of a check to its verdict, audit commit included.',
    buckets: [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 3],
    registers,
  });
  const groupSize = new Histogram({
    name: 'toolgate_commit_group_size',
    help: 'Checks that shared one audit commit.',
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256],
    registers,
  });
  const commitErrors = new Counter({
    name: 'toolgate_commit_errors_total',
    help: 'Audit commits that failed; their checks got no verdict.',
    registers,
  });
  new Gauge({
    name: 'toolgate_queue_depth',
    help: 'Checks waiting for their audit commit.',
    registers,
    collect() {
      this.set(queueDepth());
    },
  });
  const requests = new Counter({
    name: 'toolgate_http_requests_total',
    help: 'HTTP requests answered, by status.',
    labelNames: ['status'],
    registers,
  });
  return {
    registry,
    groupSize,
    commitErrors,
    answered: (status: number) => requests.inc({ status: String(status) }),
    verdict: (decision: Decision, surface: Surface, seconds: number) => {
      verdicts.inc({ decision, surface });
      checkSeconds.observe(seconds);
    },
  };
}
