// The metrics of a running service: what they say about it; that the page, the dashboard and the alerts speak of metrics
// that exist; and that promtool and Prometheus read them.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '../support/faults.ts';
import { connect, LegacyClient, RecordingUpstream } from '../support/mcp.ts';
import { Receiver } from '../support/receiver.ts';
import { ROOT, startService, type TestService } from '../support/service.ts';
import { hasTool, tool } from '../support/tools.ts';
import { alertRules, dashboardQueries, documentedMetrics, unknownIn } from './documented.ts';
import { Prometheus } from './prometheus.ts';

const NOWHERE = 'http://127.0.0.1:9/mcp';
const LIMITS = {
  zz_few: { calls: 1, within: '1h' },
  zz_more: { calls: 5, within: '1h' },
  zz_many: { calls: 99, within: '1h' },
};
const RULES = [
  ...Object.keys(LIMITS).map(limit => ({ tool: `s__${limit}`, action: 'allow', limit })),
  { tool: 's__ask', action: 'require_approval' },
  { tool: 's__no', action: 'deny' },
  { tool: 'zz-near__echo', action: 'allow' },
];

/** Three traces; of the second nothing is sent. */
const [SENT, UNSENT, OF_MCP] = ['1', '2', '3'].map(digit => digit.repeat(32)) as [string, string, string];
const traceparent = (traceId: string, flags: string) => ({
  traceparent: `00-${traceId}-${'4'.repeat(16)}-${flags}`,
});
const folder = mkdtempSync(join(tmpdir(), 'toolgate-watched-'));
let service: TestService;
const upstream = new RecordingUpstream();
let receiver: Receiver;
let key: string;
let text: string;
const metrics = documentedMetrics();

beforeAll(async () => {
  receiver = await Receiver.start(({ path }) => (path === '/hook' ? 500 : 200));
  const shipping = { siem: { type: 'http', url: `${receiver.url}/siem` } };
  writeFileSync(join(folder, 'toolgate.yaml'), JSON.stringify({ shipping }));
  const env = {
    TOOLGATE_CONFIG: join(folder, 'toolgate.yaml'),
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_TRACES_SAMPLER: 'parentbased_always_off',
    OTEL_METRICS_EXPORTER: 'none',
    OTEL_LOGS_EXPORTER: 'none',
  };
  service = await startService({ env });
  const policy = await service.admin('POST', '/policies', { name: 'p', rules: RULES, limits: LIMITS });
  const { body } = await service.admin('POST', '/keys', { name: 'k', policyId: policy.body.id });
  key = body.key;
  await service.admin('POST', '/webhooks', { url: `${receiver.url}/hook`, keyId: body.id });
  for (const name of ['zz_few', 'zz_more', 'zz_more', 'zz_more', 'zz_more', 'zz_many', 'no', 'ask'])
    await service.check(key, 's', name);
  await connect(service, body.id, 'zz-away', NOWHERE);
  await connect(service, body.id, 'zz-near', upstream.url);
  const oauth = { as: 'key', clientId: 'app' };
  await connect(service, body.id, 'zz-signed', {
    transport: 'http',
    url: upstream.url,
    auth: 'oauth',
    oauth,
  });
  const client = await LegacyClient.open(service, key);
  await client.request('tools/list', {});
  await client.call('zz-near__echo', {}, undefined, { headers: traceparent(OF_MCP, '01') });
  await traced(SENT, '01');
  await traced(UNSENT, '00');
  await until('the webhook was tried', () => receiver.events.length > 0);
  text = (await service.request('GET', '/metrics')).text;
});
afterAll(async () => {
  await service?.close();
  await receiver?.close();
  await upstream.stop();
  rmSync(folder, { recursive: true });
});

/** One more check, within a trace of the caller. */
const traced = (traceId: string, flags: string) =>
  service.request('POST', '/v1/check', {
    headers: {
      ...traceparent(traceId, flags),
      Authorization: `Bearer ${key}`,
      'Content-Type': 'application/json',
    },
    body: JSON.stringify({ serverName: 's', toolName: 'zz_many' }),
  });

const value = (series: string): number =>
  Number(
    text
      .split('\n')
      .find(line => line.startsWith(`${series} `))
      ?.slice(series.length),
  );

