// /llms.txt, and the pages of the documentation that it leads to, as text: for programs that read before they
// write code. The API reference for people is docs.ts's.

import api from '../../docs/api.md' with { type: 'text' };
import approvals from '../../docs/approvals.md' with { type: 'text' };
import backupAndUpgrade from '../../docs/backup-and-upgrade.md' with { type: 'text' };
import clients from '../../docs/clients.md' with { type: 'text' };
import commandLine from '../../docs/command-line.md' with { type: 'text' };
import mcp from '../../docs/mcp.md' with { type: 'text' };
import operators from '../../docs/operators.md' with { type: 'text' };
import policies from '../../docs/policies.md' with { type: 'text' };
import quickStart from '../../docs/quick-start.md' with { type: 'text' };
import contents from '../../docs/README.md' with { type: 'text' };
import security from '../../docs/security.md' with { type: 'text' };
import webhooks from '../../docs/webhooks.md' with { type: 'text' };
import llms from '../../llms.txt' with { type: 'text' };
import { GuardError } from '../core/errors.ts';
import { type Route, route } from './route.ts';

export const PAGES: Record<string, string> = {
  'README.md': contents,
  'api.md': api,
  'approvals.md': approvals,
  'backup-and-upgrade.md': backupAndUpgrade,
  'clients.md': clients,
  'command-line.md': commandLine,
  'mcp.md': mcp,
  'operators.md': operators,
  'policies.md': policies,
  'quick-start.md': quickStart,
  'security.md': security,
  'webhooks.md': webhooks,
};

/** For whoever tests the pages, not for readers. */
const REMARK = /^<!-- .*? -->\n/gms;

export const guideRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/llms.txt',
    access: 'public',
    tag: 'reference',
    summary: 'What Toolgate is, in short, for language models',
    answers: { 200: { description: 'Markdown.', type: 'text/plain' } },
    handle: () => text('text/plain', llms),
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
      const page = Object.hasOwn(PAGES, name) ? PAGES[name] : undefined;
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
