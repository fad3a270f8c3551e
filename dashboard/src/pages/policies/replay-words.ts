// What a replay came to, in one sentence or two: how many of the recorded calls a draft would decide otherwise.

import type { Decision } from '../../resources.ts';

/** The answer of the service. */
export interface ReplayAnswer {
  from: string;
  to: string;
  calls: number;
  changed: number;
  depends: number;
  changes: {
    serverName: string;
    toolName: string;
    keyId: string;
    from: Decision;
    to: Decision;
    calls: number;
    examples: string[];
  }[];
}

const COUNT = new Intl.NumberFormat('en');

export function replayWords(span: string, answer: ReplayAnswer): string {
  const { calls, changed, depends } = answer;
  if (calls === 0) return `Last ${span}: no call that this policy decided is recorded yet.`;
  const among = `${COUNT.format(calls)} ${calls === 1 ? 'call' : 'calls'}`;
  const said =
    changed === 0
      ? `none of ${among} changes`
      : `${COUNT.format(changed)} of ${among} ${changed === 1 ? 'changes' : 'change'}: ${kindsOf(answer)}`;
  return `Last ${span}: ${said}.${dependWords(depends)}`;
}

function dependWords(depends: number): string {
  if (depends === 0) return '';
  return ` ${COUNT.format(depends)} ${depends === 1 ? 'depends' : 'depend'} on arguments, which are not recorded.`;
}

/** How many calls go from which decision to which, the most first. */
function kindsOf({ changes }: ReplayAnswer): string {
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
