// The names that flows have: those of marks, which policies give to runs, and those of runs, which clients choose.

/** How many different marks a policy may have. */
export const MAX_MARKS = 16;

const MARK = /^[a-z][a-z0-9-]{0,31}$/;
const RUN = /^[\x21-\x7e]{1,128}$/;

/** What is wrong with the name of a mark, or null. */
export function markFault(name: string): string | null {
  if (MARK.test(name)) return null;
  return 'must have 1 to 32 characters: a lower-case letter (a to z), then lower-case letters, digits and hyphens, such as "untrusted"';
}

/** What is wrong with the name of a run, or null. */
export function runNameFault(name: string): string | null {
  return RUN.test(name) ? null : 'must have 1 to 128 visible ASCII characters, without blanks';
}
