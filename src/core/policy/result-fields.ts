// Every field of an entry of a policy's `results`, described once and in the order in which it is written, as
// rule-fields.ts does for rules. result-faults.ts says which of them go together.

import { DETECTOR_NAMES, isDetector } from '../detectors/detectors.ts';
import { parseByteSize } from '../text/byte-size.ts';
import { didYouMean } from '../text/did-you-mean.ts';
import { type Fields, type FieldType, label, parts, single, text, type Written } from './field-type.ts';
import { conditions, MAX_PATTERN, MAX_REASON, marks } from './rule-fields.ts';

const MAX_HIDDEN = 50;
const MAX_HIDE_PATTERN = 1_000;
/** More text than this is withheld in any case. */
export const MOST_BYTES = 5 * 1024 * 1024;

const AS = /^[a-z][a-z0-9_]{0,31}$/;
const AS_FORM =
  'must have 1 to 32 characters: a lower-case letter (a to z), then lower-case letters, digits and _';

function asFault(name: string): string | null {
  if (!AS.test(name)) return AS_FORM;
  return isDetector(name) ? 'is the name of a detector' : null;
}

/** What a pattern finds, and under which name. */
const PATTERN = {
  pattern: {
    type: label(1, MAX_HIDE_PATTERN),
    help: 'A regular expression (RE2). Everything that a match of it covers is a find.',
    example: 'KD-[0-9]{6}',
    needed: true,
  },
  as: {
    type: text('a short name', asFault),
    help: 'The name of its finds, in placeholders and in `result.found`.',
    example: 'customer_number',
    needed: true,
  },
} as const satisfies Fields;

const pattern = parts(
  PATTERN,
  `must be a detector (${DETECTOR_NAMES.join(', ')}), or an object such as { pattern: "KD-[0-9]{6}", as: customer_number }`,
);

export type HiddenPattern = Written<typeof PATTERN>;
/** A detector by its name, or a pattern. */
type Hidden = string | HiddenPattern;

function hiddenFaults(value: unknown) {
  if (typeof value !== 'string') return pattern.faults(value);
  if (isDetector(value)) return [];
  const meant = didYouMean(value, DETECTOR_NAMES);
  return single(
    `names the unknown detector ${JSON.stringify(value)}; known: ${DETECTOR_NAMES.join(', ')}.${meant}`,
  );
}

const one = { anyOf: [{ type: 'string', enum: DETECTOR_NAMES }, pattern.schema] };

const hide: FieldType<Hidden | readonly Hidden[]> = {
  faults: value => {
    if (!Array.isArray(value)) return hiddenFaults(value);
    if (value.length === 0) return single('must not be an empty list');
    if (value.length > MAX_HIDDEN) return single(`must have at most ${MAX_HIDDEN} items`);
    return value.flatMap((each, at) =>
      hiddenFaults(each).map(({ path, message }) => ({ path: [at, ...path], message })),
    );
  },
  schema: { anyOf: [...one.anyOf, { type: 'array', items: one, minItems: 1, maxItems: MAX_HIDDEN }] },
  words: `${DETECTOR_NAMES.map(each => `\`${each}\``).join(', ')}, an object of \`pattern\` and \`as\`, or a list of these`,
  offers: 'detectors',
  parts: PATTERN,
};

const SIZE_FORM = 'must be a size of at most 5MiB, such as 500B, 64KiB or 1MiB';

const size: FieldType<string> = {
  ...text(
    '`1B` to `5MiB`',
    value => {
      const bytes = parseByteSize(value);
      return bytes === null || bytes > MOST_BYTES ? SIZE_FORM : null;
    },
    SIZE_FORM,
  ),
  schema: { type: 'string', pattern: '^[1-9][0-9]*(B|KiB|MiB)$' },
  bare: true,
};

const yes: FieldType<true> = {
  faults: value => single(value === true ? null : 'must be true, or be left out'),
  schema: { type: 'boolean', enum: [true] },
  words: '`true`',
  offers: ['true'],
};

export const RESULT = {
  tool: {
    type: label(1, MAX_PATTERN),
    help: 'A pattern for tool names, as in rules. Results of resources and prompts match as `<server>__*`.',
    example: 'github__*',
    needed: true,
  },
  when: {
    type: conditions,
    help: 'Conditions in CEL that must all hold for the entry to apply. They see the result as `result`, and what conditions of rules see. One that fails withholds the result.',
    example: 'result.found.secrets > 0',
  },
  hide: {
    type: hide,
    help: 'What is replaced by `[hidden: <name>]` wherever it is found in the result.',
    example: ['secrets', 'iban'],
  },
  withhold: {
    type: yes,
    help: 'The agent gets an error with `reason` in place of the result.',
    example: true,
  },
  reason: {
    type: label(1, MAX_REASON),
    help: 'What the agent is told when the result is withheld.',
    example: 'Ask a person for the payroll.',
  },
  atMost: {
    type: size,
    help: 'Longer texts are cut, and say so. It holds for each text of the result.',
    example: '64KiB',
  },
  marks: {
    type: marks,
    help: 'Marks that the run gets before the result is passed on.',
    example: ['untrusted'],
  },
} as const satisfies Fields;

/** An entry of `results`. */
export interface ResultEntry extends Written<typeof RESULT> {}

export type ResultField = keyof typeof RESULT;

/** In the order in which they are written. */
export const RESULT_FIELDS = Object.keys(RESULT) as readonly ResultField[];

/** At least one of these says what is done. */
export const ENTRY = parts(RESULT, 'must be an object, such as { tool: "*", hide: secrets }', [
  'hide',
  'withhold',
  'atMost',
  'marks',
]);

/** What an entry hides, as a list. */
export function hiddenOf({ hide = [] }: Pick<ResultEntry, 'hide'>): readonly Hidden[] {
  return Array.isArray(hide) ? hide : [hide as Hidden];
}
