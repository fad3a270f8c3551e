// The service with a collector: what arrives there of a call, that no argument and no credential does, and that a
// collector which never answers delays neither checks nor the stop.

import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../src/settings/config.ts';
import { Telemetry } from '../../src/telemetry/telemetry.ts';
import { Collector, canDecode, type OtlpRequest } from '../support/collector.ts';
import { ADMIN_TOKEN, ROOT, startService, type TestService } from '../support/service.ts';

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const RULES = [{ tool: 'fine', action: 'allow' as const }];
const ARGUMENT = 'canary-argument-5b1f';
const CREDENTIAL = 'canary-credential-77aa';

const traced = (service: TestService, key: string) =>
  service.request('POST', '/v1/check', {
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      traceparent: `00-${TRACE_ID}-b7ad6b7169203331-01`,
    },
    body: JSON.stringify({ serverName: 's', toolName: 'fine', args: { text: ARGUMENT } }),
  });

describe.skipIf(!canDecode)('a service with a collector', () => {
  test('sends traces, metrics and log records, and none of them has an argument or a credential', async () => {
    const collector = await Collector.start();
    const service = await startService({
      env: {
        OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`,
        OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer%20${CREDENTIAL},x-tenant=one`,
        OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
        OTEL_SERVICE_NAME: 'gate',
        OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test%20one',
        TOOLGATE_LOG_LEVEL: 'debug',
      },
    });
    const { key } = await service.newKey(RULES);
    const { status, body } = await traced(service, key);
    expect([status, body.decision]).toEqual([200, 'allow']);
    expect(await service.kill('SIGTERM')).toBe(0);
    await collector.close();

    const ours = collector.spans.filter(span => span.traceId === TRACE_ID);
    const server = ours.find(span => span.kind === 'SPAN_KIND_SERVER');
    expect(server).toMatchObject({ name: 'POST /v1/check', parentSpanId: 'b7ad6b7169203331' });
    expect(server.attributes).toContainEqual({ key: 'toolgate.decision', value: { stringValue: 'allow' } });
    expect(ours.length).toBeGreaterThan(1);

    expect(collector.logRecords.map(record => record.body.stringValue)).toContain('serving');
    const verdicts = collector.metrics.find(metric => metric.name === 'toolgate_verdicts');
    expect(verdicts.sum.dataPoints).toContainEqual(expect.objectContaining({ asDouble: 1 }));
    for (const { headers, json } of collector.requests) {
      expect(headers).toMatchObject({ authorization: `Bearer ${CREDENTIAL}`, 'x-tenant': 'one' });
      const [{ resource }] = Object.values(json)[0] as Resources;
      expect(resource.attributes).toContainEqual({ key: 'service.name', value: { stringValue: 'gate' } });
      expect(resource.attributes).toContainEqual({
        key: 'deployment.environment.name',
        value: { stringValue: 'test one' },
      });
    }

    const sent = collector.requests.map(({ plain }) => plain.toString('latin1')).join('\n');
    for (const secret of [ARGUMENT, CREDENTIAL, key]) {
      expect(sent).not.toContain(secret);
      expect(service.output).not.toContain(secret);
    }
  });

  test('goes on if the collector never answers, counts what it drops, and stops', async () => {
    const collector = await Collector.start(() => 'hang');
    const service = await startService({
      env: {
        TOOLGATE_OTLP_ENDPOINT: collector.url,
        OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9',
        OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
        OTEL_BSP_MAX_QUEUE_SIZE: '10',
        OTEL_METRIC_EXPORT_INTERVAL: '100',
      },
    });
    const { key } = await service.newKey(RULES);
    const checks = Array.from({ length: 50 }, () => traced(service, key));
    expect((await Promise.all(checks)).map(({ status }) => status)).toEqual(checks.map(() => 200));
    const { text } = await service.request('GET', '/metrics', {
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
    });
    const [, dropped] = /toolgate_telemetry_dropped_total\{signal="traces"\} (\d+)/.exec(text) ?? [];
    expect(Number(dropped)).toBeGreaterThan(50);
    expect(await service.kill('SIGTERM')).toBe(0);
    expect(collector.of('/v1/traces').length).toBeGreaterThan(0);
    await collector.close();
  });
});

test.skipIf(!canDecode)('several processes with the same settings are several instances', async () => {
  const collector = await Collector.start();
  const instance = async (oneOfSeveral: boolean) => {
    const env = {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_RESOURCE_ATTRIBUTES: 'service.instance.id=pod-7',
    };
    const host = { version: '1', oneOfSeveral, families: async () => [], failing: () => {} };
    const telemetry = new Telemetry(loadConfig(env, tmpdir()).config, host);
    telemetry.log('{"level":"info","msg":"x"}');
    await telemetry.stop();
    const { json } = collector.of('/v1/logs').at(-1) as OtlpRequest;
    const [{ resource }] = json.resourceLogs as Resources;
    return resource.attributes.find(({ key }) => key === 'service.instance.id')?.value.stringValue;
  };
  expect([await instance(false), await instance(true)]).toEqual(['pod-7', `pod-7/${process.pid}`]);
  await collector.close();
});

test('without a collector nothing of telemetry is loaded', () => {
  const sources = [...new Bun.Glob('src/**/*.ts').scanSync({ cwd: ROOT })];
  const outside = sources.filter(file => !file.startsWith('src/telemetry/'));
  const imports = outside.flatMap(file =>
    readFileSync(join(ROOT, file), 'utf8')
      .split('\n')
      .filter(line => /['"][./]*\/telemetry\//.test(line)),
  );
  expect(imports.length).toBeGreaterThan(1);
  const loads = imports.filter(line => !line.startsWith('import type '));
  expect(loads).toEqual(["  const { Telemetry } = await import('../telemetry/telemetry.ts');"]);
});

type Resources = [{ resource: { attributes: { key: string; value: { stringValue: string } }[] } }];
