// Toolgate in front of a tool: one client, one listener for the answers of people, and how a refusal is told to a
// model. Reads TOOLGATE_API_KEY, TOOLGATE_BASE_URL and TOOLGATE_WEBHOOK_SECRET.

import { ApprovalListener, ToolCallDenied, ToolCallPending, Toolgate } from '@toolgate/client';

const gate = new Toolgate();
const listener = new ApprovalListener({ secret: process.env['TOOLGATE_WEBHOOK_SECRET'] ?? '' });

/** The address that the webhook names. */
const webhook = Bun.serve({
  hostname: '127.0.0.1',
  port: process.env['PORT'] ?? 9000,
  fetch: listener.handle,
});

export const stopListening = () => webhook.stop(true);

const PATIENCE_MS = 10 * 60_000;

/**
 * The function with the guard in front. A held call waits for its person. A refusal becomes a sentence that the
 * model can read; that there is no verdict at all is thrown on, and ends the run.
 */
export function guardedTool<A extends object>(
  server: string,
  tool: string,
  run: (args: A) => Promise<string>,
) {
  const guarded = gate.guarded(server, tool, run, { listener, timeoutMs: PATIENCE_MS });
  return async (args: A): Promise<string> => {
    try {
      return await guarded(args);
    } catch (error) {
      if (error instanceof ToolCallDenied) return `Denied: ${error.message} Do not make this call again.`;
      if (error instanceof ToolCallPending) return 'Nobody has answered yet. Tell the user that it waits.';
      throw error;
    }
  };
}
