// The checks of the servers outside that get parts of the audit log, or what is measured: receivers of checkpoints and of
// the shipped log, and the collector of OpenTelemetry. They are only connected to. For the shipped log, the store also
// says how the last attempt went.

import { readFileSync } from 'node:fs';
import type { ShippingTarget } from '../core/log/shipping.ts';
import type { Config } from '../settings/config.ts';
import { signalTargets } from '../settings/telemetry-settings.ts';
import type { Queries } from '../store/engine/db.ts';
import { findShipping } from '../store/log/shipping.ts';
import { bad, codeOf, type Examination, type Found, good, warning } from './examine.ts';
import { type Examined, withStore } from './examined.ts';
import { addressCheck } from './people.ts';
import { ANYWHERE, unreachable } from './reach.ts';

export function outgoingChecks(examined: Examined): Examination[] {
  const { checkpointUrl, shipping } = examined.config;
  const checks: Examination[] = [];
  if (checkpointUrl !== null)
    checks.push(
      addressCheck('checkpoints', checkpointUrl.replaceAll('{size}', '0'), 'TOOLGATE_CHECKPOINT_URL'),
    );
  for (const [name, target] of Object.entries(shipping)) checks.push(shippingCheck(examined, name, target));
  return [...checks, ...telemetryChecks(examined.config)];
}

function shippingCheck(examined: Examined, target: string, settings: ShippingTarget): Examination {
  const name = `shipping ${target}`;
  return {
    name,
    run: async signal => {
      const fault = await shippingFault(settings, signal);
      if (fault !== null)
        return [
          bad(name, `${fault} Is shipping.${target} in the server file right, and the server up? ${WAITS}`),
        ];
      const found = await withStore(examined, async db => [await lastAttempt(db, name, target)]);
      return found.length > 0 ? found : [good(name, `${new URL(addressOf(settings)).host} can be reached.`)];
    },
  };
}

const WAITS = 'Nothing is lost: entries wait until they can be sent.';

async function shippingFault(settings: ShippingTarget, signal: AbortSignal): Promise<string | null> {
  try {
    const file = 'caFile' in settings ? settings.caFile : null;
    const ca = file === null ? null : readFileSync(file, 'utf8');
    return await unreachable(addressOf(settings), ANYWHERE, signal, ca);
  } catch (error) {
    return `Its file of certificates cannot be read${codeOf(error)}.`;
  }
}

/** Syslog is spoken over TLS, like https. */
function addressOf(settings: ShippingTarget): string {
  if ('url' in settings) return settings.url;
  const { host, port } = settings;
  return `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** A store that no service has started with has no such table. */
async function lastAttempt(db: Queries, name: string, target: string): Promise<Found> {
  const state = await findShipping(db, target).catch(() => null);
  if (state === null) return good(name, 'It can be reached; nothing was sent yet.');
  if (state.failures === 0)
    return good(name, `It can be reached, and has received ${state.shipped} entries.`);
  const attempts = state.failures === 1 ? 'attempt' : `${state.failures} attempts`;
  const why = (state.lastError ?? '').slice(0, 300).replace(/\.$/, '');
  return warning(
    name,
    `It can be reached, but the last ${attempts} to send failed: ${why}. ${WAITS} Correct shipping.${target} in the server file, or the receiver.`,
  );
}

/** Signals that go to one server have one line. A collector that is away delays no check. */
function telemetryChecks(config: Config): Examination[] {
  const hosts = new Map<string, string>();
  for (const { url } of signalTargets(config)) hosts.set(new URL(url).origin, url);
  return [...hosts.values()].map(url => ({
    name: 'telemetry',
    run: async signal => {
      const fault = await unreachable(url, ANYWHERE, signal);
      if (fault === null) return [good('telemetry', `The collector at ${new URL(url).host} can be reached.`)];
      return [
        warning(
          'telemetry',
          `${fault} Traces, metrics and logs are dropped meanwhile; checks go on. Are TOOLGATE_OTLP_ENDPOINT and OTEL_EXPORTER_OTLP_ENDPOINT right, and the collector up?`,
        ),
      ];
    },
  }));
}
