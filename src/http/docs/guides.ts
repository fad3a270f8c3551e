// /llms.txt and the pages of the documentation: as text for programs that read before they write code, and as HTML for
// people. reference.ts has the page at /docs, with the API reference.

import { GuardError } from '../../core/errors.ts';
import { type Route, route } from '../serving/route.ts';
import { guidePage, guides, sourceOf } from './guide-pages.ts';

export const guideRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/llms.txt',
    access: 'public',
    tag: 'reference',
    summary: 'What Toolgate is, in short, for language models',
    answers: { 200: { description: 'Markdown.', type: 'text/plain' } },
    handle: () => text('text/plain', guides().llms),
  }),
  route({
    method: 'GET',
    path: '/docs/:page',
    access: 'public',
    tag: 'reference',
    summary: 'A page of the documentation, such as quick-start.md',
    description: 'HTML by its name, such as `quick-start`, and Markdown with `.md` behind it.',
    answers: { 200: { description: 'Markdown or HTML.', type: 'text/markdown' } },
    handle: ({ params }) => {
      const name = params['page'] ?? '';
      const source = sourceOf(name);
      const page = source === null ? guidePage(name) : text('text/markdown', source);
      if (page === null) throw new GuardError('not_found', 'There is no such page; see /docs and /llms.txt.');
      return page;
    },
  }),
];

function text(type: string, body: string): Response {
  return new Response(body, {
    headers: { 'Content-Type': `${type}; charset=utf-8`, 'X-Content-Type-Options': 'nosniff' },
  });
}
