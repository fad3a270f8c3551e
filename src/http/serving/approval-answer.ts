// The body of an answer to an approval, from the API, from a link and from a form, and what it asks of the guard.

import { z } from 'zod';
import { MAX_NOTE, MAX_SAME, RESOLUTIONS } from '../../core/approvals/approval.ts';
import { parsePath } from '../../core/text/argument-path.ts';
import { textFault } from '../../core/text/name.ts';
import { parseGrantDuration } from '../../core/time/duration.ts';
import type { Resolve } from '../../guard/approvals/answer.ts';
import { rpOf } from '../../guard/people/passkeys.ts';
import { fields } from './body.ts';
import { text } from './fields.ts';
import { signedChallenge } from './passkey-fields.ts';
import type { Incoming } from './route.ts';

const duration = z
  .string()
  .transform(value => parseGrantDuration(value) ?? Number.NaN)
  .refine(ms => !Number.isNaN(ms), 'must be <n>m, <n>h or <n>d, from 1 minute to 7 days')
  .meta({ type: 'string', example: '1h', description: 'Opens a grant for this long; only with `approve`.' });

/** People press Enter in a note. It is one line, so a line break becomes a space. */
const note = text(
  value => textFault(oneLine(value), 0, MAX_NOTE),
  'What the agent is told with the answer. Line breaks become spaces.',
);
export const oneLine = (value: string): string => value.replace(/[\r\n]+/g, ' ');

const path = text(value => {
  const read = parsePath(value);
  return typeof read === 'string' ? read : null;
}, 'A path to an argument, such as `amount`, `customer.name` or `items[0].sku`.');

/** The body of every answer to an approval. */
export const resolution = z
  .strictObject({
    action: z.enum(RESOLUTIONS),
    note: note.optional(),
    duration: duration.optional(),
    only: z.literal('session').optional().meta({
      description: 'With `duration`: the grant frees only the session that asked.',
    }),
    same: z
      .array(path)
      .min(1)
      .max(MAX_SAME)
      .optional()
      .meta({
        description:
          'With `duration`: the grant frees only calls that have the same values at these paths as this call.',
        example: ['customer.id'],
      }),
    seen: z.string().max(100).optional().meta({
      description:
        'To approve a call whose details are not complete in lists, or are gone: their `digest`, or `incomplete` where not even the approval itself has all of them, or `gone`.',
    }),
    proof: signedChallenge.optional().meta({
      description: 'What the approver’s passkey signed, where the rule wants proof: see `…/proof`.',
    }),
  })
  .refine(body => body.duration === undefined || body.action === 'approve', {
    path: ['duration'],
    message: 'only goes with approve',
  })
  .superRefine(({ duration, only, same }, context) => {
    if (duration !== undefined) return;
    for (const [name, given] of Object.entries({ only, same }))
      if (given !== undefined)
        context.addIssue({ code: 'custom', path: [name], message: 'only goes with a duration' });
  });

/** What an answer says. An empty note is none. */
export function answerIn({
  body: { action, note, duration, only, same, seen, proof },
  services,
  request,
}: Pick<Incoming<z.output<typeof resolution>, unknown>, 'body' | 'services' | 'request'>): Resolve {
  const given = proof && { response: proof, rp: rpOf(services.config, request) };
  const grantMs = duration ?? null;
  return { action, note: oneLine(note ?? '') || null, grantMs, only, same, seen, proof: given };
}

/**
 * In a form, `same` may be repeated, `proof` is JSON, and a field of these and of a grant's bounds that is left empty
 * counts as left out.
 */
export function answerInForm(params: URLSearchParams): Record<string, unknown> {
  const same = params.getAll('same').filter(each => each !== '');
  params.delete('same');
  const { only, proof, seen, ...rest } = fields(params);
  return {
    ...rest,
    ...(only && { only }),
    ...(seen && { seen }),
    ...(same.length > 0 && { same }),
    ...(proof && { proof: jsonIn(proof) }),
  };
}

/** A text that is no JSON is left to the schema, which refuses it. */
function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
