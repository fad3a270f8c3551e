// /admin/v1/keys/:id/suggest: a policy for what a key did, as text to read and change. Nothing is stored.

import { z } from 'zod';
import { DAY } from '../../core/time/duration.ts';
import { suggestPolicy } from '../../guard/log/suggest.ts';
import { timeIn } from '../serving/fields.ts';
import { type Route, route } from '../serving/route.ts';

const DEFAULT_MS = 30 * DAY;

export const suggestRoutes: Route[] = [
  route({
    method: 'POST',
    path: '/admin/v1/keys/:id/suggest',
    access: 'view',
    tag: 'keys',
    summary: 'Suggest a policy that covers what the key did',
    description:
      'The answer is the text of a policy file: the rules of the key’s policy, each for one tool that the key called, with counts and remarks as comments. Every other tool is denied. Nothing is changed: read the text, and save it as a policy if it is what you want. At most 9 such questions are answered or wait at a time; further ones get 503.',
    body: z.strictObject({
      from: timeIn.optional().meta({ description: 'Since when calls are looked at; else 30 days ago.' }),
    }),
    answers: {
      200: { description: 'A policy.', schema: z.object({ text: z.string() }) },
    },
    handle: async ({ services: { deps }, params, body }) => {
      const text = await suggestPolicy(deps, params['id'] ?? '', body.from ?? deps.now() - DEFAULT_MS);
      return Response.json({ text });
    },
  }),
];
