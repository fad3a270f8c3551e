// Counts what this process does, and gives it as families of metrics. Every check counts, so counting is plain
// addition; the families are made only on request.

import { DECISIONS, type Decision } from '../core/decide.ts';
import type { MetricFamily } from '../core/metric.ts';
import { SURFACES, type Surface } from '../core/surface.ts';
import type { ChannelKind } from '../store/notifications.ts';
import { by, counter, gauge, histogram } from './family.ts';
import { Histogram } from './histogram.ts';

const CHECK_SECONDS = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 3];
const GROUP_SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

/** What is known about the details of held calls; never what they say. */
interface Details {
  readonly figures: {
    held: number;
    bytes: number;
    evicted: number;
    answered: number;
    found: Record<string, number>;
  };
}

export class Metrics {
  readonly #verdicts = new Map<string, number>();
  readonly #answers = new Map<number, number>();
  readonly #checkSeconds = new Histogram(CHECK_SECONDS);
  readonly #groupSizes = new Histogram(GROUP_SIZES);
  readonly #queueDepth: () => number;
  readonly #details: Details;
  readonly #deliveries = new Map<string, number>();
  readonly #notifications = new Map<string, { channel: ChannelKind; outcome: string; value: number }>();
  readonly #removed = new Map<string, number>();
  #rolledUp: number | null = null;
  #commitErrors = 0;
  #sealed = 0;
  #behindSince: number | null = null;
  #checkpoints = 0;
  readonly #checkpointSends = new Map<string, number>();
  #sealErrors = 0;
  #stderrBytes = 0;

  constructor(queueDepth: () => number, details: Details) {
    this.#queueDepth = queueDepth;
    this.#details = details;
    for (const surface of SURFACES)
      for (const decision of DECISIONS) this.#verdicts.set(decision + surface, 0);
  }

