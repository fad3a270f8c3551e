// Makes the target that the server file declares.

import type { ShippingTarget } from '../../../core/log/shipping.ts';
import type { Target } from './target.ts';

/** The operator has named the receiver, and it is often on a private network. */
const RULES = { allowPrivate: true };

/** Only the types that are declared are loaded. */
export async function targetFor(settings: ShippingTarget, now: () => number): Promise<Target> {
  switch (settings.type) {
    case 'http':
      return (await import('./http.ts')).httpTarget(settings, RULES);
    case 's3':
      return (await import('./s3.ts')).s3Target(settings, RULES, now);
    case 'otlp':
      return (await import('./otlp.ts')).otlpTarget(settings, RULES);
    case 'syslog':
      return (await import('./syslog.ts')).syslogTarget(settings, RULES);
  }
}
