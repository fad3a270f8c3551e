// Obot's webhook filter: the gateway sends each message of MCP that its selectors choose, requests and answers alike. Any
// status but 2xx rejects the message, and Obot shows the text of the answer to its user.

import { z } from 'zod';
import { GuardError } from '../../core/errors.ts';
import { isObject, type JsonObject } from '../../core/wire/json.ts';
import type { Route } from '../serving/route.ts';
import { type Door, doorRoute } from './door.ts';
import { doorCallAt, passedOn, requireLetThrough } from './json-rpc.ts';
import { refusalText } from './refusal-text.ts';
import { signedByObot } from './signature.ts';

const body = z
  .custom<JsonObject>(isObject, 'must be an object')
  .meta({ type: 'object', description: 'The JSON-RPC message.' });

const door: Door<JsonObject> = {
  surface: 'obot',
  path: '/v1/hooks/obot',
  summary: 'Answer Obot’s webhook filter',
  description:
    'A `tools/call` is judged; for other methods `TOOLGATE_EXT_AUTHZ_OTHER` counts, and answers of servers pass. The message does not say which server it is for: `?server=<name>` in the address of the filter does, and otherwise it is `obot`. If `TOOLGATE_OBOT_SECRET` is set, the request has to be signed (`X-Obot-Signature-256`).',
  body,
  answers: {
    200: { description: 'The message may pass.' },
    403: { description: 'It may not; the text says why.', type: 'text/plain' },
  },
  readCall: (message, request, config) => {
    if (isAnswer(message)) return ACCEPTED();
    const passed = passedOn(message);
    if (passed.kind === 'call') return doorCallAt(serverIn(request), passed);
    if (passed.kind === 'other') requireLetThrough(passed.method, config.extAuthzOther);
    return ACCEPTED();
  },
  answer: verdict => (verdict.decision === 'allow' ? ACCEPTED() : rejected(refusalText(verdict))),
  refuse: error => rejected(error.message),
};

export const obotRoute: Route = { ...doorRoute(door), signed: signedByObot };

/**
 * Obot sends the answer of a server with the method of its request. Without params, a server that took it for a request
 * would call no tool.
 */
function isAnswer(message: JsonObject): boolean {
  const names = Object.keys(message);
  return (
    names.some(name => name === 'result' || name === 'error') && names.every(name => OF_ANSWERS.has(name))
  );
}

const OF_ANSWERS = new Set(['jsonrpc', 'id', 'method', 'result', 'error']);

function serverIn(request: Request): string {
  const named = new URL(request.url).searchParams.getAll('server');
  if (named.length > 1) throw new GuardError('invalid_input', 'The address names more than one server.');
  return named[0] ?? 'obot';
}

const ACCEPTED = () => Response.json({ status: 'accepted' });

const rejected = (why: string): Response =>
  new Response(why, { status: 403, headers: { 'Content-Type': 'text/plain; charset=utf-8' } });
