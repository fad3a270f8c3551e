// /admin/v1/events: verdicts and approvals as they happen, for open pages of the dashboard. http/serving/feed.ts finds
// them.

import { z } from 'zod';
import { signInHolds } from '../../guard/people/sign-ins.ts';
import { STREAM_HEADERS } from '../../guard/rations/event-writer.ts';
import { actorOf, holdOpen, type Route, route, type Who } from '../serving/route.ts';
import type { Services } from '../serving/services.ts';

const lastEventId = z.uuid();

export const eventRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/admin/v1/events',
    access: 'view',
    tag: 'audit',
    summary: 'Watch verdicts and approvals as they happen',
    description:
      'Server-sent events of every replica: `verdict` (an entry as in `GET /admin/v1/audit`), `approval` (as in ' +
      '`GET /admin/v1/approvals`, when it is opened, gets a vote, or ends), and `gap` if more happened than the stream ' +
      'reports, so that lists have to be read again. With `Last-Event-ID` the stream continues where the last one ' +
      'ended. It ends with the sign-in, or when the role no longer permits it.',
    answers: { 200: { description: 'A stream of events.', type: 'text/event-stream' } },
    handle: async incoming => {
      const { services, request, who } = incoming;
      if (request.method === 'HEAD') return new Response(null, { headers: STREAM_HEADERS });
      const since = lastEventId.safeParse(request.headers.get('last-event-id'));
      holdOpen(incoming);
      const from = since.success ? since.data : null;
      const body = await services.feed.watch(from, actorOf(incoming), () => holds(services, who));
      return new Response(body, { headers: STREAM_HEADERS });
    },
  }),
];

/** Watching does not count as use: a page that is left open does not keep its sign-in alive. */
async function holds({ deps }: Services, who: Who): Promise<boolean> {
  if (who.kind !== 'operator') return false;
  return who.signedIn === null || signInHolds(deps, who.signedIn.signInId, 'viewer');
}
