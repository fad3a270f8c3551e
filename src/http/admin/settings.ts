// /admin/v1/settings: shows how the service is configured, as `toolgate config` prints it. Secrets are masked.

import { z } from 'zod';
import { CHANNEL_TYPES } from '../../core/channels/channels.ts';
import { type Route, route } from '../serving/route.ts';

const setting = z.object({
  name: z.string().meta({ description: 'The name in the server file.' }),
  env: z.string().meta({ description: 'The name in the environment.' }),
  meaning: z.string(),
  default: z.string().nullable(),
  value: z.string().nullable().meta({ description: 'As given, or the default; secrets are masked.' }),
  origin: z.enum(['default', 'environment', 'file']),
});

export const settingRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/admin/v1/settings',
    access: 'view',
    tag: 'settings',
    summary: 'Read this replica’s settings: meaning, default, value and where it comes from',
    answers: {
      200: {
        description: 'Settings. To change them, change the environment or the server file and restart.',
        schema: z.object({
          version: z.string(),
          settings: z.array(setting),
          stdioServers: z
            .array(z.string())
            .meta({ description: 'Names of the commands that Connected Tools may use.' }),
          channels: z
            .array(z.object({ name: z.string(), type: z.enum(CHANNEL_TYPES) }))
            .meta({ description: 'The named channels of the server file, which rules and keys may name.' }),
        }),
      },
    },
    handle: ({ services: { config, version } }) => {
      const settings = config.origins.map(({ fallback, ...rest }) => ({ ...rest, default: fallback }));
      const channels = Object.entries(config.channels).map(([name, { type }]) => ({ name, type }));
      return Response.json({ version, settings, stdioServers: config.stdioServers.names, channels });
    },
  }),
];
