// To whom a key is open: the groups and people who may connect OAuth clients to it.

import { normalEmail } from './email.ts';
import { groupFault } from './name.ts';
import type { Person } from './situation.ts';

const GROUP = 'group:';
const PERSON = 'person:';
/** How many groups and people a key may name. */
export const MAX_OPEN_TO = 100;

/** What is wrong with an entry; null if it is fine. */
export function openToFault(entry: string): string | null {
  if (entry.startsWith(GROUP)) {
    const fault = groupFault(entry.slice(GROUP.length));
    return fault === null ? null : `names a group that ${fault}`;
  }
  if (/^person:[^\s@]+@[^\s@]+$/.test(entry) && entry.length <= PERSON.length + 320) return null;
  return 'must be group:<name> or person:<e-mail>, such as group:dev or person:ann@example.com';
}

export function isOpenTo(openTo: readonly string[], { email, groups }: Person): boolean {
  return openTo.some(entry =>
    entry.startsWith(GROUP)
      ? groups.includes(entry.slice(GROUP.length))
      : normalEmail(entry.slice(PERSON.length)) === normalEmail(email),
  );
}
