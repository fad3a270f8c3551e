// Sends answers: one, or several together, each as a request of its own.

import { get, post, Refusal } from '../../../api.ts';
import { type Options, passkeyFault, signWithPasskey } from '../../../passkeys.ts';
import type { Approval, ListedApproval } from '../../../resources.ts';

export interface Answer {
  action: 'approve' | 'deny';
  note?: string;
  duration?: string;
  only?: 'session';
  /** The grant frees only calls with the same values at these paths. */
  same?: readonly string[];
  /** What stands for that which the person was shown. */
  seen?: string;
}

/** A note is one line. */
export function withNote(answer: Answer, written: string): Answer {
  const note = written.replace(/\s+/g, ' ').trim();
  return note === '' ? answer : { ...answer, note };
}

export const toolOf = ({ serverName, toolName }: Approval): string => `${serverName}__${toolName}`;

/** Whether the person's passkey has to sign this answer. */
export const needsPasskey = ({ proof }: Approval, action: Answer['action']): boolean =>
  proof === 'passkey' && action === 'approve';

/** The page on which all of it is shown, and from which it can be approved. */
export const pageOf = ({ referenceId }: Approval): string => `/dashboard/approvals/${referenceId}`;

/** Lets the person's passkey sign the approval. The challenge is for this call, this answer and this person. */
async function signed({ referenceId }: Approval): Promise<unknown> {
  const fault = passkeyFault(location.origin);
  if (fault !== null) throw new Error(fault);
  const path = `/approvals/${referenceId}/proof`;
  const { options } = await post<{ options: Options }>(path, { action: 'approve' });
  return signWithPasskey(options);
}

/**
 * Returns the approval as it is now, and the refusal if somebody else was faster. It asks the person for their passkey
 * where one is needed.
 */
export async function send(
  asked: Approval,
  answer: Answer,
): Promise<{ approval: ListedApproval; late: Refusal | null }> {
  const { referenceId } = asked;
  try {
    const proof = needsPasskey(asked, answer.action) ? { proof: await signed(asked) } : {};
    return { approval: await post(`/approvals/${referenceId}/resolve`, { ...answer, ...proof }), late: null };
  } catch (error) {
    if (!(error instanceof Refusal) || error.status !== 409) throw error;
    const approval = await get<ListedApproval>(`/approvals/${referenceId}`);
    // The approval still waits, so the refusal is about this answer: the person has voted before.
    if (approval.status === 'pending') throw error;
    return { approval, late: error };
  }
}

const AT_ONCE = 4;

/** Answers each of them; `onAnswered` is called after each, with the error of the one that failed. */
export async function sendAll(
  approvals: readonly Approval[],
  answer: Answer,
  onAnswered: (asked: Approval, is: ListedApproval | null, error: Error | null) => void,
): Promise<void> {
  const waiting = [...approvals];
  const next = async (): Promise<void> => {
    const asked = waiting.shift();
    if (asked === undefined) return;
    try {
      const seen = answer.action === 'approve' ? asked.details?.digest : undefined;
      const { approval, late } = await send(asked, { ...answer, ...(seen !== undefined && { seen }) });
      onAnswered(asked, approval, late);
    } catch (error) {
      onAnswered(asked, null, error as Error);
    }
    await next();
  };
  await Promise.all(Array.from({ length: AT_ONCE }, next));
}
