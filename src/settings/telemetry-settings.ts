// The settings about OpenTelemetry. They have the names that every program with OpenTelemetry has, so that a platform
// that sets them for all its programs sets them for this one too. Without an address nothing is sent.

import { optional, secret, setting } from './setting.ts';
import {
  attributeList,
  baseUrl,
  exporter,
  headerList,
  oneOf,
  ratio,
  text,
  trueOnly,
  webUrl,
  wholeNumber,
} from './setting-readers.ts';

export const TELEMETRY_SETTINGS = {
  otlpEndpoint: optional(
    'TOOLGATE_OTLP_ENDPOINT',
    baseUrl,
    'OpenTelemetry collector (OTLP over HTTP) for this program: http://host:4318. It takes precedence over OTEL_EXPORTER_OTLP_ENDPOINT.',
  ),
  otelEndpoint: optional(
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    baseUrl,
    'OpenTelemetry collector (OTLP over HTTP); /v1/traces, /v1/metrics and /v1/logs are appended. Default: none, nothing is sent.',
  ),
  otelTracesEndpoint: optional(
    'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    webUrl,
    'Whole address for traces alone, instead of the common one with /v1/traces appended.',
  ),
  otelMetricsEndpoint: optional(
    'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT',
    webUrl,
    'Whole address for metrics alone, instead of the common one with /v1/metrics appended.',
  ),
  otelLogsEndpoint: optional(
    'OTEL_EXPORTER_OTLP_LOGS_ENDPOINT',
    webUrl,
    'Whole address for log records alone, instead of the common one with /v1/logs appended.',
  ),
  otelHeaders: secret(
    'OTEL_EXPORTER_OTLP_HEADERS',
    headerList,
    'Headers for the collector: name=value, comma-separated, values percent-encoded.',
  ),
  otelTracesHeaders: secret(
    'OTEL_EXPORTER_OTLP_TRACES_HEADERS',
    headerList,
    'Headers for traces alone, instead of the common ones.',
  ),
  otelMetricsHeaders: secret(
    'OTEL_EXPORTER_OTLP_METRICS_HEADERS',
    headerList,
    'Headers for metrics alone, instead of the common ones.',
  ),
  otelLogsHeaders: secret(
    'OTEL_EXPORTER_OTLP_LOGS_HEADERS',
    headerList,
    'Headers for log records alone, instead of the common ones.',
  ),
  otelProtocol: setting(
    'OTEL_EXPORTER_OTLP_PROTOCOL',
    'http/protobuf',
    oneOf('http/protobuf', 'http/json', 'grpc'),
    'How the collector is spoken to: http/protobuf or http/json. grpc is not supported, and stops the start if something is to be sent.',
  ),
  otelCompression: setting(
    'OTEL_EXPORTER_OTLP_COMPRESSION',
    'none',
    oneOf('none', 'gzip'),
    'none or gzip: whether what is sent is compressed.',
  ),
  otelTimeout: setting(
    'OTEL_EXPORTER_OTLP_TIMEOUT',
    '10000',
    wholeNumber(1, 600_000),
    'How long the collector may take to answer, in milliseconds.',
  ),
  otelServiceName: optional(
    'OTEL_SERVICE_NAME',
    text,
    'Name of this service in what is sent. Default: service.name of the attributes below, or toolgate.',
  ),
  otelResourceAttributes: optional(
    'OTEL_RESOURCE_ATTRIBUTES',
    attributeList,
    'What describes this process in what is sent: name=value, comma-separated, values percent-encoded.',
  ),
  otelTracesSampler: setting(
    'OTEL_TRACES_SAMPLER',
    'parentbased_always_on',
    oneOf(
      'always_on',
      'always_off',
      'traceidratio',
      'parentbased_always_on',
      'parentbased_always_off',
      'parentbased_traceidratio',
    ),
    'Which requests are traced; parentbased: as the caller decided, if it traces.',
  ),
  otelTracesSamplerArg: setting(
    'OTEL_TRACES_SAMPLER_ARG',
    '1',
    ratio,
    'The part of the requests that traceidratio traces, from 0 to 1: 0.01 for one in a hundred.',
  ),
  otelTracesExporter: setting('OTEL_TRACES_EXPORTER', 'otlp', exporter, 'otlp, or none: no traces are sent.'),
  otelMetricsExporter: setting(
    'OTEL_METRICS_EXPORTER',
    'otlp',
    exporter,
    'otlp, or none: no metrics are sent.',
  ),
  otelLogsExporter: setting(
    'OTEL_LOGS_EXPORTER',
    'otlp',
    exporter,
    'otlp, or none: no log records are sent.',
  ),
  otelMetricInterval: setting(
    'OTEL_METRIC_EXPORT_INTERVAL',
    '60000',
    wholeNumber(100, 86_400_000),
    'How often metrics are sent, in milliseconds.',
  ),
  otelSpanDelay: setting(
    'OTEL_BSP_SCHEDULE_DELAY',
    '5000',
    wholeNumber(1, 600_000),
    'How long spans are collected before they are sent, in milliseconds.',
  ),
  otelSpanQueue: setting(
    'OTEL_BSP_MAX_QUEUE_SIZE',
    '2048',
    wholeNumber(1, 100_000),
    'Spans that may wait to be sent; further ones are dropped and counted.',
  ),
  otelSpanBatch: setting(
    'OTEL_BSP_MAX_EXPORT_BATCH_SIZE',
    '512',
    wholeNumber(1, 10_000),
    'Most spans in one request.',
  ),
  otelDisabled: setting(
    'OTEL_SDK_DISABLED',
    'false',
    trueOnly,
    'true turns all of this off, whatever the other variables say.',
  ),
};

type Values = {
  [Name in keyof typeof TELEMETRY_SETTINGS]: ReturnType<(typeof TELEMETRY_SETTINGS)[Name]['read']>;
};

export type Signal = 'traces' | 'metrics' | 'logs';

export interface SignalTarget {
  signal: Signal;
  url: string;
  headers: Record<string, string>;
}

/** Where the three signals are sent; one without an address, or turned off, is left out. */
export function signalTargets(config: Values): SignalTarget[] {
  if (config.otelDisabled) return [];
  const base = config.otlpEndpoint ?? config.otelEndpoint;
  const target = (
    signal: Signal,
    exporter: 'otlp' | 'none',
    address: string | null,
    headers: Record<string, string> | null,
  ) => {
    const url = address ?? (base === null ? null : `${base}/v1/${signal}`);
    if (url === null || exporter === 'none') return [];
    return [{ signal, url, headers: headers ?? config.otelHeaders ?? {} }];
  };
  return [
    ...target('traces', config.otelTracesExporter, config.otelTracesEndpoint, config.otelTracesHeaders),
    ...target('metrics', config.otelMetricsExporter, config.otelMetricsEndpoint, config.otelMetricsHeaders),
    ...target('logs', config.otelLogsExporter, config.otelLogsEndpoint, config.otelLogsHeaders),
  ];
}
