// The routes that describe all routes: the OpenAPI document for programs, and a page with the same contents for people.
// Anybody may ask for them, and making one takes 25 to 50 ms, so each is made once.

import { z } from 'zod';
import { type Incoming, type Route, route } from '../serving/route.ts';
import { docsPage } from './docs.ts';
import { searchPage } from './guide-pages.ts';
import { MAX_QUERY } from './guide-search.ts';
import { openapi } from './openapi.ts';

export function referenceRoutes(routes: () => readonly Route[]): Route[] {
  const shown = madeOnce(version => docsPage(openapi(routes(), version)));
  return [
    route({
      method: 'GET',
      path: '/openapi.json',
      access: 'public',
      tag: 'reference',
      summary: 'This API as an OpenAPI document',
      answers: { 200: { description: 'OpenAPI 3.1.', type: 'application/json' } },
      handle: madeOnce(version => Response.json(openapi(routes(), version))),
    }),
    route({
      method: 'GET',
      path: '/docs',
      access: 'public',
      tag: 'reference',
      summary: 'This API and the documentation as a page to read',
      description: 'With `q`, the sections of the documentation that have these words.',
      query: z.looseObject({ q: z.string().max(MAX_QUERY).optional() }),
      answers: { 200: { description: 'HTML.', type: 'text/html' } },
      handle: incoming => {
        const { q } = incoming.query;
        return q === undefined || q.trim() === '' ? shown(incoming) : searchPage(q);
      },
    }),
  ];
}

/** The answers share the bytes of one Blob. A text or an array would be copied for each client that does not read. */
function madeOnce(
  make: (version: string) => Response,
): (incoming: Incoming<unknown, unknown>) => Promise<Response> {
  let made: Promise<{ body: Blob; headers: Headers }> | null = null;
  const keep = async ({ version }: { version: string }) => {
    const first = make(version);
    return { body: await first.blob(), headers: first.headers };
  };
  return async ({ services }) => {
    made ??= keep(services);
    const { body, headers } = await made;
    return new Response(body, { headers });
  };
}
