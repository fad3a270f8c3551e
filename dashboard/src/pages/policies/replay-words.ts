// What a replay came to, in one sentence or two: how many of the recorded calls a draft would decide otherwise.

import type { Replay } from '../../resources.ts';

const COUNT = new Intl.NumberFormat('en');

export function replayWords(span: string, answer: Replay): string {
  const { calls, changed } = answer;
  if (calls === 0) return `Last ${span}: no call that this policy decided is recorded yet.`;
  const among = `${COUNT.format(calls)} ${calls === 1 ? 'call' : 'calls'}`;
  const said =
    changed === 0
      ? `none of ${among} changes`
      : `${COUNT.format(changed)} of ${among} ${changed === 1 ? 'changes' : 'change'}: ${kindsOf(answer)}`;
  return `Last ${span}: ${said}.${dependWords(answer)}`;
}

/**
 * What the saved version would decide otherwise than was recorded, because older versions decided some of the calls. It
 * shows which changes are not those of a draft. Null if there are none.
 */
export function savedWords(version: number, { calls, changed }: Replay): string | null {
  if (changed === 0) return null;
  return `The saved version ${version} alone changes ${COUNT.format(changed)} of ${COUNT.format(calls)}, because older versions decided them.`;
}

/** For how many calls the saved version makes the same change. */
export function savedCalls(saved: Replay, change: Replay['changes'][number]): number {
  const same = saved.changes.find(
    ({ serverName, toolName, keyId, from, to }) =>
      serverName === change.serverName &&
      toolName === change.toolName &&
      keyId === change.keyId &&
      from === change.from &&
      to === change.to,
  );
  return same?.calls ?? 0;
}

function dependWords({ depends, earlier }: Replay): string {
  if (depends === 0) return '';
  const old =
    earlier === 0
      ? ''
      : ` Of those, ${COUNT.format(earlier)} ${earlier === 1 ? 'was' : 'were'} recorded by an earlier version of Toolgate.`;
  return ` ${COUNT.format(depends)} ${depends === 1 ? 'depends' : 'depend'} on what is not recorded, such as arguments.${old}`;
}

/** How many calls go from which decision to which, the most first. */
function kindsOf({ changes }: Replay): string {
  const kinds = new Map<string, number>();
  for (const { from, to, calls } of changes) {
    const kind = `${from} → ${to}`;
    kinds.set(kind, (kinds.get(kind) ?? 0) + calls);
  }
  return Array.from(kinds)
    .toSorted(([a, most], [b, least]) => least - most || (a < b ? -1 : 1))
    .map(([kind, calls]) => `${COUNT.format(calls)} ${kind}`)
    .join(', ');
}
