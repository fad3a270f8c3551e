// The entry to the doctor: all checks of a service, in the order in which they are shown. They run at the same time
// (examine.ts), they change nothing, and they show no secret.

import { approvalsCheck } from './approvals.ts';
import { callsCheck } from './calls.ts';
import { clockCheck } from './clock.ts';
import { diskChecks } from './disk.ts';
import type { Examination } from './examine.ts';
import type { Examined } from './examined.ts';
import { issuerChecks } from './issuer.ts';
import { outgoingChecks } from './outgoing.ts';
import { peopleChecks } from './people.ts';
import { publicUrlChecks } from './public-url.ts';
import { sandboxesCheck } from './sandboxes.ts';
import { secretsChecks } from './secrets.ts';
import { settingsCheck } from './settings.ts';
import { storeChecks } from './store.ts';
import { versionsCheck } from './versions.ts';

export function checksOf(examined: Examined): Examination[] {
  const { config } = examined;
  return [
    settingsCheck(config),
    versionsCheck(examined),
    ...storeChecks(examined),
    ...secretsChecks(examined),
    clockCheck(examined),
    ...diskChecks(config),
    ...publicUrlChecks(examined),
    ...peopleChecks(config),
    approvalsCheck(examined),
    callsCheck(examined),
    ...issuerChecks(config),
    ...outgoingChecks(examined),
    examined.tools,
    sandboxesCheck(config),
  ];
}
