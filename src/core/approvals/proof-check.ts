// Verifies the signed answers to an approval, offline, and says about each what is good and what is not. What was
// signed is computed again from the call, the answer and the nonce; proof-record.ts compares the rest of what the
// service says. No signature can say whose public key it is: for that, the reader compares fingerprints that they know
// from elsewhere.

import type { ApprovalProofs } from '../api/resources.ts';
import { normalEmail } from '../text/email.ts';
import { visible } from '../text/visible.ts';
import { type Assertion, type AssertionFacts, examine, fingerprintOf } from './assertion.ts';
import { bad, emailOf, type Finding, good, isSamePerson, person, recordFindings } from './proof-record.ts';

export interface CheckedProof {
  by: string;
  fingerprint: string;
  findings: Finding[];
}

export interface Checked {
  /** Whether nothing is wrong. Only the status says whether the call was approved. */
  good: boolean;
  status: ApprovalProofs['status'];
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
  const findings = recordFindings(given, referenceId);
  if (new Set(proofs.map(each => each.fingerprint)).size < proofs.length)
    findings.push(bad('One passkey has signed for several people.'));
  const all = [...findings, ...proofs.flatMap(each => each.findings)];
  return { good: all.every(each => each.good !== false), status: given.status, findings, proofs };
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
  if (proof.fingerprint !== fingerprint)
    findings.push(bad(`It is said to be of the key ${visible(proof.fingerprint)}, and it is not.`));
  if (action === 'approve' && !votes.approved.some(each => isSamePerson(each.by, by)))
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
  const same = known.filter(each => each.fingerprint === fingerprint);
  if (same.some(each => each.email === normalEmail(email)))
    return good(`The public key is one that you gave for ${shown}.`);
  return same.some(each => each.email === null)
    ? good('The public key is one that you gave, without saying whose it is.')
    : bad(`The public key is none of those that you gave for ${shown}.`);
}
