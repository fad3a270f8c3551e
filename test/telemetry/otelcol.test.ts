// The receiver of the OpenTelemetry Collector itself reads what is sent, in both encodings and compressed.

import { afterAll, describe, expect, test } from 'bun:test';
import { loadConfig } from '../../src/settings/config.ts';
import { Telemetry } from '../../src/telemetry/telemetry.ts';
import { freePort } from '../support/port.ts';
import { hasTool, tool } from '../support/tools.ts';

const can = hasTool('otelcol');
/** What the receiver printed. */
const lines: string[] = [];
let printed = Promise.withResolvers<void>();

/** The first line with the word, which may yet have to come. */
async function lineWith(word: string): Promise<string> {
  for (;;) {
    const found = lines.find(line => line.includes(word));
    if (found !== undefined) return found;
    await printed.promise;
  }
}

async function startCollector(): Promise<{ url: string; process: Bun.Subprocess }> {
  const port = await freePort();
  const child = Bun.spawn([tool('otelcol') as string, `127.0.0.1:${port}`], {
    stdout: 'pipe',
    stderr: 'inherit',
  });
  (async () => {
    let rest = '';
    for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
      const parts = (rest + chunk).split('\n');
      rest = parts.pop() ?? '';
      lines.push(...parts);
      printed.resolve();
      printed = Promise.withResolvers();
    }
  })();
  await lineWith('ready');
  return { url: `http://127.0.0.1:${port}`, process: child };
}

const collector = can ? await startCollector() : null;
afterAll(() => collector?.process.kill());

describe.skipIf(!can)('the receiver of the OpenTelemetry Collector', () => {
  test.each(['http/protobuf', 'http/json'])('reads %s', async protocol => {
    const { config } = loadConfig(
      {
        OTEL_EXPORTER_OTLP_ENDPOINT: collector?.url,
        OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
        OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
      },
      import.meta.dir,
    );
    const telemetry = new Telemetry(config, {
      version: '1.2.3',
      oneOfSeveral: false,
      families: async () => [
        {
          name: 'toolgate_things',
          type: 'counter',
          help: 'Things.',
          unit: '',
          samples: [{ labels: {}, value: 4 }],
        },
      ],
      failing: (_, reason) => expect(reason).toBeNull(),
    });
    const span = telemetry.tracer?.begin(`of ${protocol}`, 'server', null, performance.now());
    span?.set({ 'toolgate.decision': 'allow' });
    span?.child('inner', 'internal').end('timeout');
    span?.end();
    telemetry.log(JSON.stringify({ level: 'warn', msg: `said by ${protocol}`, traceId: span?.traceId }));
    await telemetry.stop();
    expect([...telemetry.dropped.values()]).toEqual([0, 0, 0]);
    const traces = JSON.parse(await lineWith('resourceSpans'));
    const logs = JSON.parse(await lineWith('resourceLogs'));
    const metrics = JSON.parse(await lineWith('resourceMetrics'));
    lines.length = 0;
    const [inner, outer] = traces.resourceSpans[0].scopeSpans[0].spans;
    expect(outer).toMatchObject({
      name: `of ${protocol}`,
      kind: 2,
      traceId: span?.traceId,
      spanId: span?.spanId,
    });
    expect(inner).toMatchObject({ parentSpanId: span?.spanId, status: { code: 2 } });
    expect(logs.resourceLogs[0].scopeLogs[0].logRecords[0]).toMatchObject({
      body: { stringValue: `said by ${protocol}` },
      severityText: 'WARN',
      traceId: span?.traceId,
    });
    expect(metrics.resourceMetrics[0].scopeMetrics[0].metrics[0]).toMatchObject({
      name: 'toolgate_things',
      sum: { isMonotonic: true, dataPoints: [{ asDouble: 4 }] },
    });
  });
});
