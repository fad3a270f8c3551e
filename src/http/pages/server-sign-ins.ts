// /oauth/connect, /oauth/callback and /oauth/clients: the pages on which people sign in to the servers of Connected Tools,
// where those servers send them back to, and the document by which servers know us. A link to the first page works only
// for the person whom it was made for, and for a key's own sign-in only for admins. Nobody leaves without having been
// shown where to and what for.

import { z } from 'zod';
import { GuardError } from '../../core/errors.ts';
import { requireSignIn } from '../../guard/people/acting.ts';
import { requireRole, type SignedIn } from '../../guard/people/sign-ins.ts';
import { findSource } from '../../guard/tool-servers/sources.ts';
import type { Role } from '../../store/operators.ts';
import type { ToolSource } from '../../store/tool-servers.ts';
import { operatorServices, signedInOperator } from '../serving/auth.ts';
import { readServerCookie, serverCookie } from '../serving/cookie.ts';
import { STATUS } from '../serving/errors.ts';
import { requireSender } from '../serving/origin.ts';
import { type Incoming, type Route, route } from '../serving/route.ts';
import { beginPage, closePage, failedPage } from './server-sign-in-page.ts';
import { seeOther, toSignIn } from './sign-in.ts';

const tag = 'connected tools';
const asPage = (description: string) => ({ description, type: 'text/html' });

/** Internal errors are left to the server, which logs them. */
const refusal = (error: GuardError) =>
  STATUS[error.code] === 500 ? null : failedPage(STATUS[error.code], error.message);

const refusals = {
  403: asPage('The link is for somebody else, or the server refused.'),
  410: asPage('Unknown, used, too old, or begun in another browser.'),
  503: asPage('The server cannot be reached.'),
};

export const serverPageRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/oauth/connect/:ticket',
    access: 'public',
    tag,
    summary: 'The page on which a person begins to sign in to a server',
    rateLimited: true,
    answers: {
      200: asPage('A page.'),
      303: { description: 'Redirects to the sign-in here, which leads back.' },
      409: asPage('Nobody can sign in to the server.'),
      ...refusals,
    },
    refusal,
    handle: async incoming => {
      const { services, request } = incoming;
      const visitor = await signedInOperator(services, request);
      if (visitor === null) return toSignIn(incoming, pathOf(incoming));
      const { operator } = visitor;
      return leave(incoming, operator, await admitted(incoming, operator), 200);
    },
  }),
  route({
    method: 'POST',
    path: '/oauth/connect/:ticket',
    access: 'public',
    tag,
    summary: 'Go to the server’s own sign-in page',
    rateLimited: true,
    body: z.strictObject({
      // Only our own pages may send this, and their form has it.
      shown: z.string().max(100).optional().meta({ description: 'What the page has shown.' }),
    }),
    bodyOptional: true,
    form: true,
    answers: {
      303: { description: 'Redirects to the server.' },
      409: asPage('Nobody can sign in to the server, or it says something else now than the page has shown.'),
      ...refusals,
    },
    refusal,
    handle: async incoming => {
      const { services, request } = incoming;
      const visitor = await signedInOperator(services, request);
      if (visitor === null) return toSignIn(incoming, pathOf(incoming));
      requireSender(services.config, request, 'own page');
      const { operator } = visitor;
      const found = await admitted(incoming, operator);
      const { serverSignIns } = operatorServices(services, operator, found.needed);
      const begun = await serverSignIns.begin(found.tool, found.personId, {
        actor: `operator:${operator.email}`,
        browser: readServerCookie(services.config, request),
        shown: incoming.body.shown ?? null,
      });
      if (begun === null) return leave(incoming, operator, found, 409);
      return seeOther(begun.url, { 'Set-Cookie': serverCookie(services.config, begun.browser) });
    },
  }),
  callback('/oauth/callback/:toolId', 'Where the server of a Connected Tool sends people back to'),
  // Replicas of the previous version send people here.
  { ...callback('/oauth/callback', 'Where servers sent people back to before'), unlisted: true },
  route({
    method: 'GET',
    path: '/oauth/clients/:document',
    access: 'public',
    tag,
    summary: 'The document by which authorization servers know us as the client of a Connected Tool',
    description: 'The path ends in `<toolId>.json`. The document is an OAuth client id metadata document.',
    rateLimited: true,
    answers: { 200: { description: 'The document.', schema: z.looseObject({ client_id: z.string() }) } },
    handle: async ({ services, params }) => {
      const toolId = /^([\w-]{1,64})\.json$/.exec(params['document'] ?? '')?.[1] ?? '';
      const tool = await findSource(services.deps.db, toolId);
      if (tool?.oauthAs == null) throw new GuardError('not_found', 'No client has this id.');
      return Response.json(services.serverSignIns.documentFor(tool.sourceId), {
        headers: { 'Cache-Control': 'max-age=300' },
      });
    },
  }),
];

