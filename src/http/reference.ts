// The routes that describe all routes: the OpenAPI document for programs, and a page with the same contents for people.

import { docsPage } from './docs.ts';
import { openapi } from './openapi.ts';
import { type Route, route } from './route.ts';

export function referenceRoutes(routes: () => readonly Route[]): Route[] {
  return [
    route({
      method: 'GET',
      path: '/openapi.json',
      access: 'public',
      tag: 'reference',
      summary: 'This API as an OpenAPI document',
      answers: { 200: { description: 'OpenAPI 3.1.', type: 'application/json' } },
      handle: ({ services }) => Response.json(openapi(routes(), services.version)),
    }),
    route({
      method: 'GET',
      path: '/docs',
      access: 'public',
      tag: 'reference',
      summary: 'This API as a page to read',
      answers: { 200: { description: 'HTML.', type: 'text/html' } },
      handle: ({ services }) => docsPage(openapi(routes(), services.version)),
    }),
  ];
}
