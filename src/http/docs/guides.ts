// /llms.txt and the pages of the documentation that it links to, as text, for programs that read before they write
// code. docs.ts makes the API reference for people.

import { GuardError } from '../../core/errors.ts';
import { type Route, route } from '../serving/route.ts';
import { type Guides, readGuides } from './guide-files.ts';

let known: Guides | null = null;

/** The files are read at the first request. */
function guides(): Guides {
  known ??= readGuides();
  return known;
}

/** Comments in the pages are for the tests and not for readers. */
const REMARK = /^<!-- .*? -->\n/gms;

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
    answers: { 200: { description: 'Markdown.', type: 'text/markdown' } },
    handle: ({ params }) => {
      const name = params['page'] ?? '';
      const { pages } = guides();
      const page = Object.hasOwn(pages, name) ? pages[name] : undefined;
      if (page === undefined) throw new GuardError('not_found', 'There is no such page; see /llms.txt.');
      return text('text/markdown', page.replace(REMARK, ''));
    },
  }),
];

function text(type: string, body: string): Response {
  return new Response(body, {
    headers: { 'Content-Type': `${type}; charset=utf-8`, 'X-Content-Type-Options': 'nosniff' },
  });
}
