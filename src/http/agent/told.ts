// POST /v1/told: an agent's code says what the person said, or what a trusted tool returned.

import { z } from 'zod';
import { GuardError } from '../../core/errors.ts';
import { type Json, MAX_CHECK_VALUES } from '../../core/wire/json.ts';
import { MAX_TOLD_BYTES } from '../../guard/check/told.ts';
import { uuid } from '../serving/fields.ts';
import { agentOf, type Route, route } from '../serving/route.ts';
import { runOf } from '../serving/run-header.ts';

const text = z
  .string()
  .meta({ description: 'What was said, at most 64 KiB. Nothing of it is stored but digests.' });
const toolCallId = uuid.meta({ description: 'The call whose result it is, from the verdict.' });
const structured = z
  .unknown()
  .refine(value => value !== undefined, 'is required')
  .meta({
    description: 'The result as JSON. Each string and each number in it is known from then on.',
  });

const body = z.union(
  [
    z.strictObject({ text }),
    z.strictObject({ toolCallId, text }),
    z.strictObject({ toolCallId, structured }),
  ],
  { error: 'must be { text }, { toolCallId, text } or { toolCallId, structured }; toolCallId is a UUID' },
);

export const toldRoutes: Route[] = [
  route({
    method: 'POST',
    path: '/v1/told',
    access: 'agent',
    sheds: true,
    tag: 'check',
    summary: 'Say what the person said, or what a trusted tool returned',
    description:
      'Values that stand in the text are known in the run from then on: conditions ask with `known()`. Without `toolCallId` ' +
      'it is what the person said. With it, it is the result of a call that a rule with `known: results` allowed. The header ' +
      '`Toolgate-Run` names the run, unless the credential is that of a session.',
    body,
    bodyLimit: 'checkBodyLimit',
    maxValues: MAX_CHECK_VALUES,
    anyText: true,
    answers: { 202: { description: 'All values in it are known now, on every replica.' } },
    handle: async incoming => {
      const { services, request, body } = incoming;
      const principal = agentOf(incoming);
      const run = runOf(request.headers);
      const said = 'structured' in body ? (body.structured as Json) : bounded(body.text);
      try {
        if ('toolCallId' in body) await services.told.byTool(principal, body.toolCallId, said);
        else await services.told.byPerson({ principal, surface: 'check', run }, said);
      } catch (error) {
        if (error instanceof GuardError && error.code === 'unauthenticated')
          services.principals.forget(principal);
        throw error;
      }
      return new Response(null, { status: 202 });
    },
  }),
];

function bounded(text: string): string {
  if (Buffer.byteLength(text) <= MAX_TOLD_BYTES) return text;
  throw new GuardError('too_large', `The text has more than ${MAX_TOLD_BYTES} bytes.`);
}