  verdict(decision: Decision, surface: Surface, seconds: number): void {
    add(this.#verdicts, decision + surface);
    this.#checkSeconds.observe(seconds);
  }

  answered(status: number): void {
    add(this.#answers, status);
  }

  committed(size: number): void {
    this.#groupSizes.observe(size);
  }

  commitFailed(): void {
    this.#commitErrors++;
  }

  delivered(ok: boolean): void {
    add(this.#deliveries, outcomeOf(ok));
  }

  notified(channel: ChannelKind, ok: boolean): void {
    const outcome = outcomeOf(ok);
    const counted = this.#notifications.get(channel + outcome) ?? { channel, outcome, value: 0 };
    counted.value++;
    this.#notifications.set(channel + outcome, counted);
  }

  removed(counts: Record<string, number>): void {
    for (const [table, count] of Object.entries(counts)) add(this.#removed, table, count);
  }

  /** The statistics contain everything before this time. */
  rolledUp(until: number | null): void {
    this.#rolledUp = until;
  }

  /** The number of sealed entries, and when the oldest unsealed one was made. */
  sealed(size: number, behindSince: number | null): void {
    this.#sealed = size;
    this.#behindSince = behindSince;
  }

  checkpointed(): void {
    this.#checkpoints++;
  }

  checkpointSent(ok: boolean): void {
    add(this.#checkpointSends, outcomeOf(ok));
  }

  /** After a failure, sealing counts as behind until it is known to go on. */
  sealingFailed(): void {
    this.#sealErrors++;
    this.#behindSince ??= Date.now();
  }

  stderrDropped(bytes: number): void {
    this.#stderrBytes += bytes;
  }

  async families(): Promise<MetricFamily[]> {
    return [
      ...this.#checkFamilies(),
      ...this.#outgoingFamilies(),
      ...this.#logFamilies(),
      counter(
        'toolgate_stdio_stderr_bytes',
        'Bytes that stdio servers wrote to standard error, and that were dropped.',
        this.#stderrBytes,
      ),
      ...this.#detailsFamilies(),
    ];
  }

  #checkFamilies(): MetricFamily[] {
    const verdicts = SURFACES.flatMap(surface =>
      DECISIONS.map(decision => ({
        labels: { decision, surface },
        value: this.#verdicts.get(decision + surface) ?? 0,
      })),
    );
    return [
      counter('toolgate_verdicts', 'Verdicts given, by decision and surface.', verdicts),
      histogram(
        'toolgate_check_seconds',
        'Time from the arrival of a check to its verdict, audit commit included.',
        [this.#checkSeconds.sample()],
      ),
      histogram('toolgate_commit_group_size', 'Checks that shared one audit commit.', [
        this.#groupSizes.sample(),
      ]),
      gauge('toolgate_queue_depth', 'Checks waiting for their audit commit.', this.#queueDepth()),
      counter(
        'toolgate_commit_errors',
        'Audit commits that failed; their checks got no verdict.',
        this.#commitErrors,
      ),
      counter(
        'toolgate_http_requests',
        'HTTP requests answered, by status; 499: the client went away before its body was complete.',
        by('status', this.#answers),
      ),
    ];
  }

  #outgoingFamilies(): MetricFamily[] {
    const notifications = Array.from(this.#notifications.values(), ({ channel, outcome, value }) => ({
      labels: { channel, outcome },
      value,
    }));
    return [
      counter(
        'toolgate_delivery_attempts',
        'Attempts to deliver an event to a webhook, by outcome.',
        by('outcome', this.#deliveries),
      ),
      counter(
        'toolgate_notification_attempts',
        'Attempts to send an approval link, by channel and outcome.',
        notifications,
      ),
    ];
  }

  #logFamilies(): MetricFamily[] {
    return [
      gauge(
        'toolgate_rollup_lag_seconds',
        'Age of the newest audit entries in the statistics; up to two minutes are normal.',
        this.#rolledUp === null ? [] : secondsSince(this.#rolledUp),
      ),
      counter(
        'toolgate_retention_removed',
        'Rows that this replica removed because their retention was over, by table.',
        by('table', this.#removed),
      ),
      gauge('toolgate_sealed_entries', 'Audit entries in the sealed log.', this.#sealed),
      gauge(
        'toolgate_seal_lag_seconds',
        'Age of the oldest audit entry that is not sealed; a few seconds are normal.',
        this.#behindSince === null ? 0 : secondsSince(this.#behindSince),
      ),
      counter('toolgate_seal_errors', 'Failures of sealing; each is tried again.', this.#sealErrors),
      counter('toolgate_checkpoints', 'Checkpoints signed by this replica.', this.#checkpoints),
      counter(
        'toolgate_checkpoint_sends',
        'Attempts to send a checkpoint to the address outside, by outcome.',
        by('outcome', this.#checkpointSends),
      ),
    ];
  }

  #detailsFamilies(): MetricFamily[] {
    const { held, bytes, evicted, answered, found } = this.#details.figures;
    return [
      gauge('toolgate_details_held', 'Held calls whose details are in memory.', held),
      gauge('toolgate_details_bytes', 'Memory that these details take.', bytes),
      counter(
        'toolgate_details_evicted',
        'Details that were let go before their approval ended, because there was no room.',
        evicted,
      ),
      counter(
        'toolgate_details_lookups',
        'Times that details were needed, by where they were found.',
        by('found', Object.entries(found)),
      ),
      counter(
        'toolgate_details_answers',
        'Questions of other replicas for details that this one answered.',
        answered,
      ),
    ];
  }
}

const outcomeOf = (ok: boolean): 'ok' | 'failed' => (ok ? 'ok' : 'failed');

const secondsSince = (time: number): number => Math.max(0, (Date.now() - time) / 1000);

function add<Series>(counts: Map<Series, number>, series: Series, count = 1): void {
  counts.set(series, (counts.get(series) ?? 0) + count);
}
