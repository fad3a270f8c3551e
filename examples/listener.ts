// Where the answers of people arrive: with this listener, a call that needs approval waits for its person. Without one,
// the model is told that the call waits. Reads TOOLGATE_WEBHOOK_SECRET.

import { ApprovalListener } from '@toolgate/client';

export const listener = new ApprovalListener({ secret: process.env['TOOLGATE_WEBHOOK_SECRET'] ?? '' });

/** The address that the webhook names. It does not keep the program running. */
Bun.serve({ hostname: '127.0.0.1', port: process.env['PORT'] ?? 9000, fetch: listener.handle }).unref();
