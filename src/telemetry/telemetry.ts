// The door of telemetry: what OpenTelemetry gets of this process. main.ts loads it only if a collector is named. It makes
// the tracer, and sends spans and log records.

import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Config } from '../config.ts';
import type { EndedSpan, Tracer } from '../core/span.ts';
import { type Signal, type SignalTarget, signalTargets } from '../telemetry-settings.ts';
import { Exporter } from './exporter.ts';
import type { Resource } from './otlp.ts';
import { TRACES, tracesRequest } from './otlp-traces.ts';
import { encode, type Message } from './protobuf.ts';
import { samplerOf } from './sampler.ts';
import { createTracer } from './tracer.ts';

/** What telemetry tells about itself. */
export interface TelemetryObserver {
  dropped(signal: Signal, count: number): void;
  /** The collector does not take a signal; null: it does again. */
  failing(signal: Signal, reason: string | null): void;
}

export class Telemetry {
  /** Null if no traces are sent. */
  readonly tracer: Tracer | null = null;
  readonly #exporters: { stop(): Promise<void> }[] = [];
  readonly #config: Config;
  readonly #resource: Resource;
  readonly #observer: TelemetryObserver;

  /** Null if nothing is sent. */
  static from(config: Config, version: string, observer: TelemetryObserver): Telemetry | null {
    const targets = signalTargets(config);
    return targets.length === 0 ? null : new Telemetry(config, targets, version, observer);
  }

  private constructor(
    config: Config,
    targets: readonly SignalTarget[],
    version: string,
    observer: TelemetryObserver,
  ) {
    this.#config = config;
    this.#resource = describeProcess(config, version);
    this.#observer = observer;
    const to = (signal: Signal) => targets.find(target => target.signal === signal);
    const traces = to('traces');
    if (traces !== undefined) {
      const exporter = this.#exporter<EndedSpan>(traces, TRACES, spans =>
        tracesRequest(this.#resource, spans),
      );
      const sampler = samplerOf(config.otelTracesSampler, config.otelTracesSamplerArg);
      this.tracer = createTracer(sampler, span => exporter.add(span));
    }
  }

  /** Sends what waits, for at most a few seconds. */
  async stop(): Promise<void> {
    await Promise.all(this.#exporters.map(exporter => exporter.stop()));
  }

  #exporter<Item>(
    { signal, url, headers }: SignalTarget,
    message: Message,
    request: (items: readonly Item[]) => object,
  ): Exporter<Item> {
    const { otelProtocol, otelCompression, otelTimeout, otelSpanQueue, otelSpanBatch, otelSpanDelay } =
      this.#config;
    const json = otelProtocol === 'http/json';
    const compress = otelCompression === 'gzip';
    const exporter = new Exporter<Item>({
      url,
      headers: {
        'user-agent': `toolgate/${this.#resource.version}`,
        ...headers,
        'content-type': json ? 'application/json' : 'application/x-protobuf',
        ...(compress ? { 'content-encoding': 'gzip' } : {}),
      },
      queueSize: otelSpanQueue,
      batchSize: Math.min(otelSpanBatch, otelSpanQueue),
      delayMs: otelSpanDelay,
      timeoutMs: otelTimeout,
      compress,
      encode: items => (json ? jsonBytes(request(items)) : encode(message, request(items))),
      dropped: count => this.#observer.dropped(signal, count),
      failing: reason => this.#observer.failing(signal, reason),
    });
    this.#exporters.push(exporter);
    return exporter;
  }
}

function jsonBytes(value: object): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(JSON.stringify(value));
}

/** What describes this process, in the words of OpenTelemetry. The operator's attributes take precedence. */
function describeProcess(config: Config, version: string): Resource {
  const { otelServiceName: name, otelResourceAttributes: given } = config;
  const attributes = {
    'service.name': 'toolgate',
    'service.version': version,
    'service.instance.id': randomUUID(),
    'host.name': hostname(),
    'process.pid': process.pid,
    ...given,
    ...(name === null ? {} : { 'service.name': name }),
  };
  return { attributes, version };
}
