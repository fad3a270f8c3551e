// Decides who may answer an approval, and so who may see what it is about: operators with the role of an approver; if
// the rule names a group, only those of the group; and nobody about a call that was made in their own name. answer.ts
// takes the answers.

import { GuardError } from '../../core/errors.ts';
import { normalEmail } from '../../core/text/email.ts';
import type { ApprovalRecord } from '../../store/approvals.ts';
import type { Transaction } from '../../store/engine/db.ts';
import type { ListedOperator } from '../../store/operators.ts';
import type { Deps } from '../deps.ts';
import { claimsFault } from '../people/claims-age.ts';
import { roleFault, type SignedIn } from '../people/sign-ins.ts';

/** An operator, or the admin token, which is nobody in particular and in no group. */
export type Answerer = Pick<SignedIn, 'operatorId' | 'email' | 'role' | 'groups'> | 'admin';

type Asked = Pick<ApprovalRecord, 'approverGroup' | 'personEmail'>;

/** Why somebody may not answer; null if they may. */
export function answerFault(asked: Asked, who: Answerer): GuardError | null {
  const { approverGroup } = asked;
  if (who !== 'admin') {
    if (isOwnCall(asked, who)) return ownCall();
    const fault = roleFault(who, 'approver');
    if (fault !== null) return fault;
  }
  if (approverGroup === null) return null;
  const isMember = who !== 'admin' && who.groups.includes(approverGroup);
  return isMember ? null : notAnApprover(approverGroup);
}

/** The same about an operator as they are stored now, inside the transaction that relies on it. */
export async function storedFault(
  tx: Transaction,
  deps: Deps,
  asked: Asked,
  operator: ListedOperator,
): Promise<GuardError | null> {
  const fault = answerFault(asked, { ...operator, operatorId: operator.id });
  return fault ?? claimsFault(tx, deps, operator.id, asked.approverGroup !== null);
}

/** Whether the call was made in this person's name. */
export function isOwnCall(
  { personEmail }: Pick<Asked, 'personEmail'>,
  { email }: { email: string },
): boolean {
  return personEmail !== null && normalEmail(personEmail) === normalEmail(email);
}

export function mayAnswer(asked: Asked, who: Answerer): boolean {
  return answerFault(asked, who) === null;
}

function ownCall(): GuardError {
  return new GuardError('own_call', 'This call was made in your own name, so somebody else has to answer.');
}

function notAnApprover(group: string): GuardError {
  return new GuardError('not_an_approver', `Only operators of the group "${group}" may answer this.`);
}
