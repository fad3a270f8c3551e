// What a run had read before it asked, in words for approvers. The names of tools come from strangers.

import { joinName } from '../text/name.ts';
import { visible } from '../text/visible.ts';

/** A mark of a run, and the call that gave it. */
export interface ReadMark {
  name: string;
  /** ISO 8601. */
  since: string;
  serverName: string;
  toolName: string;
}

export const HAS_READ = 'This run has read:';
/** Stands beside a value that nobody who is trusted has named. */
export const NOT_NAMED = 'not named by the person';

/** In characters. A longer name of a tool would hide the marks after it. */
const MOST_OF_A_NAME = 100;

/** `This run has read: untrusted (mail__search, 10:02 UTC)`; nothing for a run without marks. */
export function readLines(marks: readonly ReadMark[], timeOf: (since: string) => string): string[] {
  if (marks.length === 0) return [];
  const each = marks.map(mark => `${visible(mark.name)} (${toolOf(mark)}, ${timeOf(mark.since)})`);
  return [`${HAS_READ} ${each.join(', ')}`];
}

function toolOf({ serverName, toolName }: ReadMark): string {
  const name = visible(joinName(serverName, toolName));
  return name.length > MOST_OF_A_NAME ? `${name.slice(0, MOST_OF_A_NAME).toWellFormed()}…` : name;
}

/** The time of day, with the date if that is another day than that of `asked`. Both times are ISO 8601, in UTC. */
export function clockUtc(since: string, asked: string): string {
  const [, day = '', clock = ''] = /^(\S+)T(\d\d:\d\d)/.exec(since) ?? [];
  return asked.startsWith(`${day}T`) ? `${clock} UTC` : `${day} ${clock} UTC`;
}