describe('a service', () => {
  test('counts verdicts and times by surface', () => {
    expect(value('toolgate_verdicts_total{decision="allow",surface="check"}')).toBe(8);
    expect(value('toolgate_verdicts_total{decision="deny",surface="check"}')).toBe(1);
    expect(value('toolgate_verdicts_total{decision="pending",surface="check"}')).toBe(1);
    expect(value('toolgate_check_seconds_count{surface="check"}')).toBe(10);
    expect(value('toolgate_check_seconds_count{surface="mcp"}')).toBe(1);
    expect(value('toolgate_check_seconds_count{surface="goose"}')).toBeNaN();
    expect(value('toolgate_commit_group_size_sum')).toBe(11);
    expect(value('toolgate_commit_seconds_count')).toBe(value('toolgate_commit_group_size_count'));
    expect(value('toolgate_commit_wait_seconds_count')).toBe(value('toolgate_commit_group_size_count'));
  });

  test('says what waits, and for how long', () => {
    expect(value('toolgate_approvals_waiting')).toBe(1);
    expect(value('toolgate_approvals_oldest_seconds')).toBeGreaterThan(0);
    expect(value('toolgate_deliveries_waiting')).toBe(1);
    expect(value('toolgate_deliveries_oldest_seconds')).toBeGreaterThan(0);
  });

  test('counts limits near their end, and Connected Tools by state, without names', () => {
    expect(value('toolgate_limits{use="near"}')).toBe(1);
    expect(value('toolgate_limits{use="reached"}')).toBe(1);
    expect(value('toolgate_upstreams{state="failing"}')).toBe(1);
    expect(value('toolgate_upstreams{state="sign_in_needed"}')).toBe(1);
    expect(value('toolgate_upstreams{state="idle"}')).toBe(0);
    expect(value('toolgate_upstreams{state="connected"}')).toBe(1);
    expect(/zz[-_]|127\.0\.0\.1/.exec(text)).toBeNull();
  });

  test('names the traces that were sent, and only in OpenMetrics', async () => {
    expect(text).not.toContain('trace_id');
    const headers = { Accept: 'application/openmetrics-text; version=1.0.0' };
    const reply = await service.request('GET', '/metrics', { headers });
    expect(reply.headers.get('content-type')).toBe(
      'application/openmetrics-text; version=1.0.0; charset=utf-8',
    );
    const exemplar = /^toolgate_check_seconds_bucket\{surface="([^"]+)".* # \{trace_id="(\w+)"\} /gm;
    const found = Array.from(reply.text.matchAll(exemplar), ([, surface, traceId]) => [surface, traceId]);
    expect(found).toEqual([
      ['check', SENT],
      ['mcp', OF_MCP],
    ]);
    expect(reply.text.match(/trace_id/g)).toHaveLength(2);
  });

  test('describes its process', () => {
    expect(value('process_cpu_seconds_total')).toBeGreaterThan(0);
    expect(value('process_resident_memory_bytes')).toBeGreaterThan(10_000_000);
    expect(Math.abs(value('process_start_time_seconds') - Date.now() / 1000)).toBeLessThan(600);
    expect(text).toMatch(/^toolgate_build_info\{version="\d[^"]*"\} 1$/m);
    expect(value('toolgate_store_bytes')).toBeGreaterThan(100_000);
  });
});

