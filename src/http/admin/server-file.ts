// /admin/v1/server-file: the commands that the server file declares, and reading that file again. A command never comes
// through here: what a command is started with stands in the file alone, and what may be secret of it is not shown.

import { z } from 'zod';
import { actorOf, type Route, route } from '../serving/route.ts';

const names = z.array(z.string());

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
    handle: ({ services: { config, serverFile } }) =>
      Response.json({
        path: serverFile.path,
        stdioServers: config.stdioServers.all.map(([name, { command, args, env, sandbox = null }]) => ({
          name,
          command,
          args: args.length,
          env: Object.keys(env),
          sandbox,
        })),
      }),
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
