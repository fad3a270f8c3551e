// /admin/v1/calls: the forwarded calls of which it is not known whether they ran, and what somebody has found out about
// them. All calls are in the audit log.

import { z } from 'zod';
import { MAX_NOTE } from '../../core/approvals/approval.ts';
import { textFault } from '../../core/text/name.ts';
import { settleCall, type Unsettled, unsettledCalls } from '../../guard/tasks/settle.ts';
import type { UnknownCall } from '../../store/executions.ts';
import type { AuditEntry } from '../../store/log/audit-entry.ts';
import { oneLine } from '../serving/approval-answer.ts';
import { before, iso, isoTime, list, page, paged, text, uuid } from '../serving/fields.ts';
import { actorOf, type Route, route } from '../serving/route.ts';
import { settled, showSettled } from './audit-fields.ts';

const call = z.object({
  toolCallId: uuid,
  keyId: uuid,
  sessionId: uuid.nullable(),
  personId: uuid
    .optional()
    .meta({ description: 'The operator for whom the session acts; absent if it acts for nobody.' }),
  serverName: z.string(),
  toolName: z.string(),
  referenceId: uuid.nullable().meta({ description: 'The approval that freed it; null if it needed none.' }),
  at: isoTime.meta({ description: 'When it was decided, and forwarded.' }),
  unknownSince: isoTime.meta({ description: 'When Toolgate gave up waiting for its outcome.' }),
  settled,
});

/** Retention removes such a call together with its entry, perhaps while it is read. */
type Known = UnknownCall & { entry: AuditEntry };
const isKnown = (found: Unsettled): found is Known => found.entry !== null;

function show(found: Known): z.output<typeof call> {
  const { toolCallId, keyId, at, unknownAt, entry } = found;
  const { sessionId, personId, serverName, toolName, referenceId } = entry;
  return {
    toolCallId,
    keyId,
    sessionId,
    ...(personId !== null && { personId }),
    serverName,
    toolName,
    referenceId,
    at: iso(at),
    unknownSince: iso(unknownAt),
    settled: showSettled(found),
  };
}

const tag = 'audit';

export const callRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/admin/v1/calls',
    access: 'view',
    tag,
    summary: 'List calls of which it is not known whether they ran, newest first',
    description:
      'They were forwarded, and the service never learned how they ended, mostly because its process ended before the answer came. They are not run again. Those that somebody has settled are left out.',
    query: z.strictObject({ ...page, outcome: z.literal('unknown') }),
    answers: { 200: { description: 'Calls.', schema: list('calls', call) } },
    handle: async ({ services: { deps }, query }) => {
      const rows = await unsettledCalls(deps, query.limit + 1, before(query));
      const { calls, nextCursor } = paged(
        'calls',
        rows,
        query.limit,
        row => row.toolCallId,
        found => found,
      );
      return Response.json({ calls: calls.filter(isKnown).map(show), nextCursor });
    },
  }),
  route({
    method: 'POST',
    path: '/admin/v1/calls/:toolCallId/settle',
    access: 'resolve',
    tag,
    summary: 'Settle a call of which it is not known whether it ran',
    description:
      'It is recorded who said so. Nothing else changes: the task of the call stays failed, and the call is not run again.',
    body: z.strictObject({
      ran: z.boolean(),
      note: text(
        value => textFault(oneLine(value), 0, MAX_NOTE),
        'How it is known. Line breaks become spaces.',
      ).optional(),
    }),
    answers: {
      200: { description: 'The call.', schema: call },
      404: { description: 'There is no such call.' },
      409: { description: 'It was settled before, or its outcome is known.' },
    },
    handle: async incoming => {
      const { ran, note } = incoming.body;
      const toolCallId = incoming.params['toolCallId'] ?? '';
      const said = note === undefined || note === '' ? null : oneLine(note);
      const found = await settleCall(incoming.services.deps, actorOf(incoming), toolCallId, {
        ran,
        note: said,
      });
      return Response.json(show(found as Known));
    },
  }),
];
