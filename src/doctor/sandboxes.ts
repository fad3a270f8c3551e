// The check of confined commands: whether this machine enforces what their sandboxes say, and whether they grant what is
// ours. No command is started.

import { confinementFault, granted, sandboxOf } from '../mcp/sandbox/confine.ts';
import type { Config } from '../settings/config.ts';
import type { Sandbox } from '../settings/sandbox.ts';
import type { StdioServer } from '../settings/server-file.ts';
import { bad, type Examination, type Found, good, warning } from './examine.ts';

type Examined = Pick<Config, 'stdioServers' | 'dataDir' | 'serverFile'>;

export function sandboxesCheck({ stdioServers, dataDir, serverFile }: Examined): Examination {
  const confined = stdioServers.all.filter(([, { sandbox }]) => sandbox !== undefined);
  const ours = [dataDir, ...(serverFile === null ? [] : [serverFile.path])];
  return {
    name: 'sandboxes',
    run: () => Promise.all(confined.map(([name, server]) => sandboxFound(name, server, ours))),
  };
}

/** `ours` are files and folders of the service. */
async function sandboxFound(server: string, declared: StdioServer, ours: readonly string[]): Promise<Found> {
  const name = `sandbox of ${server}`;
  const { sandbox } = declared;
  const fault = await confinementFault(declared);
  if (fault !== null) return bad(name, `The command is not started: ${fault}.`);
  if (sandbox === undefined) return good(name, 'It has none.');
  const written = granted('write', sandbox, ours);
  if (written !== null) return bad(name, `The command may change ${written}, ${OURS} \`sandbox.write\`.`);
  const lacking = (await sandboxOf(declared))?.notEnforced ?? [];
  if (lacking.length > 0) {
    const said = lacking.map(({ what, why }) => `${what} (${why})`).join('; ');
    return warning(name, `The command is started although this is not enforced here: ${said}.`);
  }
  const read = granted('read', sandbox, ours);
  if (read !== null) return warning(name, `The command may read ${read}, ${OURS} \`sandbox.read\`.`);
  if (isHalf(sandbox)) return warning(name, HALF);
  return good(name, 'This machine enforces all that it says.');
}

const OURS = 'which is Toolgate’s own. Take it out of';
const HALF =
  'What the command reads or reaches is limited, but not what it writes, so it could change what others run. Give `write` too; an empty list lets it write nothing but its own temporary files.';

/** With limits that others could break for it, whose programs and settings it may change. */
function isHalf({ read, network, write }: Sandbox): boolean {
  return write === null && (read !== null || !network);
}
