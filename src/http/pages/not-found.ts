// The page for people who ask for a path that no route has. Programs get the problem body of serving/errors.ts. Whoever
// does not ask for a page counts as a program, and so does everybody below the paths of the API.

import { card, html, page } from '../serving/page.ts';

/** The first segments of paths that people open; all others that routes have belong to programs. */
const FOR_PEOPLE = new Set(['', 'dashboard', 'docs']);

/** Makes the page for requests that no route takes; null for those of programs. */
export function notFoundPages(paths: readonly string[]): (request: Request) => Response | null {
  const forPrograms = new Set(paths.map(firstOf).filter(each => !FOR_PEOPLE.has(each)));
  return request => {
    if (!isBrowser(request) || forPrograms.has(firstOf(new URL(request.url).pathname))) return null;
    return page({
      status: 404,
      title: 'Not found · Toolgate',
      body: card(
        'There is no such page',
        html`<p>Toolgate has no page at this address. Perhaps it was mistyped, or what it led to is gone.</p>
<p><a href="/dashboard">Go to the dashboard</a></p>
<p class="soft small">Agents and programs use other addresses: the <a href="/docs">API reference</a> lists them.</p>`,
      ),
    });
  };
}

/** Browsers say that they take pages. Programs that take anything do not mean a page. */
export function isBrowser(request: Request): boolean {
  return request.headers.get('accept')?.includes('text/html') ?? false;
}

const firstOf = (path: string): string => path.split('/')[1] ?? '';
