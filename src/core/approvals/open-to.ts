// To whom a key is open: the groups and people who may connect clients to it.

import type { Person } from '../policy/situation.ts';
import { normalEmail } from '../text/email.ts';
import { groupFault, textFault } from '../text/name.ts';

const GROUP = 'group:';
const PERSON = 'person:';
const MAX_EMAIL = 320;
/** How many groups and people a key may name. */
export const MAX_OPEN_TO = 100;

/** What is wrong with an entry; null if it is fine. */
export function openToFault(entry: string): string | null {
  if (entry.startsWith(GROUP)) {
    const fault = groupFault(entry.slice(GROUP.length));
    return fault === null ? null : `names a group that ${fault}`;
  }
  const isEmail = /^person:[^\s@]+@[^\s@]+$/.test(entry);
  if (isEmail && textFault(entry, 0, PERSON.length + MAX_EMAIL) === null) return null;
  return 'must be group:<name> or person:<e-mail>, such as group:dev or person:ann@example.com';
}

/** The form in which an entry is kept: e-mails are compared without regard to case. */
export function normalEntry(entry: string): string {
  return entry.startsWith(PERSON) ? PERSON + normalEmail(entry.slice(PERSON.length)) : entry;
}

/** An e-mail that is not verified may be somebody else's, so it opens nothing. */
export function isOpenTo(openTo: readonly string[], { email, groups, unverified }: Person): boolean {
  return openTo.some(entry =>
    entry.startsWith(GROUP)
      ? groups.includes(entry.slice(GROUP.length))
      : !unverified && normalEmail(entry.slice(PERSON.length)) === normalEmail(email),
  );
}
