// /admin/v1/keys/:id/shadow: where the shadow of a key agrees with the key's policy, and where it does not.

import { z } from 'zod';
import { DECISIONS } from '../../core/decision/decide.ts';
import { inTurn } from '../../guard/log/long-reads.ts';
import { type ShadowReport, shadowReport } from '../../guard/log/shadow-report.ts';
import { iso, isoTime, timeIn, uuid } from '../serving/fields.ts';
import { type Route, route } from '../serving/route.ts';

const report = z.object({
  policyId: uuid,
  policyVersion: z
    .int()
    .meta({ description: 'The current version. What earlier versions said is left out.' }),
  from: isoTime.meta({
    description:
      'Since when calls are counted; later than asked if the log begins later, or if there were more than 100,000 different calls.',
  }),
  to: isoTime,
  calls: z.int().meta({ description: 'How many calls this version of the shadow judged.' }),
  agreements: z.int(),
  differences: z
    .array(
      z.object({
        serverName: z.string(),
        toolName: z.string(),
        from: z.enum(DECISIONS).meta({ description: 'What was decided.' }),
        to: z.enum(DECISIONS).meta({ description: 'What the shadow said.' }),
        calls: z.int(),
        examples: z.array(uuid).meta({ description: 'The newest of these calls, at most 5.' }),
      }),
    )
    .meta({
      description:
        'The most frequent first, at most 1,000. If they have fewer calls than `calls` without `agreements`, the rest are of too many different tools.',
    }),
});

function show({ differences, ...found }: ShadowReport): z.output<typeof report> {
  return {
    ...found,
    from: iso(found.from),
    to: iso(found.to),
    differences: differences.map(({ keyId: _, ...each }) => each),
  };
}

export const shadowRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/admin/v1/keys/:id/shadow',
    access: 'view',
    tag: 'keys',
    summary: 'Compare what the shadow of a key said with what was decided',
    description: 'Without `from`, everything that is recorded is compared. 409 if the key has no shadow.',
    query: z.strictObject({ from: timeIn.optional(), to: timeIn.optional() }),
    answers: { 200: { description: 'The comparison.', schema: report } },
    handle: async ({ services: { deps }, params, query }) => {
      const { from = 0, to = deps.now() } = query;
      return Response.json(show(await inTurn(() => shadowReport(deps, params['id'] ?? '', from, to))));
    },
  }),
];
