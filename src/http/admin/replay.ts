// /admin/v1/policies/:id/replay: what a draft of a policy would have decided about the calls that were recorded.

import { z } from 'zod';
import { DECISIONS } from '../../core/decision/decide.ts';
import { GuardError, invalidInput } from '../../core/errors.ts';
import type { CompiledPolicy } from '../../core/policy/compiled-policy.ts';
import { compileDraft, noSuchPolicy } from '../../guard/check/policies.ts';
import { compiledVersion } from '../../guard/compiled-version.ts';
import type { Deps } from '../../guard/deps.ts';
import { inTurn } from '../../guard/log/long-reads.ts';
import { type Replay, replay } from '../../guard/log/replay.ts';
import { findPolicy, type PolicyRecord } from '../../store/policies.ts';
import { iso, isoTime, timeIn, uuid } from '../serving/fields.ts';
import { type Route, route } from '../serving/route.ts';
import { MAX_POLICY_VALUES, policyFields, policyIn } from './policy-body.ts';

const decision = z.enum(DECISIONS);
const replayed = z.object({
  from: isoTime.meta({
    description:
      'What was counted. It begins later than asked where the log does not reach back, or if there were more than 100,000 different calls. It is rounded to whole minutes, beyond 2 days to whole hours, and beyond 93 to whole days.',
  }),
  to: isoTime,
  calls: z.int().meta({ description: 'How many calls this policy decided in that time.' }),
  changed: z.int().meta({ description: 'How many of them the draft would certainly decide otherwise.' }),
  depends: z.int().meta({
    description:
      'For how many of them the outcome depends on what is not recorded, such as arguments or the time of day.',
  }),
  earlier: z.int().meta({
    description: 'How many of those an earlier version of Toolgate recorded, whose reasons are not read.',
  }),
  changes: z
    .array(
      z.object({
        serverName: z.string(),
        toolName: z.string(),
        keyId: uuid,
        from: decision,
        to: decision,
        calls: z.int(),
        examples: z.array(uuid).meta({
          description:
            'The toolCallId of the newest of these calls: at most five, and none beyond the 200 most frequent changes.',
        }),
      }),
    )
    .meta({ description: 'The most frequent first, at most a thousand.' }),
});

const body = z.strictObject({
  text: policyFields.text,
  rules: policyFields.rules,
  limits: policyFields.limits,
  results: policyFields.results,
  version: z.int().min(1).optional().meta({ description: 'A saved version of this policy.' }),
  from: timeIn.optional(),
  to: timeIn.optional(),
});
type Body = z.output<typeof body>;

export const replayRoutes: Route[] = [
  route({
    method: 'POST',
    path: '/admin/v1/policies/:id/replay',
    // Reading a large draft takes time in which checks wait, so it is for those who may also save one.
    access: 'admin',
    tag: 'policies',
    summary: 'Try a draft of a policy with the recorded calls',
    description:
      'The draft comes as exactly one of `text`, `rules` (perhaps with `limits` and `results`) and `version`. It is tried with every recorded call that this policy decided from `from` (inclusive) to `to` (exclusive); without them, with all. Nothing is saved. Limits are left out: a call counts as if no limit were used up, unless one was when it was made. Requests are answered one at a time.',
    body,
    bodyLimit: 'policyBodyLimit',
    maxValues: MAX_POLICY_VALUES,
    answers: {
      200: { description: 'What would change.', schema: replayed },
      503: { description: 'Too many such requests wait. Try again after the seconds in Retry-After.' },
    },
    handle: async ({ services: { deps }, params, body }) => {
      const { from = 0, to = deps.now() + 1 } = body;
      if (from >= to)
        throw invalidInput([{ path: '/from', message: 'must be before "to", and in the past' }]);
      const policy = await findPolicy(deps.db, params['id'] ?? '');
      if (policy === null) throw noSuchPolicy();
      const found = await inTurn(async () => replay(deps, await draftOf(deps, policy, body), from, to));
      return Response.json(show(found));
    },
  }),
];

async function draftOf(
  deps: Deps,
  policy: PolicyRecord,
  { version, text, rules, limits, results }: Body,
): Promise<CompiledPolicy> {
  if (text === undefined && rules === undefined && version === undefined)
    throw invalidInput([{ path: '/text', message: 'is required, or "rules" or "version" in its place' }]);
  if (version === undefined) return compileDraft(deps, policy, policyIn({ text, rules, limits, results }));
  const stray = Object.entries({ text, rules, limits, results }).find(([, value]) => value !== undefined);
  if (stray !== undefined)
    throw invalidInput([
      { path: `/${stray[0]}`, message: 'must be left out, because "version" names the draft' },
    ]);
  const draft = await compiledVersion(deps.db, policy.id, version);
  if (draft === null) throw new GuardError('not_found', `The policy has no version ${version}.`);
  return draft;
}

function show(found: Replay): z.input<typeof replayed> {
  return { ...found, from: iso(found.from), to: iso(found.to) };
}
