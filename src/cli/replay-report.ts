// What a replay came to, in words: as a summary, and as Markdown for a comment on a pull request. It also reads
// --fail-on, which says which changes end the command with exit code 1.

import { InvalidArgumentError } from 'commander';
import type { Policy, Replay } from '../core/api/resources.ts';
import { DECISIONS, type Decision } from '../core/decision/decide.ts';
import { joinName } from '../core/text/name.ts';
import { ceilTo, keptSpan } from '../core/time/buckets.ts';
import { codeOf, markdownTable } from './markdown.ts';
import { time } from './print.ts';

export type Change = Replay['changes'][number];

/** A change that fails; `any` stands for every decision. */
export interface Failing {
  from: Decision | 'any';
  to: Decision | 'any';
}

const SIDES: readonly string[] = [...DECISIONS, 'any'];

/** For an option that may be repeated: `deny->allow`, `any->allow`, or `any` for every change. */
export function readFailing(text: string, before: readonly Failing[] = []): Failing[] {
  const [from = '', to = from, ...more] = text.split('->').map(each => each.trim());
  const isBoth = text.includes('->') || from === 'any';
  if (!isBoth || more.length > 0 || ![from, to].every(side => SIDES.includes(side)))
    throw new InvalidArgumentError(
      `It must be any, or a change such as deny->allow; decisions are ${SIDES.join(', ')}.`,
    );
  return [...before, { from, to } as Failing];
}

export function failsOn({ from, to }: Change, failing: readonly Failing[]): boolean {
  return failing.some(
    each => (each.from === 'any' || each.from === from) && (each.to === 'any' || each.to === to),
  );
}

export const changeText = ({ from, to }: Pick<Change, 'from' | 'to'>): string => `${from} -> ${to}`;

const counted = (calls: number): string => `${calls.toLocaleString('en')} ${calls === 1 ? 'call' : 'calls'}`;

/** The service lists at most a thousand changes, the most frequent ones, and counts all. */
export function unlisted({ changed, changes }: Replay): number {
  return changed - changes.reduce((sum, { calls }) => sum + calls, 0);
}

/** How many calls change, and in which ways. */
export function replaySummary(replay: Replay): string {
  const { from, to, calls, changed, changes } = replay;
  const span = `from ${time(from)} to ${time(to)}`;
  if (calls === 0) return `This policy decided no call ${span}.`;
  const ways = new Map<string, number>();
  for (const each of changes) ways.set(changeText(each), (ways.get(changeText(each)) ?? 0) + each.calls);
  const rest = unlisted(replay);
  if (rest > 0) ways.set('that are not listed', rest);
  const list = [...ways].map(([way, count]) => `${count.toLocaleString('en')} ${way}`).join(', ');
  return changed === 0
    ? `Of ${counted(calls)} ${span}, none would change.`
    : `Of ${counted(calls)} ${span}, ${changed.toLocaleString('en')} would change: ${list}.`;
}

/** The start of the first period that is counted for itself, and in which no earlier version decided. */
export function firstWhole(savedAt: string, now: number): string {
  const saved = Date.parse(savedAt);
  const first = ceilTo(saved, keptSpan(now - saved));
  // A version that was just saved has none yet. All of its first minute is better than nothing.
  return first < now ? new Date(first).toISOString() : savedAt;
}

/**
 * What one has to know to read it. `current` is the current version, or null if only its own calls were replayed:
 * earlier versions may have said what the current one does not say any more either.
 */
export function remarksOf(
  { from, calls, changed, depends, earlier }: Replay,
  current: Pick<Policy, 'version' | 'updatedAt'> | null,
): string[] {
  if (calls === 0) return [];
  const remarks: string[] = [];
  if (depends > 0)
    remarks.push(
      `Whether ${counted(depends)} would change depends on arguments, times or people, which the log does not keep.`,
    );
  if (earlier > 0)
    remarks.push(
      `Of those, ${counted(earlier)} ${earlier === 1 ? 'was' : 'were'} recorded by an earlier version of Toolgate, whose reasons are not read.`,
    );
  remarks.push('Limits are left out.');
  if (changed > 0 && current !== null && current.version > 1 && from < current.updatedAt)
    remarks.push(
      `Calls before ${time(current.updatedAt)} were decided by earlier versions of the policy; --since current leaves them out.`,
    );
  return remarks;
}

/** GitHub takes comments of at most 65,536 characters. */
const MOST_ROWS = 50;

/** `names` are those of the keys, by id. */
export function replayMarkdown(
  { draft, policy, remarks }: { draft: string; policy: string; remarks: readonly string[] },
  replay: Replay,
  names: ReadonlyMap<string, string>,
  failing: readonly Failing[],
): string {
  const { changes } = replay;
  const rows = changes
    .slice(0, MOST_ROWS)
    .map(change => [
      changeText(change).replace('->', '→') + (failsOn(change, failing) ? ' ❌' : ''),
      change.calls.toLocaleString('en'),
      codeOf(joinName(change.serverName, change.toolName)),
      codeOf(names.get(change.keyId) ?? change.keyId),
    ]);
  const more = changes.length - rows.length;
  return [
    `### Replay of ${codeOf(draft)} for the policy ${codeOf(policy)}\n`,
    `${[replaySummary(replay).replaceAll('->', '→'), ...remarks].join(' ')}\n`,
    ...(rows.length === 0 ? [] : [markdownTable(['Change', 'Calls', 'Tool', 'Key'], rows)]),
    ...(more > 0 ? [`and ${more} more lines.\n`] : []),
  ].join('\n');
}
