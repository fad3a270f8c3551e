// GET /dashboard/setup: the page behind the one-time link that the service prints at its start.

import { z } from 'zod';
import { type Route, route } from './route.ts';
import { setupPage } from './setup-page.ts';

export const setupPageRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/dashboard/setup',
    access: 'public',
    tag: 'operators',
    summary: 'The page that creates the first operator',
    query: z.strictObject({ token: z.string().max(200).default('') }),
    answers: { 200: { description: 'A page.', type: 'text/html' } },
    handle: ({ query }) => setupPage({ token: query.token }),
  }),
];
