// /admin/v1/tool-server-presets: tool servers to begin with. A preset is only data: POST /admin/v1/tool-servers registers
// one, and a command has to be declared in the server file first.

import { z } from 'zod';
import { PRESETS } from '../../core/catalogue/presets.ts';
import { type Route, route } from '../serving/route.ts';

const preset = z.object({
  name: z.string().meta({ description: 'The name that the rules of its pack use.' }),
  title: z.string(),
  by: z.string().meta({ description: 'Whoever publishes the server.' }),
  pack: z.string().meta({ description: 'The pack with a policy for it.' }),
  needs: z.array(z.string()).meta({ description: 'What has to be there before it can be used.' }),
  source: z.string().meta({ description: 'The page that says so.' }),
  readOn: z.string().meta({ description: 'The day on which that page was read.' }),
  transport: z.enum(['http', 'stdio']),
  url: z.string().optional().meta({ description: 'The address, of a server on the network.' }),
  accepts: z
    .array(z.enum(['oauth', 'headers']))
    .optional()
    .meta({ description: 'How it can be used; the recommended way comes first.' }),
  headers: z.record(z.string(), z.string()).optional().meta({
    description: 'The headers that it needs without OAuth, with words in angle brackets for secrets.',
  }),
  package: z
    .object({ registry: z.enum(['npm', 'PyPI']), name: z.string(), version: z.string() })
    .optional()
    .meta({ description: 'The package of a command.' }),
  install: z.string().nullable().optional().meta({
    description:
      'Installs the package on the machine of the service; null if the command fetches it by itself.',
  }),
  declaration: z.string().optional().meta({
    description: 'What belongs under `stdioServers` in the server file, as YAML. Put in your own values.',
  }),
});

export const presetRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/admin/v1/tool-server-presets',
    access: 'view',
    tag: 'tool servers',
    summary: 'List presets: tool servers to begin with',
    answers: {
      200: { description: 'All presets, by name.', schema: z.object({ presets: z.array(preset) }) },
    },
    handle: () => Response.json({ presets: PRESETS }),
  }),
];
