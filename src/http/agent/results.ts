// POST /v1/results: an agent's code has the result of a call looked at before the model gets it.

import { z } from 'zod';
import { GuardError } from '../../core/errors.ts';
import { isObject, type JsonObject, MAX_VALUES, writeJson } from '../../core/wire/json.ts';
import { pacedAnswer } from '../../guard/rations/paced-body.ts';
import { SMALL_BYTES } from '../../guard/rations/rations.ts';
import { gone } from '../serving/body.ts';
import { uuid } from '../serving/fields.ts';
import { agentOf, type Incoming, type Route, route } from '../serving/route.ts';

/** The value itself is passed on and not a copy, so that what is looked at is what was sent. */
const result = z
  .unknown()
  .refine(isObject, 'must be an object')
  .meta({
    type: 'object',
    description:
      'An MCP result: `content`, `structuredContent`, `isError`, `_meta` and whatever else it has.',
    example: { content: [{ type: 'text', text: 'Ann: ann@example.com' }] },
  });

const body = z.strictObject({
  toolCallId: uuid.meta({ description: 'The call whose result it is, from the verdict.' }),
  result,
});

const guarded = z.record(z.string(), z.unknown()).meta({
  description: 'The result as it may be passed on; if it is withheld, an error result with the reason.',
  example: { content: [{ type: 'text', text: 'Ann: [hidden: email]' }] },
});

export const resultRoutes: Route[] = [
  route({
    method: 'POST',
    path: '/v1/results',
    access: 'agent',
    sheds: true,
    tag: 'check',
    summary: 'Have the result of a call looked at',
    description:
      'For calls whose verdict says `results: true`. What the policy hides or withholds is gone from the answer, and the marks ' +
      'that the result brings are committed before it is sent. Nothing of a result is stored. Without an answer with status 200, ' +
      'do not use the result.',
    body,
    bodyLimit: 'resultBodyLimit',
    maxValues: MAX_VALUES,
    anyText: true,
    answers: {
      200: { description: 'What may be passed on.', schema: guarded },
      404: { description: 'No call of this credential has this id.' },
      409: { description: 'The call was not allowed.' },
    },
    handle: async incoming => {
      const { services, body } = incoming;
      const principal = agentOf(incoming);
      try {
        const seen = await services.results.ofCall(principal, body.toolCallId, body.result as JsonObject);
        return await answerWith(seen, incoming);
      } catch (error) {
        if (error instanceof GuardError && error.code === 'unauthenticated')
          services.principals.forget(principal);
        throw error;
      }
    },
  }),
];

/** A large answer counts for its key until it is read. */
async function answerWith(result: JsonObject, incoming: Incoming<unknown, unknown>): Promise<Response> {
  const headers = { 'Content-Type': 'application/json;charset=utf-8' };
  const bytes = Buffer.from(writeJson(result));
  if (bytes.length <= SMALL_BYTES) return new Response(bytes, { headers });
  const { services, request, server } = incoming;
  const ration = services.rations.answer(agentOf(incoming).keyId);
  const end = () => ration.free();
  request.signal.addEventListener('abort', end);
  await ration.grow(bytes.length, request.signal)?.catch(gone);
  return new Response(
    pacedAnswer(bytes, end, () => server.timeout(request, READ_SECONDS)),
    { headers },
  );
}

/** A client that takes nothing of a large answer for this long is disconnected, and its share is free again. */
const READ_SECONDS = 30;
