// /admin/v1/server-file: the commands that the server file declares, and reading that file again. A command never comes
// through here: what a command is started with stands in the file alone, and what may be secret of it is not shown.

import { z } from 'zod';
import { sandboxOf } from '../../mcp/sandbox/confine.ts';
import { type CommandUse, listCommandUses } from '../../store/tool-servers.ts';
import { uuid } from '../serving/fields.ts';
import { actorOf, type Route, route } from '../serving/route.ts';
import type { Services } from '../serving/services.ts';
import { sandboxShown } from './sandbox-fields.ts';

const names = z.array(z.string());

const use = z.object({ id: uuid, name: z.string(), keyId: uuid.nullable() });

const declared = z.object({
  name: z.string(),
  command: z.string().meta({ description: 'The program.' }),
  args: z
    .int()
    .meta({ description: 'How many arguments it gets. They may be secrets, so they are not shown.' }),
  env: names.meta({ description: 'The names of the variables that it gets; the values are not shown.' }),
  sandbox: z
    .object({
      read: names.nullable(),
      write: names.nullable(),
      network: z.boolean(),
      memory: z.int().nullable().meta({ description: 'In bytes.' }),
      processes: z.int().nullable(),
      bestEffort: z.boolean(),
    })
    .nullable()
    .meta({
      description: 'What the command is confined to; null if it is not confined. Null in it limits nothing.',
    }),
  confinement: sandboxShown,
  usedBy: z.array(use).meta({
    description: 'The tool servers and Connected Tools that name it. A tool server has no `keyId`.',
  }),
});

const path = '/admin/v1/server-file';
const tag = 'settings';

export const serverFileRoutes: Route[] = [
  route({
    method: 'GET',
    path,
    access: 'admin',
    tag,
    summary: 'The commands that this replica’s server file declares',
    answers: {
      200: {
        description: 'The commands under `stdioServers`, as they are used now.',
        schema: z.object({
          path: z.string().nullable().meta({ description: 'The file; null if there is none.' }),
          stdioServers: z.array(declared),
        }),
      },
    },
    handle: async ({ services }) => Response.json(await show(services)),
  }),
  route({
    method: 'POST',
    path: `${path}/reload`,
    access: 'admin',
    tag,
    summary: 'Read this replica’s server file again',
    description:
      'Commands under `stdioServers` are added, changed and removed. Connections to changed and removed ones are closed ' +
      'when the calls under way have ended, and new calls use the new declaration. All processes of this replica read the ' +
      'file; every other replica reads its own, when it gets this request or SIGHUP.',
    answers: {
      200: {
        description: 'What has changed.',
        schema: z.object({
          path: z.string(),
          added: names,
          changed: names,
          removed: names,
          ignored: names.meta({ description: 'Settings that have changed and need a restart.' }),
        }),
      },
      409: {
        description: 'The file cannot be read, or something in it is wrong; everything stays as it was.',
      },
    },
    handle: async incoming => {
      const { services } = incoming;
      return Response.json(await services.serverFile.reload(services.deps, actorOf(incoming)));
    },
  }),
];

/** More are left out of the answer. */
const MOST_USES = 1000;

async function show({ config, serverFile, deps }: Services) {
  const uses = await listCommandUses(deps.db, MOST_USES);
  const stdioServers = config.stdioServers.all.map(async ([name, server]) => ({
    name,
    command: server.command,
    args: server.args.length,
    env: Object.keys(server.env),
    sandbox: server.sandbox ?? null,
    confinement: await sandboxOf(server),
    usedBy: uses.filter(each => each.command === name).map(showUse),
  }));
  return { path: serverFile.path, stdioServers: await Promise.all(stdioServers) };
}

const showUse = ({ id, name, keyId }: CommandUse) => ({ id, name, keyId });