function callback(path: string, summary: string): Route {
  return route({
    method: 'GET',
    path,
    access: 'public',
    tag,
    summary,
    description:
      'Works once, in the browser that began, and for the person who began. Servers may add other parameters to the query.',
    rateLimited: true,
    query: z.looseObject({ state: z.string().max(200).default('') }),
    answers: {
      200: asPage('Signed in.'),
      303: { description: 'Signed in for a key; redirects to its page on the dashboard.' },
      ...refusals,
    },
    refusal,
    handle: async ({ services, request, params }) => {
      const { searchParams: answer } = new URL(request.url);
      const browser = readServerCookie(services.config, request);
      const visitor = await signedInOperator(services, request);
      const { serverSignIns, deps } = visitor?.services ?? services;
      const returned = { toolId: params['toolId'] ?? null, answer, browser };
      const { tool, personId } = await serverSignIns.finish(returned, (owner, db) => {
        if (visitor === null)
          throw new GuardError('forbidden', 'You are not signed in here any more. Sign in, and begin again.');
        return requireSignIn({ ...deps, db }, visitor.operator, neededFor(visitor.operator, owner));
      });
      return personId === null ? seeOther(pageOf(tool)) : closePage(tool.name);
    },
  });
}

/** The page of the dashboard on which an admin begins to sign in. */
export function pageOf({ toolServerId, keyId }: Pick<ToolSource, 'toolServerId' | 'keyId'>): string {
  return toolServerId === null ? `/dashboard/keys/${keyId}` : `/dashboard/tool-servers/${toolServerId}`;
}

/** The page from which a person leaves. */
async function leave(
  { services, params }: Incoming<unknown, unknown>,
  operator: SignedIn,
  { tool, keyName, personId }: Awaited<ReturnType<typeof admitted>>,
  status: 200 | 409,
): Promise<Response> {
  return beginPage({
    ticket: params['ticket'] ?? '',
    serverName: tool.name,
    host: new URL(tool.target).host,
    keyName,
    as: personId === null ? null : operator.email,
    way: await services.serverSignIns.look(tool, personId),
    status,
  });
}

const pathOf = ({ params }: Pick<Incoming<unknown, unknown>, 'params'>): string =>
  `/oauth/connect/${encodeURIComponent(params['ticket'] ?? '')}`;

/** The server and the person of a link, if the link is for this operator. */
async function admitted({ services, params }: Incoming<unknown, unknown>, operator: SignedIn) {
  const found = await services.serverSignIns.ticketFor(params['ticket'] ?? '');
  if (found === null) throw new GuardError('gone', 'This link is unknown or too old. Begin again.');
  const needed = neededFor(operator, found.personId);
  requireRole(operator, needed);
  return { ...found, needed };
}

/** The role that is needed: people sign in for themselves, and admins for a key. */
function neededFor(operator: SignedIn, personId: string | null): Role {
  if (personId !== null && personId !== operator.operatorId)
    throw new GuardError(
      'forbidden',
      `This link is for somebody else, and you are signed in as ${operator.email}. Nobody can sign in for another person.`,
    );
  return personId === null ? 'admin' : 'user';
}
