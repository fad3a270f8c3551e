// /v1/sessions: creates, lists and revokes sessions. Only a long-lived key may do this.

import { z } from 'zod';
import { LONGEST as LONGEST_KNOWN } from '../../core/condition/known.ts';
import { attributesFault } from '../../core/flows/attributes.ts';
import { scopeFault } from '../../core/text/name.ts';
import { codePoints } from '../../core/text/text-length.ts';
import { isObject, type Json, type JsonObject } from '../../core/wire/json.ts';
import { activeSessionPages, endSession, mintSession } from '../../guard/sessions.ts';
import type { SessionRecord } from '../../store/sessions.ts';
import { gone } from '../serving/body.ts';
import { before, iso, isoTime, label, uuid } from '../serving/fields.ts';
import { agentOf, type Incoming, type Route, route } from '../serving/route.ts';
import { stream } from '../serving/stream.ts';

const MAX_MINUTES = 1440;
const DEFAULT_MINUTES = 60;
const MAX_SCOPE = 10_000;

const MOST_FAULTS = 20;

const fullName = z
  .string()
  .meta({ description: 'A full tool name; without wildcards.', example: 'github__create_issue' });

/** All names in one pass: a refinement of each of them took five times as long. */
const scope = z
  .array(fullName)
  .max(MAX_SCOPE)
  .superRefine((names, context) => {
    let faults = 0;
    for (let at = 0; at < names.length && faults < MOST_FAULTS; at++) {
      const message = scopeFault(names[at] as string);
      if (message === null) continue;
      context.addIssue({ code: 'custom', path: [at], message });
      faults++;
    }
  });

const MAX_KNOWN = 256;

const attributes = z.unknown().superRefine((value, context) => {
  const message = isObject(value as Json) ? attributesFault(value as JsonObject) : 'must be an object';
  if (message !== null) context.addIssue({ code: 'custom', message });
}) as unknown as z.ZodType<JsonObject>;

const body = z.strictObject({
  label: label(0, 200, 'A label for the session.').default(''),
  ttlMinutes: z.int().min(1).max(MAX_MINUTES).default(DEFAULT_MINUTES),
  scopeTools: scope.nullable().default(null).meta({
    description: 'Full tool names the session may call, without wildcards; null: not scoped; []: none.',
  }),
  known: z
    .array(
      z
        .string()
        .refine(value => codePoints(value) <= LONGEST_KNOWN, `has more than ${LONGEST_KNOWN} characters`),
    )
    .max(MAX_KNOWN)
    .default([])
    .meta({
      description: 'Texts whose values are known in the run of the session: conditions ask with `known()`.',
    }),
  attributes: attributes.optional().meta({
    type: 'object',
    description:
      'What conditions see as `session.attributes`: at most 4 KiB of JSON and 4 levels. It is stored and shown as it is, so it is no place for secrets.',
  }),
});

const listed = z.object({
  id: uuid,
  label: z.string(),
  prefix: z.string(),
  scopeTools: z.array(z.string()).nullable(),
  createdAt: isoTime,
  expiresAt: isoTime,
  attributes: z
    .record(z.string(), z.unknown())
    .optional()
    .meta({ description: 'As they were given; absent if there are none.' }),
});
const minted = listed.omit({ createdAt: true }).extend({ token: z.string() });

export function showSession(session: SessionRecord): z.output<typeof listed> {
  const { id, label, prefix, scopeTools, attributes } = session;
  return {
    id,
    label,
    prefix,
    scopeTools,
    createdAt: iso(session.createdAt),
    expiresAt: iso(session.expiresAt),
    ...(attributes !== null && { attributes }),
  };
}

/**
 * The answer, page by page. The first two pages are read before it begins, so that a store that fails gives an error
 * status.
 */
async function* answer(
  first: SessionRecord[],
  second: SessionRecord[],
  pages: AsyncGenerator<SessionRecord[]>,
): AsyncGenerator<string> {
  yield `{"sessions":[${first.map(shownText).join(',')}`;
  yield `,${second.map(shownText).join(',')}`;
  for await (const page of pages) yield `,${page.map(shownText).join(',')}`;
  yield ']}';
}

const shownText = (session: SessionRecord): string => JSON.stringify(showSession(session));

/** What a list holds until it is read: a few pages, as records and as text. */
const LIST_BYTES = 2 * 1024 * 1024;

/** A list waits for room in the share of its key: 300 lists that nobody read took 2 GB. */
async function list(incoming: Incoming<unknown, unknown>): Promise<Response> {
  const { rations } = incoming.services;
  const ration = rations.answer(agentOf(incoming).keyId);
  const end = () => ration.free();
  incoming.request.signal.addEventListener('abort', end);
  try {
    await ration.grow(LIST_BYTES, incoming.request.signal)?.catch(gone);
    return await pagesOf(incoming, end);
  } catch (error) {
    end();
    throw error;
  }
}

/** `read` is called once the client has read the answer. */
async function pagesOf(incoming: Incoming<unknown, unknown>, read: () => void): Promise<Response> {
  const turn = () => incoming.ration.turn();
  const pages = activeSessionPages(incoming.services.deps, agentOf(incoming), before({}), turn);
  const { value: first = [] } = await pages.next();
  const second = await pages.next();
  const headers = { 'Content-Type': 'application/json' };
  // Nobody would read the body of an answer to HEAD.
  const isHead = incoming.request.method === 'HEAD';
  if (isHead || second.done) read();
  if (isHead) return new Response(null, { headers });
  if (second.done) return Response.json({ sessions: first.map(showSession) });
  return new Response(stream(incoming, answer(first, second.value, pages), read), { headers });
}

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
    bodyLimit: 'checkBodyLimit',
    answers: { 201: { description: 'The session, with its token.', schema: minted } },
    handle: async incoming => {
      const { services, body } = incoming;
      const { known, attributes = null, ...others } = body;
      const { session, token } = await mintSession(services.deps, agentOf(incoming), {
        ...others,
        attributes,
      });
      await services.told.byOwner(session, known);
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
    handle: list,
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
