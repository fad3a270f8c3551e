// The entry to telemetry: what OpenTelemetry gets of this process. process/open-telemetry.ts loads it only if a
// collector is named. It makes the tracer, and sends spans, log records and readings of the metrics.

import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { LOGS, type LogRecord, logsRequest } from '../core/otlp/logs.ts';
import type { Resource } from '../core/otlp/otlp.ts';
import { encode, type Message } from '../core/otlp/protobuf.ts';
import type { MetricFamily } from '../core/wire/metric.ts';
import type { Tracer } from '../core/wire/span.ts';
import type { Config } from '../settings/config.ts';
import { type Signal, type SignalTarget, signalTargets } from '../settings/telemetry-settings.ts';
import { Exporter, type ExporterOptions } from './exporter.ts';
import { recordOf } from './log-line.ts';
import { METRICS, type MetricsReading, metricsRequest } from './otlp-metrics.ts';
import { TRACES, tracesRequest } from './otlp-traces.ts';
import { samplerOf } from './sampler.ts';
import { createTracer } from './tracer.ts';

/** What telemetry reads of the process, and where it reports its own failures. */
export interface TelemetryHost {
  version: string;
  /** Whether there are other processes with the same settings, as with `serve --workers`. */
  oneOfSeveral: boolean;
  families(): Promise<MetricFamily[]>;
  /** Called with the reason when the collector refuses a signal, and with null when it takes it again. */
  failing(signal: Signal, reason: string | null): void;
}

/** How often log records are sent. They are few, so their queue needs no settings. */
const LOGS_EVERY_MS = 1000;
const LOG_QUEUE = 2048;
const LOG_BATCH = 512;
/** How long the last reading of metrics may take. */
const LAST_READING_MS = 1000;

export class Telemetry {
  /** Null if no traces are sent. */
  readonly tracer: Tracer | null;
  /** How many spans, log records and readings of metrics were given up. */
  readonly dropped = new Map<Signal, number>();
  readonly #exporters: { stop(): Promise<void> }[] = [];
  readonly #config: Config;
  readonly #host: TelemetryHost;
  readonly #resource: Resource;
  readonly #startedAt = Date.now();
  readonly #logs: Exporter<LogRecord> | null;
  readonly #metrics: Exporter<MetricsReading> | null;
  readonly #readings: Timer | null;

  constructor(config: Config, host: TelemetryHost) {
    const targets = signalTargets(config);
    this.#config = config;
    this.#host = host;
    this.#resource = describeProcess(config, host);
    const to = (signal: Signal) => targets.find(target => target.signal === signal) ?? null;
    this.tracer = this.#createTracer(to('traces'));
    const bounds = { queueSize: LOG_QUEUE, batchSize: LOG_BATCH, delayMs: LOGS_EVERY_MS };
    this.#logs = this.#exporter(to('logs'), bounds, LOGS, logsRequest);
    // An older reading says nothing that a newer one does not, so none waits behind another.
    const alone = { queueSize: 1, batchSize: 1, delayMs: 0 };
    this.#metrics = this.#exporter(to('metrics'), alone, METRICS, metricsRequest);
    const read = () => this.#read();
    this.#readings = this.#metrics && setInterval(read, config.otelMetricInterval).unref();
  }

  log(line: string): void {
    const record = this.#logs === null ? null : recordOf(line);
    if (record !== null) this.#logs?.add(record);
  }

  /** Sends what waits, and the metrics once more, for at most a few seconds. */
  async stop(): Promise<void> {
    if (this.#readings !== null) clearInterval(this.#readings);
    await Promise.race([this.#read(), Bun.sleep(LAST_READING_MS)]);
    await Promise.all(this.#exporters.map(exporter => exporter.stop()));
  }

  async #read(): Promise<void> {
    try {
      const families = await this.#host.families();
      this.#metrics?.add({ families, from: this.#startedAt, to: Date.now() });
    } catch {
      this.#drop('metrics', 1);
    }
  }

  #drop(signal: Signal, count: number): void {
    this.dropped.set(signal, (this.dropped.get(signal) ?? 0) + count);
  }

  #createTracer(target: SignalTarget | null): Tracer | null {
    const { otelSpanQueue: queueSize, otelSpanBatch, otelSpanDelay: delayMs } = this.#config;
    const { otelTracesSampler, otelTracesSamplerArg } = this.#config;
    const bounds = { queueSize, batchSize: Math.min(otelSpanBatch, queueSize), delayMs };
    const exporter = this.#exporter(target, bounds, TRACES, tracesRequest);
    if (exporter === null) return null;
    return createTracer(samplerOf(otelTracesSampler, otelTracesSamplerArg), span => exporter.add(span));
  }

  #exporter<Item>(
    target: SignalTarget | null,
    bounds: Pick<ExporterOptions<Item>, 'queueSize' | 'batchSize' | 'delayMs'>,
    message: Message,
    request: (resource: Resource, items: readonly Item[]) => object,
  ): Exporter<Item> | null {
    if (target === null) return null;
    const { signal, url, headers } = target;
    this.dropped.set(signal, 0);
    const json = this.#config.otelProtocol === 'http/json';
    const compress = this.#config.otelCompression === 'gzip';
    const exporter = new Exporter<Item>({
      ...bounds,
      url,
      headers: {
        'user-agent': `toolgate/${this.#resource.version}`,
        ...headers,
        'content-type': json ? 'application/json' : 'application/x-protobuf',
        ...(compress ? { 'content-encoding': 'gzip' } : {}),
      },
      timeoutMs: this.#config.otelTimeout,
      compress,
      encode: items => {
        const value = request(this.#resource, items);
        return json ? new TextEncoder().encode(JSON.stringify(value)) : encode(message, value);
      },
      dropped: count => this.#drop(signal, count),
      failing: reason => this.#host.failing(signal, reason),
    });
    this.#exporters.push(exporter);
    return exporter;
  }
}

const INSTANCE = 'service.instance.id';

/**
 * What describes this process, in the words of OpenTelemetry. The operator's attributes take precedence. But each of several
 * processes is an instance, or their counters would be taken for one that goes up and down.
 */
function describeProcess(config: Config, { version, oneOfSeveral }: TelemetryHost): Resource {
  const { otelServiceName: name, otelResourceAttributes: given } = config;
  const attributes = {
    'service.name': 'toolgate',
    'service.version': version,
    [INSTANCE]: randomUUID(),
    'host.name': hostname(),
    'process.pid': process.pid,
    ...given,
    ...(name === null ? {} : { 'service.name': name }),
  };
  if (oneOfSeveral && given?.[INSTANCE] !== undefined) attributes[INSTANCE] += `/${process.pid}`;
  return { attributes, version };
}
