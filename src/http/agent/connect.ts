// /connect.sh and what its script asks for: connects a client on another machine. Whoever has the ticket may do it once; an
// admin makes tickets (admin/connect-tickets.ts).

import { z } from 'zod';
import { CLIENTS } from '../../core/clients/clients.ts';
import { GuardError } from '../../core/errors.ts';
import { readTicket, useTicket } from '../../guard/people/connect-tickets.ts';
import { bearerIn } from '../serving/key-headers.ts';
import { baseUrl } from '../serving/origin.ts';
import { ownExecutable } from '../serving/own-executable.ts';
import { type Route, route } from '../serving/route.ts';
import type { Services } from '../serving/services.ts';
import { connectScript } from './connect-script.ts';

const shared = { access: 'public', tag: 'connect', rateLimited: true } as const;
const gone = { 410: { description: 'The ticket is unknown, was used, or is too old.' } };
const bearer = 'The ticket is in `Authorization: Bearer`.';

export const connectRoutes: Route[] = [
  route({
    ...shared,
    method: 'GET',
    path: '/connect.sh',
    summary: 'The script that connects a client on another machine',
    query: z.strictObject({ token: z.string().max(200).default('') }),
    answers: { 200: { description: 'A script for a POSIX shell.', type: 'text/x-shellscript' }, ...gone },
    handle: async ({ services, request, query }) => {
      const { client } = await readTicket(services.deps, query.token);
      const filled = { url: urlOf(services, request), token: query.token, client };
      return answer(
        'text/x-shellscript; charset=utf-8',
        connectScript({ ...filled, executable: await ownExecutable() }),
      );
    },
  }),
  route({
    ...shared,
    method: 'GET',
    path: '/connect/toolgate',
    summary: 'The executable of this service, for its own platform',
    description: bearer,
    answers: { 200: { description: 'The program.', type: 'application/octet-stream' }, ...gone },
    handle: async ({ services, request }) => {
      await readTicket(services.deps, ticketOf(request));
      const found = await ownExecutable();
      if (found === null) throw new GuardError('not_found', 'This service has no executable to hand out.');
      return answer('application/octet-stream', Bun.file(found.path));
    },
  }),
  route({
    ...shared,
    method: 'POST',
    path: '/connect/key',
    summary: 'The key that a ticket is good for, once',
    description: `${bearer} The key is named after the client and the machine.`,
    query: z.strictObject({
      host: z
        .string()
        .regex(/^[\w.-]{1,60}$/)
        .default('another machine'),
    }),
    answers: { 200: { description: 'The key, and nothing else.', type: 'text/plain' }, ...gone },
    handle: async ({ services, request, query }) => {
      const nameOf = (id: string) => CLIENTS.find(client => client.id === id)?.name ?? id;
      const key = await useTicket(services.deps, ticketOf(request), id => `${nameOf(id)} on ${query.host}`);
      return answer('text/plain', `${key}\n`);
    },
  }),
];

function answer(type: string, body: string | Blob): Response {
  const headers = { 'Content-Type': type, 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' };
  return new Response(body, { headers });
}

function ticketOf(request: Request): string {
  return bearerIn(request.headers.get('authorization') ?? '') ?? '';
}

/** The address under which the other machine reached this service. The script puts it in shell quotes. */
export function urlOf({ config }: Pick<Services, 'config'>, request: Request): string {
  const url = baseUrl(config, request).replace(/\/+$/, '');
  if (/^https?:\/\/[\w.:[\]/-]+$/.test(url)) return url;
  throw new GuardError('conflict', 'The address of this service cannot be written into a script.');
}
