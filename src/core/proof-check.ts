// Verifies the signed answers to an approval, offline, and says about each what is good and what is not. Nothing that the
// service says is believed: what was signed is computed again from the call, the answer and the nonce. Whose public key it
// is, no signature can say: for that, the reader compares fingerprints that they know from elsewhere.

import { type Assertion, type AssertionFacts, examine, fingerprintOf } from './assertion.ts';
import { normalEmail } from './email.ts';
import type { ApprovalProofs } from './resources.ts';
import { visible } from './visible.ts';

export interface Finding {
  /** Null: it was not checked. */
  good: boolean | null;
  text: string;
}

export interface CheckedProof {
  by: string;
  fingerprint: string;
  findings: Finding[];
}

export interface Checked {
  /** Whether nothing is wrong. */
  good: boolean;
  /** About the approval as a whole. */
  findings: Finding[];
  proofs: CheckedProof[];
}

/** A public key that the reader knows from elsewhere, by its fingerprint; of one person, if an e-mail address is given. */
export interface KnownKey {
  email: string | null;
  fingerprint: string;
}

type Proof = ApprovalProofs['proofs'][number];

export async function checkProofs(
  given: ApprovalProofs,
  referenceId: string,
  known: readonly KnownKey[],
): Promise<Checked> {
  const proofs = await Promise.all(given.proofs.map(proof => checkProof(given, proof, known)));
  const findings = wholeFindings(given, referenceId, proofs);
  const all = [...findings, ...proofs.flatMap(each => each.findings)];
  return { good: all.every(each => each.good !== false), findings, proofs };
}

function wholeFindings(
  { referenceId, proof, status, votes, proofs }: ApprovalProofs,
  wanted: string,
  checked: readonly CheckedProof[],
): Finding[] {
  const found: Finding[] = [];
  if (referenceId !== wanted)
    found.push(bad(`These proofs are about the approval ${visible(referenceId)}, not about ${wanted}.`));
  if (proof === null) found.push(bad('This approval needed no passkey, so nobody has signed it.'));
  const signed = proofs.filter(each => each.action === 'approve');
  if (status === 'approved' && proof !== null)
    found.push(
      signed.length >= votes.needed
        ? good(`${people(votes.needed)} had to approve, and ${signed.length} signed.`)
        : bad(`${people(votes.needed)} had to approve, but only ${signed.length} signed.`),
    );
  for (const { by } of votes.approved)
    if (proof !== null && !signed.some(each => each.by === by))
      found.push(bad(`${person(by)} approved, as the service says, but there is no signature of theirs.`));
  if (new Set(checked.map(each => each.fingerprint)).size < checked.length)
    found.push(bad('One passkey has signed for several people.'));
  return found;
}

async function checkProof(
  { referenceId, argsDigest, votes }: ApprovalProofs,
  proof: Proof,
  known: readonly KnownKey[],
): Promise<CheckedProof> {
  const { action, nonce, by } = proof;
  const fingerprint = await fingerprintOf(proof.publicKey);
  const assertion: Assertion = proof;
  const facts = await examine(assertion, { action, referenceId, argsDigest, nonce });
  const who = person(by);
  const findings = [
    signatureFinding(facts, fingerprint, who),
    facts.statement
      ? good(`It is for this call and this answer: ${action} ${referenceId}, arguments ${argsDigest}.`)
      : bad(
          'It was signed for something else: another call, other arguments, another answer or another nonce.',
        ),
    facts.place
      ? good(`It was made on a page of ${visible(proof.origin)}, with a passkey for ${visible(proof.rpId)}.`)
      : bad(
          `It was not made on a page of ${visible(proof.origin)} with a passkey for ${visible(proof.rpId)}.`,
        ),
    facts.person
      ? good('The authenticator verified the person, by PIN, fingerprint or face.')
      : bad('The authenticator did not verify the person.'),
    keyFinding(fingerprint, emailOf(by), known),
  ];
  if (!facts.credential)
    findings.push(bad(`It names another passkey than the one of ${who} that is given with it.`));
  if (action === 'approve' && !votes.approved.some(each => each.by === by))
    findings.push(bad(`${who} is none of those whose approval counted, as the service says.`));
  return { by, fingerprint, findings };
}

function signatureFinding({ signature }: AssertionFacts, fingerprint: string, who: string): Finding {
  if (signature === true) return good(`The signature is valid for the public key ${fingerprint}.`);
  return bad(
    signature === null
      ? 'The public key is none that this program can read.'
      : `The signature is not valid: what was signed has been changed, or somebody else’s passkey than that of ${who} has signed it.`,
  );
}

function keyFinding(fingerprint: string, email: string, known: readonly KnownKey[]): Finding {
  const shown = visible(email);
  if (known.length === 0)
    return {
      good: null,
      text: `Not checked: whose key this is. Compare it with the fingerprint on the account page of ${shown}, or give that with --key.`,
    };
  const fits = known.some(
    each => each.fingerprint === fingerprint && (each.email === null || each.email === normalEmail(email)),
  );
  return fits
    ? good(`The public key is one that you gave for ${shown}.`)
    : bad(`The public key is none of those that you gave for ${shown}.`);
}

const good = (text: string): Finding => ({ good: true, text });
const bad = (text: string): Finding => ({ good: false, text });
const people = (count: number): string => (count === 1 ? '1 person' : `${count} people`);
const emailOf = (by: string): string => by.replace(/^operator:/, '');
const person = (by: string): string => visible(emailOf(by));
