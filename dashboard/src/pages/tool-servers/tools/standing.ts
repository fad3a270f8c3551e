// Where a tool stands: whether somebody still has to accept its definition, and which settings of the service decide what
// becomes of its calls meanwhile.

import { HOLDING } from '../../../../../src/core/definitions/finding.ts';
import { useGet } from '../../../load.ts';
import type { ReviewedTool, Settings } from '../../../resources.ts';

/** Whether somebody has to look at it: nobody has accepted its present definition, or calls are held for it. */
export function waits({ accepted, digest, heldFor }: ReviewedTool): boolean {
  return accepted === null || accepted.digest !== digest || heldFor.length > 0;
}

/** What is worst comes first: what holds a tool, then other findings. */
export function gravity({ findings }: ReviewedTool): number {
  if (findings.some(({ kind }) => HOLDING.includes(kind))) return 2;
  return findings.length > 0 ? 1 : 0;
}

/** A definition that took the place of one that was accepted. */
export function hasChanged({ accepted, digest }: ReviewedTool): boolean {
  return accepted !== null && accepted.digest !== digest;
}

export interface Ways {
  /** The lock file; null if there is none. */
  lockFile: string | null;
  /** What `TOOLGATE_TOOL_DRIFT` says. */
  drift: string;
}

/** Undefined until it is known. */
export function useWays(): Ways | undefined {
  const { data } = useGet<Settings>('/settings');
  if (data === undefined) return undefined;
  const given = (env: string) => data.settings.find(each => each.env === env)?.value ?? null;
  return { lockFile: given('TOOLGATE_TOOLS_LOCK'), drift: given('TOOLGATE_TOOL_DRIFT') ?? '' };
}

/** What becomes of a call of a tool whose definition is held. */
export const heldWord = ({ drift }: Ways): string => (drift === 'deny' ? 'are denied' : 'wait for approval');

/** What becomes of a call of a tool that has changed and is not held. */
export function changedWord({ drift }: Ways): string {
  if (drift === 'require_approval') return 'Its calls wait for approval until somebody accepts it.';
  return drift === 'deny'
    ? 'Its calls are denied until somebody accepts it.'
    : 'Its calls go on as the policies say.';
}
