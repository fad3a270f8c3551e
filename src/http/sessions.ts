// /v1/sessions: creates, lists and revokes sessions. Only a long-lived key may do this.

import { z } from 'zod';
import { scopeFault } from '../core/name.ts';
import type { Principal } from '../guard/credentials.ts';
import type { Deps } from '../guard/deps.ts';
import { endSession, listActiveSessions, mintSession } from '../guard/sessions.ts';
import type { SessionRecord } from '../store/sessions.ts';
import { before, iso, isoTime, label, text, uuid } from './fields.ts';
import { agentOf, type Route, route } from './route.ts';
import { stream } from './stream.ts';

const MAX_MINUTES = 1440;
const DEFAULT_MINUTES = 60;
const MAX_SCOPE = 10_000;

const fullName = text(scopeFault, 'A full tool name; without wildcards.', 'github__create_issue');

const body = z.strictObject({
  label: label(0, 200, 'A label for the run.').default(''),
  ttlMinutes: z.int().min(1).max(MAX_MINUTES).default(DEFAULT_MINUTES),
  scopeTools: z.array(fullName).max(MAX_SCOPE).nullable().default(null).meta({
    description: 'Full tool names the session may call, without wildcards; null: not scoped; []: none.',
  }),
});

const listed = z.object({
  id: uuid,
  label: z.string(),
  prefix: z.string(),
  scopeTools: z.array(z.string()).nullable(),
  createdAt: isoTime,
  expiresAt: isoTime,
});
const minted = listed.omit({ createdAt: true }).extend({ token: z.string() });

export function showSession(session: SessionRecord): z.output<typeof listed> {
  const { id, label, prefix, scopeTools } = session;
  return {
    id,
    label,
    prefix,
    scopeTools,
    createdAt: iso(session.createdAt),
    expiresAt: iso(session.expiresAt),
  };
}

/** How many sessions are read at a time: with the largest scopes these are 6 MiB. */
const PAGE = 100;

/** The answer, page by page. The first page was read before, so that a store that fails gives an error status. */
async function* pages(deps: Deps, principal: Principal, first: SessionRecord[]): AsyncGenerator<string> {
  yield `{"sessions":[${first.map(shownText).join(',')}`;
  for (let last = first.at(-1); last !== undefined; ) {
    const page = await listActiveSessions(deps, principal, PAGE, last.id);
    if (page.length > 0) yield `,${page.map(shownText).join(',')}`;
    last = page.length < PAGE ? undefined : page.at(-1);
  }
  yield ']}';
}

const shownText = (session: SessionRecord): string => JSON.stringify(showSession(session));

export const sessionRoutes: Route[] = [
  route({
    method: 'POST',
    path: '/v1/sessions',
    access: 'key',
    tag: 'sessions',
    summary: 'Mint a session token',
    description: 'The token is shown in this answer only. A session never outlives its key.',
    body,
    bodyOptional: true,
    answers: { 201: { description: 'The session, with its token.', schema: minted } },
    handle: async incoming => {
      const { session, token } = await mintSession(incoming.services.deps, agentOf(incoming), incoming.body);
      const { createdAt: _, ...shown } = showSession(session);
      return Response.json({ token, ...shown }, { status: 201, headers: { 'Cache-Control': 'no-store' } });
    },
  }),
  route({
    method: 'GET',
    path: '/v1/sessions',
    access: 'key',
    tag: 'sessions',
    summary: 'List the active sessions of the calling key, newest first',
    answers: { 200: { description: 'The sessions.', schema: z.object({ sessions: z.array(listed) }) } },
    handle: async incoming => {
      const { deps } = incoming.services;
      const principal = agentOf(incoming);
      const first = await listActiveSessions(deps, principal, PAGE, before({}));
      if (first.length < PAGE) return Response.json({ sessions: first.map(showSession) });
      return new Response(stream(incoming, pages(deps, principal, first)), {
        headers: { 'Content-Type': 'application/json' },
      });
    },
  }),
  route({
    method: 'DELETE',
    path: '/v1/sessions/:id',
    access: 'key',
    tag: 'sessions',
    summary: 'Revoke a session at once',
    answers: { 204: { description: 'Revoked, now or before.' } },
    handle: async incoming => {
      await endSession(incoming.services.deps, agentOf(incoming), incoming.params['id'] ?? '');
      return new Response(null, { status: 204 });
    },
  }),
];
