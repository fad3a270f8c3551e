// The variables of OpenTelemetry: where each signal is sent, what turns it off, and what is refused.

import { describe, expect, test } from 'bun:test';
import { tmpdir } from 'node:os';
import { loadConfig } from '../../src/settings/config.ts';
import { signalTargets } from '../../src/settings/telemetry-settings.ts';

type Env = Record<string, string>;

const BASE = 'OTEL_EXPORTER_OTLP_ENDPOINT';
const loaded = (env: Env) => loadConfig(env, tmpdir()).config;
const targets = (env: Env) =>
  Object.fromEntries(signalTargets(loaded(env)).map(({ signal, url }) => [signal, url]));

describe('what is sent where', () => {
  test.each<[Env, Record<string, string>]>([
    [{}, {}],
    [
      { [BASE]: 'http://collector:4318/' },
      {
        traces: 'http://collector:4318/v1/traces',
        metrics: 'http://collector:4318/v1/metrics',
        logs: 'http://collector:4318/v1/logs',
      },
    ],
    [
      { [BASE]: 'http://a', TOOLGATE_OTLP_ENDPOINT: 'http://b/otlp', OTEL_LOGS_EXPORTER: 'none' },
      { traces: 'http://b/otlp/v1/traces', metrics: 'http://b/otlp/v1/metrics' },
    ],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://c/whole' }, { traces: 'http://c/whole' }],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: ' http://c:1\n' }, { traces: 'http://c:1' }],
    [
      { [BASE]: 'http://a', OTEL_METRICS_EXPORTER: 'prometheus', OTEL_TRACES_EXPORTER: 'console,otlp' },
      { traces: 'http://a/v1/traces', logs: 'http://a/v1/logs' },
    ],
    [{ [BASE]: 'http://a', OTEL_SDK_DISABLED: 'TRUE' }, {}],
  ])('%o', (env, expected) => {
    expect(targets(env)).toEqual(expected);
  });

  test('headers of one signal take the place of the common ones', () => {
    const env = {
      [BASE]: 'http://a',
      OTEL_EXPORTER_OTLP_HEADERS: 'Authorization=Bearer%20x%3D%3D, x-tenant=one',
      OTEL_EXPORTER_OTLP_LOGS_HEADERS: 'x-key=2',
    };
    const headers = signalTargets(loaded(env)).map(target => target.headers);
    const common = { authorization: 'Bearer x==', 'x-tenant': 'one' };
    expect(headers).toEqual([common, common, { 'x-key': '2' }]);
  });
});

describe('what is wrong', () => {
  const WRONG: Env[] = [
    { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' },
    { OTEL_EXPORTER_OTLP_PROTOCOL: 'http/thrift' },
    { OTEL_EXPORTER_OTLP_HEADERS: 'canary-of-a-header' },
    { OTEL_EXPORTER_OTLP_HEADERS: 'a=line%0Abreak-canary-of-a-header' },
    { OTEL_RESOURCE_ATTRIBUTES: 'a=%zz' },
    { OTEL_TRACES_SAMPLER: 'xray' },
    { OTEL_TRACES_SAMPLER_ARG: '1.5' },
    { OTEL_BSP_MAX_QUEUE_SIZE: '-1' },
  ];

  test.each(WRONG)('%o stops the start if something is sent', env => {
    const [name = ''] = Object.keys(env);
    const start = () => loaded({ ...env, [BASE]: 'http://a' });
    expect(start).toThrow(name);
    expect(start).not.toThrow('canary-of-a-header');
  });

  test.each(WRONG)('%o does not, if a platform sets it for all programs and nothing is sent', env => {
    expect(targets(env)).toEqual({});
    expect(targets({ ...env, [BASE]: 'http://a', OTEL_SDK_DISABLED: 'true' })).toEqual({});
  });

  test('grpc is refused with what to do', () => {
    expect(() => loaded({ [BASE]: 'http://a:4317', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' })).toThrow(
      'set it to http/protobuf, and the endpoint to the collector’s port for HTTP, which is mostly 4318',
    );
  });

  test('an address that is none stops the start, or nobody would notice that nothing is sent', () => {
    expect(() => loaded({ [BASE]: 'collector:4317' })).toThrow(`${BASE} is "collector:4317"`);
    expect(targets({ [BASE]: 'collector:4317', OTEL_SDK_DISABLED: 'true' })).toEqual({});
  });
});

test.each([
  'http://canary@collector:4318',
  'http://:canary@collector:4318',
  'http://collector:4318?key=canary',
  ' http://collector:4318/#part',
])('a base address like %p is refused, and what may be a secret in it is not shown', address => {
  const start = () => loaded({ [BASE]: address });
  expect(start).toThrow(BASE);
  expect(start).not.toThrow('canary');
});

test('the query of an address may hold a key, and is masked where settings are shown', () => {
  const link = 'https://traces.example.com/?trace={traceId}';
  const env = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://c/traces?key=canary', TOOLGATE_TRACE_URL: link };
  const values = loaded(env).origins.map(({ value }) => value);
  expect(values).toContain('https://c/traces?********');
  expect(values).toContain(link);
  expect(targets(env)).toEqual({ traces: 'https://c/traces?key=canary' });
});

test('headers are masked where settings are shown', () => {
  const { origins } = loaded({ OTEL_EXPORTER_OTLP_HEADERS: 'authorization=secret' });
  expect(origins.find(({ env }) => env === 'OTEL_EXPORTER_OTLP_HEADERS')?.value).toBe('********');
  expect(JSON.stringify(origins)).not.toContain('secret"');
});
