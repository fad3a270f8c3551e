// The routes that describe all routes: the OpenAPI document for programs, and a page with the same contents for people.
// Anybody may ask for them, and making one takes 25 to 50 ms, so each is made once.

import { type Incoming, type Route, route } from '../serving/route.ts';
import { docsPage } from './docs.ts';
import { openapi } from './openapi.ts';

export function referenceRoutes(routes: () => readonly Route[]): Route[] {
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
      summary: 'This API as a page to read',
      answers: { 200: { description: 'HTML.', type: 'text/html' } },
      handle: madeOnce(version => docsPage(openapi(routes(), version))),
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
