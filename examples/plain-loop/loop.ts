// A loop of one's own, with nothing in between: ask, wait for a person where the policy wants one, then act.

import { ApprovalListener, ToolCallDenied, Toolgate } from '@toolgate/client';
import { DONE, desk, SCRIPT } from '../desk.ts';

const gate = new Toolgate();
const listener = new ApprovalListener({ secret: process.env['TOOLGATE_WEBHOOK_SECRET'] ?? '' });
const webhook = Bun.serve({
  hostname: '127.0.0.1',
  port: process.env['PORT'] ?? 9000,
  fetch: listener.handle,
});

for (const { name, args } of SCRIPT) {
  try {
    // Returns only when the call may proceed, and the allow is recorded. Whatever else happens is thrown.
    await gate.guardAndWait('github', name, args, { listener, timeoutMs: 10 * 60_000 });
    console.log(`${name}: ${await desk[name](args as never)}`);
  } catch (error) {
    if (!(error instanceof ToolCallDenied)) throw error;
    console.log(`${name}: Denied: ${error.message}`);
  }
}
console.log(DONE);
webhook.stop(true);
