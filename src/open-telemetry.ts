// Turns telemetry on, if a collector is named. Only then is anything of it loaded.

import type { Config } from './config.ts';
import type { MetricFamily } from './core/metric.ts';
import type { Log } from './log.ts';
import type { Telemetry } from './telemetry/telemetry.ts';
import { signalTargets } from './telemetry-settings.ts';

export async function openTelemetry(
  config: Config,
  log: Log,
  version: string,
  families: () => Promise<MetricFamily[]>,
): Promise<Telemetry | null> {
  if (signalTargets(config).length === 0) return null;
  const { Telemetry } = await import('./telemetry/telemetry.ts');
  const telemetry = new Telemetry(config, {
    version,
    families,
    failing: (signal, reason) => {
      if (reason === null) log.info({ signal }, 'the OpenTelemetry collector takes data again');
      else log.warn({ signal, reason }, 'the OpenTelemetry collector does not take data');
    },
  });
  log.onLine(line => telemetry.log(line));
  return telemetry;
}
