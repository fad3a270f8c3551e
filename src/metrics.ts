// The metrics of the service, in the Prometheus text format. Every check counts, so counting is plain addition; the
// text is made only on request. No label contains a name that a caller can choose.

import { DECISIONS, type Decision } from './core/decide.ts';
import { SURFACES, type Surface } from './core/surface.ts';
import type { ChannelKind } from './store/notifications.ts';

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
  readonly #notifications = new Map<string, number>();
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
    add(this.#deliveries, `outcome="${ok ? 'ok' : 'failed'}"`);
  }

  notified(channel: ChannelKind, ok: boolean): void {
    add(this.#notifications, `channel="${channel}",outcome="${ok ? 'ok' : 'failed'}"`);
  }

  removed(counts: Record<string, number>): void {
    for (const [table, count] of Object.entries(counts)) {
      const series = `table="${table}"`;
      this.#removed.set(series, (this.#removed.get(series) ?? 0) + count);
    }
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
    add(this.#checkpointSends, `outcome="${ok ? 'ok' : 'failed'}"`);
  }

  /** After a failure, sealing counts as behind until it is known to go on. */
  sealingFailed(): void {
    this.#sealErrors++;
    this.#behindSince ??= Date.now();
  }

  stderrDropped(bytes: number): void {
    this.#stderrBytes += bytes;
  }

  text(): string {
    const verdicts = SURFACES.flatMap(surface =>
      DECISIONS.map(
        decision =>
          `toolgate_verdicts_total{decision="${decision}",surface="${surface}"} ${this.#verdicts.get(decision + surface)}`,
      ),
    );
    const answers = [...this.#answers].map(
      ([status, count]) => `toolgate_http_requests_total{status="${status}"} ${count}`,
    );
    return [
      ...family('toolgate_verdicts_total', 'counter', 'Verdicts given, by decision and surface.', verdicts),
      ...family(
        'toolgate_check_seconds',
        'histogram',
        'Time from the arrival of a check to its verdict, audit commit included.',
        this.#checkSeconds.lines('toolgate_check_seconds'),
      ),
      ...family(
        'toolgate_commit_group_size',
        'histogram',
        'Checks that shared one audit commit.',
        this.#groupSizes.lines('toolgate_commit_group_size'),
      ),
      ...family('toolgate_queue_depth', 'gauge', 'Checks waiting for their audit commit.', [
        `toolgate_queue_depth ${this.#queueDepth()}`,
      ]),
      ...family(
        'toolgate_commit_errors_total',
        'counter',
        'Audit commits that failed; their checks got no verdict.',
        [`toolgate_commit_errors_total ${this.#commitErrors}`],
      ),
      ...family(
        'toolgate_http_requests_total',
        'counter',
        'HTTP requests answered, by status; 499: the client went away before its body was complete.',
        answers,
      ),
      ...family(
        'toolgate_delivery_attempts_total',
        'counter',
        'Attempts to deliver an event to a webhook, by outcome.',
        labelled('toolgate_delivery_attempts_total', this.#deliveries),
      ),
      ...family(
        'toolgate_notification_attempts_total',
        'counter',
        'Attempts to send an approval link, by channel and outcome.',
        labelled('toolgate_notification_attempts_total', this.#notifications),
      ),
      ...family(
        'toolgate_rollup_lag_seconds',
        'gauge',
        'Age of the newest audit entries in the statistics; up to two minutes are normal.',
        this.#rolledUp === null
          ? []
          : [`toolgate_rollup_lag_seconds ${Math.max(0, (Date.now() - this.#rolledUp) / 1000)}`],
      ),
      ...family(
        'toolgate_retention_removed_total',
        'counter',
        'Rows that this replica removed because their retention was over, by table.',
        labelled('toolgate_retention_removed_total', this.#removed),
      ),
      ...family('toolgate_sealed_entries', 'gauge', 'Audit entries in the sealed log.', [
        `toolgate_sealed_entries ${this.#sealed}`,
      ]),
      ...family(
        'toolgate_seal_lag_seconds',
        'gauge',
        'Age of the oldest audit entry that is not sealed; a few seconds are normal.',
        [`toolgate_seal_lag_seconds ${this.#sealLag()}`],
      ),
      ...family('toolgate_seal_errors_total', 'counter', 'Failures of sealing; each is tried again.', [
        `toolgate_seal_errors_total ${this.#sealErrors}`,
      ]),
      ...family('toolgate_checkpoints_total', 'counter', 'Checkpoints signed by this replica.', [
        `toolgate_checkpoints_total ${this.#checkpoints}`,
      ]),
      ...family(
        'toolgate_checkpoint_sends_total',
        'counter',
        'Attempts to send a checkpoint to the address outside, by outcome.',
        labelled('toolgate_checkpoint_sends_total', this.#checkpointSends),
      ),
      ...family(
        'toolgate_stdio_stderr_bytes_total',
        'counter',
        'Bytes that stdio servers wrote to standard error, and that were dropped.',
        [`toolgate_stdio_stderr_bytes_total ${this.#stderrBytes}`],
      ),
      ...this.#detailsFamilies(),
      '',
    ].join('\n');
  }

  #detailsFamilies(): string[] {
    const { held, bytes, evicted, answered, found } = this.#details.figures;
    const byPlace = Object.entries(found).map(
      ([place, count]) => `toolgate_details_lookups_total{found="${place}"} ${count}`,
    );
    return [
      ...family('toolgate_details_held', 'gauge', 'Held calls whose details are in memory.', [
        `toolgate_details_held ${held}`,
      ]),
      ...family('toolgate_details_bytes', 'gauge', 'Memory that these details take.', [
        `toolgate_details_bytes ${bytes}`,
      ]),
      ...family(
        'toolgate_details_evicted_total',
        'counter',
        'Details that were let go before their approval ended, because there was no room.',
        [`toolgate_details_evicted_total ${evicted}`],
      ),
      ...family(
        'toolgate_details_lookups_total',
        'counter',
        'Times that details were needed, by where they were found.',
        byPlace,
      ),
      ...family(
        'toolgate_details_answers_total',
        'counter',
        'Questions of other replicas for details that this one answered.',
        [`toolgate_details_answers_total ${answered}`],
      ),
    ];
  }

  #sealLag(): number {
    return this.#behindSince === null ? 0 : Math.max(0, (Date.now() - this.#behindSince) / 1000);
  }
}

class Histogram {
  readonly #bounds: readonly number[];
  readonly #counts: number[];
  #sum = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = Array.from({ length: bounds.length + 1 }, () => 0);
  }

  observe(value: number): void {
    let bucket = 0;
    while (bucket < this.#bounds.length && value > (this.#bounds[bucket] as number)) bucket++;
    this.#counts[bucket] = (this.#counts[bucket] as number) + 1;
    this.#sum += value;
  }

  lines(name: string): string[] {
    let seen = 0;
    const buckets = this.#counts.map((count, index) => {
      seen += count;
      return `${name}_bucket{le="${this.#bounds[index] ?? '+Inf'}"} ${seen}`;
    });
    return [...buckets, `${name}_sum ${this.#sum}`, `${name}_count ${seen}`];
  }
}

function add<Series>(counts: Map<Series, number>, series: Series): void {
  counts.set(series, (counts.get(series) ?? 0) + 1);
}

function labelled(name: string, counts: Map<string, number>): string[] {
  return [...counts].map(([labels, count]) => `${name}{${labels}} ${count}`);
}

function family(name: string, type: string, help: string, lines: string[]): string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines];
}

/** The metrics of several processes as one text; each sample gets a label with its worker. */
export function mergedMetrics(texts: readonly (readonly [worker: number, text: string])[]): string {
  const families = new Map<string, string[]>();
  for (const [worker, text] of texts) {
    let samples: string[] = [];
    for (const line of text.split('\n')) {
      if (line.startsWith('# HELP ')) {
        samples = families.get(line) ?? [];
        families.set(line, samples);
      } else if (line.startsWith('#')) {
        if (samples.length === 0) samples.push(line);
      } else if (line !== '') samples.push(ofWorker(line, worker));
    }
  }
  return [...families]
    .flatMap(([help, lines]) => [help, ...lines])
    .concat('')
    .join('\n');
}

function ofWorker(sample: string, worker: number): string {
  const label = `worker="${worker}"`;
  if (sample.includes('{')) return sample.replace('{', `{${label},`);
  return sample.replace(' ', `{${label}} `);
}