describe('docs/metrics.md', () => {
  test('has exactly the metrics of the service, with their types', () => {
    const there = Array.from(text.matchAll(/^# TYPE (\w+) (\w+)$/gm), ([, name, type]) => `${name} ${type}`);
    const here = metrics.map(({ name, type }) => `${name} ${type}`);
    expect(here.sort()).toEqual(there.sort());
  });

  test('has their labels', () => {
    const series = [...text.matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm)];
    expect(series.length).toBeGreaterThan(100);
    const wrong = series.flatMap(([line, name = '', labels = '']) => {
      const plain = name.replace(/_(bucket|sum|count)$/, '');
      const known = metrics.find(each => each.name === name || each.name === plain)?.labels ?? [];
      const given = Array.from(labels.matchAll(/(\w+)="/g), ([, label]) => label).filter(
        label => label !== 'le',
      );
      return given.join() === known.join() ? [] : [line];
    });
    expect(wrong).toEqual([]);
  });

  test('explains every alert, and each leads there', () => {
    const page = readFileSync(join(ROOT, 'docs/metrics.md'), 'utf8');
    const explained = Array.from(page.matchAll(/^### (Toolgate\w+)$/gm), ([, name]) => name);
    expect(explained).toEqual(alertRules().map(rule => rule.alert));
    for (const { alert, annotations } of alertRules()) {
      expect(Object.keys(annotations)).toEqual(['summary', 'description', 'runbook_url']);
      expect(annotations['runbook_url']).toBe(`docs/metrics.md#${alert.toLowerCase()}`);
    }
  });
});

describe('the dashboard and the alerts', () => {
  test('name metrics and labels that exist', () => {
    const expressions = [...dashboardQueries(), ...alertRules()].map(({ expr }) => expr);
    expect(expressions.length).toBeGreaterThan(60);
    expect(expressions.flatMap(expr => unknownIn(expr, metrics))).toEqual([]);
  });

  test('a wrong name and a wrong label are found', () => {
    expect(unknownIn('rate(toolgate_verdict_total[5m])', metrics)).toEqual(['toolgate_verdict_total']);
    expect(unknownIn('toolgate_check_seconds', metrics)).toEqual(['toolgate_check_seconds']);
    expect(unknownIn('sum by (tool) (toolgate_upstreams{status="x"})', metrics)).toEqual(['status', 'tool']);
  });

  test('the dashboard shows every metric', () => {
    const shown = dashboardQueries()
      .map(({ expr }) => expr)
      .join('\n');
    const unseen = metrics.filter(({ name }) => !shown.includes(name)).map(({ name }) => name);
    expect(unseen).toEqual([]);
  });

  test('legends name labels that their expression keeps', () => {
    const odd = dashboardQueries().filter(({ expr, legend }) =>
      [...legend.matchAll(/\{\{(\w+)\}\}/g)].some(
        ([, label = '']) => /\bby \(/.test(expr) && !expr.includes(label),
      ),
    );
    expect(odd).toEqual([]);
  });
});

describe.if(hasTool('promtool'))('promtool', () => {
  async function promtool(args: string[], input = ''): Promise<[status: number, printed: string]> {
    const cwd = join(ROOT, 'deploy/prometheus');
    const stdin = new TextEncoder().encode(input);
    const child = Bun.spawn([tool('promtool') as string, ...args], {
      cwd,
      stdin,
      stdout: 'pipe',
      stderr: 'pipe',
    });
    const printed = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    return [await child.exited, printed.join('')];
  }

  test('accepts the rules', async () => {
    const [status, printed] = await promtool(['check', 'rules', '--lint-fatal', 'alerts.yaml']);
    expect([status, printed]).toEqual([
      0,
      expect.stringContaining(`SUCCESS: ${alertRules().length} rules found`),
    ]);
  });

  test('every alert fires and stays silent when it should', async () => {
    expect(await promtool(['test', 'rules', 'alerts.test.yaml'])).toEqual([
      0,
      expect.stringContaining('SUCCESS'),
    ]);
    const tests = readFileSync(join(ROOT, 'deploy/prometheus/alerts.test.yaml'), 'utf8');
    for (const { alert } of alertRules()) {
      expect(tests).toContain(`alertname: ${alert}\n`);
      expect(tests).toContain(`alertname: ${alert}, exp_alerts: [] }`);
    }
  });

  test('finds no fault with the metrics', async () => {
    expect(await promtool(['check', 'metrics'], text)).toEqual([0, '']);
  });
});

describe.if(hasTool('prometheus'))('Prometheus', () => {
  const RATE = 'rate(toolgate_verdicts_total[1m]) > 0';
  let prometheus: Prometheus;
  beforeAll(async () => {
    prometheus = await Prometheus.start(new URL(service.url).host);
    await service.check(key, 's', 'zz_many');
    await until('a rate is seen', async () => (await prometheus.query(RATE)).length > 0);
  });
  afterAll(() => prometheus?.close());

  /** What does not happen in this test. */
  const NOT_HERE = /telemetry_dropped|retention_removed/;

  test('reads the metrics, as OpenMetrics', async () => {
    expect(await prometheus.faults()).toEqual([]);
    const [depth] = await prometheus.query('toolgate_approvals_waiting');
    expect(depth?.value[1]).toBe('1');
  });

  test('keeps the exemplars', async () => {
    const found = await prometheus.exemplars('toolgate_check_seconds_bucket');
    const traces = found.flatMap(({ exemplars }) => exemplars.map(({ labels }) => labels['trace_id']));
    expect([...new Set(traces)].sort()).toEqual([SENT, OF_MCP]);
  });

  test('has data for every panel', async () => {
    const empty: string[] = [];
    for (const { panel, expr } of dashboardQueries()) {
      const asked = expr.replaceAll(/\$(job|instance)\b/g, '.*').replaceAll('$__rate_interval', '1m');
      if ((await prometheus.query(asked)).length === 0) empty.push(`${panel}: ${expr}`);
    }
    expect(empty.filter(each => !NOT_HERE.test(each))).toEqual([]);
  });

  test('evaluates every alert, of which none fires', async () => {
    for (const { expr } of alertRules()) await prometheus.query(expr);
    expect(await prometheus.query('ALERTS{alertstate="firing"}')).toEqual([]);
  });
});
