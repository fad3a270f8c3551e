// Says where nobody can answer: a rule names a group, and too few operators of the group may approve. It also says
// whose limit on open approvals is reached. People are told both, and nothing is decided by them: approvers.ts decides
// who may answer.

import type { Lacking } from '../../core/approvals/approval.ts';
import type { Rule } from '../../core/policy/policy.ts';
import type { Queries } from '../../store/engine/db.ts';
import { listKeyNames } from '../../store/keys.ts';
import { listGroupMembers } from '../../store/operators.ts';
import { type AskedGroup, askedGroups, type FullQueue, fullQueues } from '../../store/waiting.ts';
import type { GuardSettings } from '../deps.ts';
import { isOwnCall } from './approvers.ts';

interface AskedOf {
  approverGroup: string | null;
  votesNeeded: number;
  personEmail: string | null;
}

export type Members = Awaited<ReturnType<typeof listGroupMembers>>;

/** How many could approve, where they are too few; null if they are enough, or anybody may. */
export function lackingOf(members: Members, asked: AskedOf): Lacking | null {
  const { approverGroup: group, votesNeeded: needed } = asked;
  if (group === null) return null;
  const able = members.filter(each => each.groups.includes(group) && !isOwnCall(asked, each)).length;
  return able >= needed ? null : { group, needed, able };
}

export async function lackingFor(db: Queries, asked: AskedOf): Promise<Lacking | null> {
  return asked.approverGroup === null ? null : lackingOf(await listGroupMembers(db), asked);
}

/** The groups of a policy that have too few people, each once. */
export async function lackingIn(db: Queries, rules: readonly Rule[]): Promise<Lacking[]> {
  const named = rules.flatMap(({ approvers }) => (approvers?.group === undefined ? [] : [approvers]));
  if (named.length === 0) return [];
  const members = await listGroupMembers(db);
  const found = new Map<string, Lacking>();
  for (const { group = null, count = 1 } of named) {
    const lacking = lackingOf(members, { approverGroup: group, votesNeeded: count, personEmail: null });
    if (lacking !== null && lacking.needed > (found.get(lacking.group)?.needed ?? 0))
      found.set(lacking.group, lacking);
  }
  return [...found.values()];
}

/** More than a person would read. */
const MOST = 100;

export interface Full extends FullQueue {
  keyName: string;
  atMost: number;
}

export interface Unanswerable extends Lacking {
  /** How many questions wait for this group in vain. */
  open: number;
  /** The oldest of them. */
  referenceId: string;
}

export interface Attention {
  full: Full[];
  unanswerable: Unanswerable[];
}

type Limits = Pick<GuardSettings, 'maxOpenApprovalsPerKey' | 'maxOpenApprovalsPerSession'>;

/** What people should know about all open questions together. */
export async function attention(db: Queries, now: number, settings: Limits): Promise<Attention> {
  const { maxOpenApprovalsPerKey: perKey, maxOpenApprovalsPerSession: perSession } = settings;
  const [queues, groups] = await Promise.all([
    fullQueues(db, now, { perKey, perSession, most: MOST }),
    askedGroups(db, now, MOST),
  ]);
  const names = queues.length === 0 ? new Map<string, string>() : await listKeyNames(db, keysOf(queues));
  const members = groups.length === 0 ? [] : await listGroupMembers(db);
  return {
    full: queues.map(each => ({
      ...each,
      keyName: names.get(each.keyId) ?? '',
      atMost: each.sessionId === null ? perKey : perSession,
    })),
    unanswerable: groups.flatMap(each => unanswerable(members, each)),
  };
}

const keysOf = (queues: readonly FullQueue[]): string[] => [...new Set(queues.map(({ keyId }) => keyId))];

function unanswerable(members: Members, asked: AskedGroup): Unanswerable[] {
  const lacking = lackingOf(members, asked);
  return lacking === null ? [] : [{ ...lacking, open: asked.open, referenceId: asked.referenceId }];
}
