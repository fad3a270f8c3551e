// /admin/v1/runs: what runs have read, and how many values are known in them.

import { z } from 'zod';
import { SURFACES } from '../../core/text/surface.ts';
import { shownMarks } from '../../guard/check/run.ts';
import { clearRun, listedRuns, requireRun } from '../../guard/check/run-admin.ts';
import type { FoundRun, RunMark } from '../../store/runs.ts';
import { before, iso, isoTime, list, page, paged, uuid } from '../serving/fields.ts';
import { actorOf, type Route, route } from '../serving/route.ts';

export const runMark = z.object({
  name: z.string(),
  since: isoTime,
  serverName: z.string(),
  toolName: z.string(),
  toolCallId: uuid.meta({ description: 'The call that gave the run this mark.' }),
});

export const showMark = (mark: RunMark): z.output<typeof runMark> => ({ ...mark, since: iso(mark.since) });

const run = z.object({
  runId: uuid,
  keyId: uuid,
  sessionId: uuid.optional().meta({ description: 'Absent for a run that is not of a session.' }),
  personId: uuid.optional().meta({ description: 'The operator in whose name its calls are made, if any.' }),
  surface: z.enum(SURFACES).meta({
    description:
      'Where it was begun: where its first call or prompt came from, or `check` if `POST /v1/told` or a session made with `known` began it.',
  }),
  name: z.string().optional().meta({ description: 'The name that was given for it; absent if it has none.' }),
  marks: z.array(runMark),
  known: z.int().meta({ description: 'How many values are known in it.' }),
  dropped: z.int().meta({
    description:
      'How many more were named than a run can have; these are not known. Of one text or result, at most 655,360 words and stretches ' +
      'are looked at and counted.',
  }),
  lastCallAt: isoTime.meta({ description: 'The last call came up to a minute later.' }),
  endsAt: isoTime.meta({ description: 'When all of this is forgotten if no further call is made.' }),
});

function show(found: FoundRun): z.output<typeof run> {
  const { id, keyId, sessionId, personId, surface, name, marks, known, dropped } = found;
  return {
    runId: id,
    keyId,
    ...(sessionId !== null && { sessionId }),
    ...(personId !== null && { personId }),
    surface,
    ...(name !== null && { name }),
    marks: shownMarks(marks).map(showMark),
    known,
    dropped,
    lastCallAt: iso(found.lastCallAt),
    endsAt: iso(found.endsAt),
  };
}

const tag = 'runs';

export const runRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/admin/v1/runs',
    access: 'view',
    tag,
    summary: 'List runs that have not ended, newest first',
    description:
      'A run is what calls belong together: those of a session, of a name that was given, of a key or of a connection. Only ' +
      'keys whose policies use marks or known values have runs, and sessions that were made with `known`.',
    query: z.strictObject({
      ...page,
      keyId: uuid.optional(),
      marked: z
        .enum(['true', 'false'])
        .optional()
        .meta({ description: 'Only runs that have marks, or only those that have none.' }),
    }),
    answers: { 200: { description: 'Runs.', schema: list('runs', run) } },
    handle: async ({ services, query }) => {
      const { keyId, marked, limit } = query;
      const filter = { keyId, marked: marked === undefined ? undefined : marked === 'true' };
      const rows = await listedRuns(services.deps, filter, limit + 1, before(query));
      return Response.json(paged('runs', rows, limit, row => row.id, show));
    },
  }),
  route({
    method: 'GET',
    path: '/admin/v1/runs/:id',
    access: 'view',
    tag,
    summary: 'Read a run',
    answers: { 200: { description: 'The run.', schema: run } },
    handle: async ({ services, params }) =>
      Response.json(show(await requireRun(services.deps, params['id'] ?? ''))),
  }),
  route({
    method: 'POST',
    path: '/admin/v1/runs/:id/clear',
    access: 'admin',
    tag,
    summary: 'Forget the marks of a run',
    description:
      'Calls are then decided as if the run had read nothing so far. What is known in it stays known.',
    answers: { 204: { description: 'The run has no marks.' } },
    handle: async incoming => {
      await clearRun(incoming.services.deps, actorOf(incoming), incoming.params['id'] ?? '');
      return new Response(null, { status: 204 });
    },
  }),
];
