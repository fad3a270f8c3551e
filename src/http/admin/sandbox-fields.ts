// What answers show of a confined command: which limits of its sandbox the machine of this replica enforces.

import { z } from 'zod';
import { sandboxOf } from '../../mcp/sandbox/confine.ts';
import type { Services } from '../serving/services.ts';

export const sandboxShown = z
  .object({
    enforced: z.array(z.string()).meta({ description: 'The fields of `sandbox` that are enforced.' }),
    notEnforced: z.array(
      z.object({
        what: z.string().meta({
          description:
            'A field of `sandbox`, or `isolation`: that it cannot end, trace or change other processes.',
        }),
        why: z.string(),
      }),
    ),
  })
  .nullable()
  .meta({
    description:
      'What this replica’s machine enforces of the command’s `sandbox` in the server file; null if it has none. With something that is not enforced, the command starts only if `sandbox.bestEffort` is true.',
  });

/** `target` is the name of the declared command, for the transport stdio. */
export async function showSandbox(
  { config }: Services,
  { transport, target }: { transport: string; target: string },
): Promise<z.output<typeof sandboxShown>> {
  const server = transport === 'stdio' ? config.stdioServers.get(target) : null;
  return server === null ? null : sandboxOf(server);
}
