// Makes the target that the server file declares.

import type { ShippingTarget } from '../../../core/shipping.ts';
import { httpTarget } from './http.ts';
import { otlpTarget } from './otlp.ts';
import { s3Target } from './s3.ts';
import { syslogTarget } from './syslog.ts';
import type { Target } from './target.ts';

/** The operator has named the receiver, and it is often on a private network. */
const RULES = { allowPrivate: true };

export function targetFor(settings: ShippingTarget, now: () => number): Target {
  switch (settings.type) {
    case 'http':
      return httpTarget(settings, RULES);
    case 's3':
      return s3Target(settings, RULES, now);
    case 'otlp':
      return otlpTarget(settings, RULES);
    case 'syslog':
      return syslogTarget(settings, RULES);
  }
}
