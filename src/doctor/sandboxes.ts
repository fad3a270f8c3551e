// The check of confined commands: whether this machine enforces what their sandboxes say. No command is started.

import { confinementFault, sandboxOf } from '../mcp/sandbox/confine.ts';
import type { Config } from '../settings/config.ts';
import type { StdioServer } from '../settings/server-file.ts';
import { bad, type Examination, type Found, good, warning } from './examine.ts';

export function sandboxesCheck({ stdioServers }: Pick<Config, 'stdioServers'>): Examination {
  const confined = stdioServers.all.filter(([, { sandbox }]) => sandbox !== undefined);
  return {
    name: 'sandboxes',
    run: () => Promise.all(confined.map(([name, server]) => sandboxFound(name, server))),
  };
}

async function sandboxFound(server: string, declared: StdioServer): Promise<Found> {
  const name = `sandbox of ${server}`;
  const fault = await confinementFault(declared);
  if (fault !== null) return bad(name, `The command is not started: ${fault}.`);
  const lacking = (await sandboxOf(declared))?.notEnforced ?? [];
  if (lacking.length > 0) {
    const said = lacking.map(({ what, why }) => `${what} (${why})`).join('; ');
    return warning(name, `The command is started although this is not enforced here: ${said}.`);
  }
  if (declared.sandbox?.read && declared.sandbox.write === null)
    return warning(
      name,
      'What the command reads is limited, but not what it writes, so it could change what others run. Give `write` too; an empty list lets it write nothing but its own temporary files.',
    );
  return good(name, 'This machine enforces all that it says.');
}
