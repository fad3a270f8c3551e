// Schemas that several routes share: names, times, ids, pages. A schema validates a value, gives its type and appears
// in the OpenAPI document.

import { z } from 'zod';
import { textFault } from '../../core/text/name.ts';
import { AFTER_EVERY_ID } from '../../guard/ids.ts';

/** A string that is validated by one of the functions in core/. */
export function text(fault: (value: string) => string | null, description: string, example?: string) {
  const checked = z.string().superRefine((value, context) => {
    const message = fault(value);
    if (message !== null) context.addIssue({ code: 'custom', message });
  });
  return checked.meta(example === undefined ? { description } : { description, example });
}

export const label = (min: number, max: number, description: string) =>
  text(value => textFault(value, min, max), description);

const UUID_FAULT = 'must be a UUID, such as 01890a5d-ac96-774b-bcce-b302099a8057';

export const uuid = z.uuid(UUID_FAULT).meta({ description: 'A UUID (version 7: it sorts by time).' });

export const isoTime = z.iso.datetime().meta({ description: 'ISO 8601, UTC.' });

export const votes = z
  .object({ needed: z.int(), approved: z.array(z.object({ by: z.string(), at: isoTime })) })
  .meta({ description: 'How many different people have to approve, and who has.' });

/** A time in a request: ISO 8601 in UTC or with an offset, as milliseconds. */
export const timeIn = z.iso
  .datetime({ offset: true })
  .transform(value => Date.parse(value))
  .meta({ description: 'ISO 8601, in UTC or with an offset.' });

const MAX_LIMIT = 1000;
const DEFAULT_LIMIT = 50;

export const wholeNumberText = (max: number, fallback?: number) =>
  z
    .string()
    .regex(/^[0-9]{1,15}$/, 'must be a whole number')
    .transform(Number)
    .refine(value => value >= 1 && value <= max, `must be from 1 to ${max}`)
    .meta({
      type: 'integer',
      minimum: 1,
      maximum: max,
      ...(fallback === undefined ? {} : { description: `${fallback} when left out.` }),
    });

/** The query of every list: how many rows, and after which one. */
export const page = {
  limit: wholeNumberText(MAX_LIMIT, DEFAULT_LIMIT).default(DEFAULT_LIMIT),
  cursor: z.uuid(UUID_FAULT).optional().meta({ description: '`nextCursor` of the page before.' }),
};

/** The id before which a list starts. */
export const before = (query: { cursor?: string | undefined }): string => query.cursor ?? AFTER_EVERY_ID;

/** A page of a list. `rows` has one row more than the limit if there is a next page. */
export function paged<Name extends string, Row, Shown>(
  name: Name,
  rows: readonly Row[],
  limit: number,
  cursorOf: (row: Row) => string,
  show: (row: Row) => Shown,
): Record<Name, Shown[]> & { nextCursor: string | null } {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  const nextCursor = rows.length > limit && last !== undefined ? cursorOf(last) : null;
  return { [name]: shown.map(show), nextCursor } as Record<Name, Shown[]> & { nextCursor: string | null };
}

export const list = <Name extends string>(name: Name, item: z.ZodType) =>
  z.object({ [name]: z.array(item), nextCursor: z.string().nullable() });

export function iso(ms: number): string {
  return new Date(ms).toISOString();
}

export function isoOrNull(ms: number | null): string | null {
  return ms === null ? null : iso(ms);
}
