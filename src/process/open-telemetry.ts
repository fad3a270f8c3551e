// Turns telemetry on, if a collector is named. Only then is anything of it loaded.

import type { Log } from '../log.ts';
import type { Config } from '../settings/config.ts';
import { signalTargets } from '../settings/telemetry-settings.ts';
import type { Telemetry, TelemetryHost } from '../telemetry/telemetry.ts';

export async function openTelemetry(
  config: Config,
  log: Log,
  host: Omit<TelemetryHost, 'failing'>,
): Promise<Telemetry | null> {
  const targets = signalTargets(config);
  if (targets.length === 0) return null;
  const { Telemetry } = await import('../telemetry/telemetry.ts');
  const telemetry = new Telemetry(config, {
    ...host,
    failing: (signal, reason) => {
      const url = targets.find(each => each.signal === signal)?.url;
      const host = url === undefined ? undefined : new URL(url).host;
      if (reason === null) log.info({ signal, host }, 'the OpenTelemetry collector takes data again');
      else log.warn({ signal, host, reason }, 'the OpenTelemetry collector does not take data');
    },
  });
  log.onLine(line => telemetry.log(line));
  return telemetry;
}
