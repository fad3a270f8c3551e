// /admin/v1/packs: policies to begin with. A pack is only text: POST /admin/v1/policies makes a policy of it.

import { z } from 'zod';
import { PACKS } from '../../core/policy-file/packs.ts';
import { type Route, route } from '../serving/route.ts';

const pack = z.object({
  name: z.string(),
  title: z.string().meta({ description: 'What the pack allows, in one line.' }),
  description: z.string().meta({ description: 'What it is for, in some sentences.' }),
  text: z.string().meta({ description: 'The policy, as YAML with comments. Put in your own names.' }),
});

export const packRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/admin/v1/packs',
    access: 'view',
    tag: 'policies',
    summary: 'List packs: policies to begin with',
    answers: { 200: { description: 'All packs, by name.', schema: z.object({ packs: z.array(pack) }) } },
    handle: () => Response.json({ packs: PACKS }),
  }),
];
