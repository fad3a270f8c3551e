// What a tool returns, before a model has it: the policy hides a token and an address in one ticket, and withholds the
// other. The tool knows nothing of it.

import { Toolgate, ToolResultWithheld } from '@toolgate/client';

const TICKETS = [
  'ann@example.com cannot log in. She sent her token: acme_live_4f1c09a7d2b83e56.',
  'CONFIDENTIAL: the figures of the last quarter, which nobody may know before Friday.',
];

const gate = new Toolgate();
const readTicket = gate.guarded(
  'desk',
  'read_ticket',
  async ({ number }: { number: number }) => TICKETS[number],
);

for (const number of [0, 1]) {
  try {
    console.log(`ticket ${number}: ${await readTicket({ number })}`);
  } catch (error) {
    if (!(error instanceof ToolResultWithheld)) throw error;
    console.log(`ticket ${number} is withheld: ${error.message}`);
  }
}
