// Arcade's pre-execution hook: Arcade asks before it runs a tool. Every answer is 200, because a hook whose failure mode is
// `fail_open` lets a call through when it takes the answer for a failure.

import { z } from 'zod';
import { isObject, type JsonObject } from '../../core/wire/json.ts';
import { doorRoute } from './door.ts';
import { refusalText } from './refusal-text.ts';

const body = z.looseObject({
  execution_id: z.string(),
  tool: z.looseObject({ name: z.string(), toolkit: z.string() }),
  inputs: z
    .custom<JsonObject>(value => value === null || isObject(value), 'must be an object')
    .nullish()
    .meta({
      type: 'object',
      description: 'The arguments of the call. They are evaluated in memory and never stored.',
    }),
});

const answered = z.object({
  code: z.enum(['OK', 'CHECK_FAILED']),
  error_message: z.string().optional(),
});

type Answered = z.output<typeof answered>;

export const arcadeRoute = doorRoute<z.output<typeof body>>({
  surface: 'arcade',
  path: '/v1/hooks/arcade/pre',
  summary: 'Answer Arcade’s pre-execution hook',
  description: 'The toolkit is the server, so a policy names the tool as `<toolkit>__<name>`.',
  body,
  answers: { 200: { description: 'The verdict, or a refusal.', schema: answered } },
  readCall: ({ tool, inputs }) => ({
    call: { serverName: tool.toolkit, toolName: tool.name },
    args: inputs ?? undefined,
  }),
  answer: (verdict): Answered =>
    verdict.decision === 'allow'
      ? { code: 'OK' }
      : { code: 'CHECK_FAILED', error_message: refusalText(verdict) },
  refuse: (error): Answered => ({ code: 'CHECK_FAILED', error_message: error.message }),
});
