// Whether the record of a signed approval fits together: that its fields agree with each other, and that as many different
// people signed as had to. proof-check.ts verifies what each of them signed. Nothing here is signed: how many people were
// needed, and what became of the question, is what the service says.

import type { ApprovalProofs } from '../api/resources.ts';
import { normalEmail } from '../text/email.ts';
import { visible } from '../text/visible.ts';

export interface Finding {
  /** Null: it was not checked. */
  good: boolean | null;
  text: string;
}

export const good = (text: string): Finding => ({ good: true, text });
export const bad = (text: string): Finding => ({ good: false, text });
export const emailOf = (by: string): string => by.replace(/^operator:/, '');
export const person = (by: string): string => visible(emailOf(by));

/** The same person in whatever case the address is written. */
export const isSamePerson = (one: string, other: string): boolean =>
  normalEmail(emailOf(one)) === normalEmail(emailOf(other));

type Signed = Pick<ApprovalProofs['proofs'][number], 'by' | 'operatorId' | 'action'>;

export function recordFindings(given: ApprovalProofs, wanted: string): Finding[] {
  const { referenceId, proof, status, votes } = given;
  const found: Finding[] = [];
  if (referenceId !== wanted)
    found.push(bad(`These proofs are about the approval ${visible(referenceId)}, not about ${wanted}.`));
  if (proof === null) return [...found, bad('This approval needed no passkey, so nobody has signed it.')];
  const signed = given.proofs.filter(each => each.action === 'approve');
  found.push(...identityFindings(given.proofs), ...statusFindings(given, signed));
  for (const { by } of votes.approved)
    if (!signed.some(each => isSamePerson(each.by, by)))
      found.push(bad(`${person(by)} approved, as the service says, but there is no signature of theirs.`));
  if (!Number.isInteger(votes.needed) || votes.needed < 1)
    found.push(bad(`${votes.needed} people had to approve, as the service says. That cannot be.`));
  else if (status === 'approved') found.push(countFinding(votes.needed, signed));
  return found;
}

/** Somebody with several passkeys is one person, and so is somebody with several names. */
function identityFindings(proofs: readonly Signed[]): Finding[] {
  const found: Finding[] = [];
  proofs.forEach((one, index) => {
    for (const other of proofs.slice(index + 1)) {
      const [sameName, sameId] = [isSamePerson(one.by, other.by), one.operatorId === other.operatorId];
      if (sameName && sameId) found.push(bad(`${person(one.by)} has signed more than once.`));
      else if (sameId) found.push(bad(`${person(one.by)} and ${person(other.by)} are one operator.`));
      else if (sameName) found.push(bad(`${person(one.by)} stands for two operators.`));
    }
  });
  return found;
}

/** Those who signed count once each, by their name and by their id. */
function countFinding(needed: number, signed: readonly Signed[]): Finding {
  const names = new Set(signed.map(each => normalEmail(emailOf(each.by))));
  const count = Math.min(names.size, new Set(signed.map(each => each.operatorId)).size);
  const had = `${needed === 1 ? '1 person' : `${needed} people`} had to approve`;
  return count >= needed ? good(`${had}, and ${count} signed.`) : bad(`${had}, but only ${count} signed.`);
}

/** What became of the question, and by which answers. */
function statusFindings(given: ApprovalProofs, signed: readonly Signed[]): Finding[] {
  const { status, resolvedAt, votes, proofs } = given;
  const found: Finding[] = [];
  if ((status === 'pending') !== (resolvedAt === null))
    found.push(bad(`It is ${status}, but ${resolvedAt === null ? 'nobody has ended it' : 'it has ended'}.`));
  if (status !== 'denied' && signed.length < proofs.length)
    found.push(bad(`It is ${status}, but one denial ends a question, and somebody has signed one.`));
  if (status === 'pending' && votes.approved.length >= votes.needed)
    found.push(bad('It is pending, but as many have approved as had to.'));
  if (status === 'approved' && votes.approved.length < votes.needed)
    found.push(bad('It is approved, but fewer have approved than had to, as the service says.'));
  return found;
}
