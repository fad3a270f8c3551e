// Answers that a passkey has to sign, with a software authenticator: what counts, everything that does not, and that what
// is kept convinces somebody who does not ask the service (core/approvals/proof-check.ts).

import { beforeEach, describe, expect, test } from 'bun:test';
import type { ApprovalProofs } from '../../../src/core/api/resources.ts';
import { fingerprintOf, statementText } from '../../../src/core/approvals/assertion.ts';
import { type Checked, checkProofs, type KnownKey } from '../../../src/core/approvals/proof-check.ts';
import { beginAnswer, resolveByLink, resolveByOperator } from '../../../src/guard/approvals/approvals.ts';
import type { Deps } from '../../../src/guard/deps.ts';
import { newId } from '../../../src/guard/ids.ts';
import { resetOperator } from '../../../src/guard/people/operators.ts';
import type { SignedChallenge } from '../../../src/guard/people/passkey-responses.ts';
import { beginAdding, finishAdding, removePasskey } from '../../../src/guard/people/passkeys.ts';
import { openSignIn, type SignedIn } from '../../../src/guard/people/sign-ins.ts';
import { mintToken } from '../../../src/guard/secrets.ts';
import { listProofs } from '../../../src/store/approval-proofs.ts';
import { approvalVotes } from '../../../src/store/approval-views.ts';
import { type ApprovalRecord, findApproval, insertApproval } from '../../../src/store/approvals.ts';
import { insertKey } from '../../../src/store/keys.ts';
import { insertOperator, type Role, updateOperatorGroups } from '../../../src/store/operators.ts';
import { removePasskeys } from '../../../src/store/passkeys.ts';
import { listVotes } from '../../../src/store/votes.ts';
import { approvalRecord, keyRecord, NOW, onEachEngine } from '../../store/stores.ts';
import { Authenticator, type Oddities } from '../../support/authenticator.ts';
import { depsAt } from '../deps.ts';

const RP = { id: 'gate.example', origin: 'https://gate.example' };
const MINUTE = 60_000;
const APPROVE = { action: 'approve' as const, grantMs: null };
const DENY = { action: 'deny' as const, grantMs: null };

interface Person extends SignedIn {
  passkey: Authenticator;
}

await onEachEngine(store => {
  let clock = NOW;
  let deps: Deps;
  let keyId: string;
  const people = {} as Record<'ann' | 'ben' | 'cy', Person>;

  async function person(name: string, role: Role = 'approver'): Promise<Person> {
    const operator = { id: newId(), email: `${name}-${newId()}@example.com`, role, createdAt: clock };
    const browser = { ip: '192.0.2.1', userAgent: 'test', replaces: null };
    const { operator: who } = await store.db.transaction({}, async tx => {
      await insertOperator(tx, operator, 'not a hash');
      return openSignIn(tx, deps, { ...operator, groups: [] }, browser);
    });
    await updateOperatorGroups(store.db, operator.id, ['finance']);
    const passkey = new Authenticator(RP.origin, { algorithm: name === 'ben' ? 'Ed25519' : 'ES256' });
    await addPasskey(who, passkey);
    return { ...who, groups: ['finance'], passkey };
  }
  async function addPasskey(who: SignedIn, passkey: Authenticator): Promise<void> {
    const response = passkey.make(await beginAdding(deps, who, RP));
    await finishAdding(deps, who, RP, { name: 'key', response });
  }

  beforeEach(async () => {
    clock = NOW;
    deps = depsAt(store.db, () => clock);
    for (const name of ['ann', 'ben', 'cy'] as const) people[name] = await person(name);
    const key = keyRecord();
    keyId = key.id;
    await store.db.transaction({}, tx => insertKey(tx, key, `hash of ${key.id}`));
  });

  async function asked(more: Partial<ApprovalRecord> = {}): Promise<{ id: string; token: string }> {
    const expiresAt = NOW + 60 * MINUTE;
    const approval = approvalRecord({ keyId, proof: 'passkey', argsDigest: newId(), expiresAt, ...more });
    const { token, hash } = mintToken('approval');
    await store.db.transaction({}, async tx => insertApproval(tx, approval, hash));
    return { id: approval.id, token };
  }

  const begin = (id: string, who: SignedIn, action: 'approve' | 'deny' = 'approve') =>
    beginAnswer(deps, who, id, { action, rp: RP });
  const signed = async (id: string, who: Person, odd: Oddities = {}) =>
    who.passkey.sign(await begin(id, who), odd);
  const give = (id: string, who: SignedIn, response: SignedChallenge) =>
    resolveByOperator(deps, who, id, { ...APPROVE, proof: { response, rp: RP } });
  const approve = async (id: string, who: Person) => give(id, who, await signed(id, who));
  const codeOf = (work: Promise<unknown>) => work.then(() => 'done').catch(error => error.code ?? error);
  const statusOf = async (id: string) => (await findApproval(store.db, id))?.status;

  /** What GET …/proofs shows. */
  async function shown(id: string): Promise<ApprovalProofs> {
    const approval = (await findApproval(store.db, id)) as ApprovalRecord;
    const iso = (at: number) => new Date(at).toISOString();
    return {
      referenceId: id,
      toolCallId: approval.toolCallId,
      serverName: approval.serverName,
      toolName: approval.toolName,
      askedAt: iso(approval.createdAt),
      argsDigest: approval.argsDigest,
      status: approval.status,
      resolvedAt: approval.resolvedAt === null ? null : iso(approval.resolvedAt),
      proof: approval.proof,
      votes: approvalVotes(approval, await listVotes(store.db, [id])),
      proofs: await Promise.all(
        (await listProofs(store.db, id)).map(async each => ({
          ...each,
          at: iso(each.at),
          fingerprint: await fingerprintOf(each.publicKey),
          response: JSON.parse(each.response),
        })),
      ),
    };
  }
  const wrong = ({ findings, proofs }: Checked) =>
    [...findings, ...proofs.flatMap(each => each.findings)]
      .filter(each => each.good === false)
      .map(each => each.text);
  const check = async (given: ApprovalProofs, known: KnownKey[] = []) =>
    wrong(await checkProofs(given, given.referenceId, known));

  test('an approval counts with a signature over this very answer, which is kept', async () => {
    const { id } = await asked();
    const { ann } = people;
    const options = await begin(id, ann);
    expect(options).toMatchObject({ rpId: RP.id, userVerification: 'required', timeout: 2 * MINUTE });
    expect(options.allowCredentials.map(each => each.id)).toEqual([ann.passkey.id]);
    const resolved = await give(id, ann, ann.passkey.sign(options));
    expect(resolved).toMatchObject({ status: 'approved', resolvedBy: `operator:${ann.email}` });
    const [kept] = await listProofs(store.db, id);
    expect(kept).toMatchObject({
      operatorId: ann.operatorId,
      by: `operator:${ann.email}`,
      action: 'approve',
    });
    const { argsDigest } = (await findApproval(store.db, id)) as ApprovalRecord;
    const text = statementText({ action: 'approve', referenceId: id, argsDigest, nonce: kept?.nonce ?? '' });
    expect(text).toBe(
      `{"action":"approve","argsDigest":"${argsDigest}","nonce":"${kept?.nonce}","referenceId":"${id}"}`,
    );
    expect(options.challenge).toBe(new Bun.CryptoHasher('sha256').update(text).digest('base64url'));
    // The kept proof outlives the passkey.
    await addPasskey(ann, new Authenticator(RP.origin));
    await removePasskey(deps, ann, ann.passkey.id);
    expect(await check(await shown(id))).toEqual([]);
  });

  test('of several people each signs for themselves, and two who sign at once both count', async () => {
    const { ann, ben, cy } = people;
    const { id } = await asked({ approverGroup: 'finance', votesNeeded: 2 });
    const both = await Promise.all([signed(id, ann), signed(id, ben)]);
    const answers = await Promise.all([give(id, ann, both[0]), give(id, ben, both[1])]);
    expect(answers.map(each => each.status).sort()).toEqual(['approved', 'pending']);
    expect(await listProofs(store.db, id)).toHaveLength(2);
    expect(await check(await shown(id))).toEqual([]);
    expect(await codeOf(begin(id, cy))).toBe('conflict');
  });

  test('one signature given twice at once counts once', async () => {
    const { id } = await asked({ votesNeeded: 2 });
    const response = await signed(id, people.ann);
    const codes = await Promise.all([1, 2, 3].map(() => codeOf(give(id, people.ann, response))));
    expect(codes.filter(each => each === 'done')).toHaveLength(1);
    expect(await listVotes(store.db, [id])).toHaveLength(1);
    expect(await statusOf(id)).toBe('pending');
  });

  describe('nothing else counts', () => {
    const REFUSED: [string, Oddities][] = [
      ['another origin', { origin: 'https://evil.example' }],
      ['another service', { rpId: 'evil.example' }],
      ['nobody verified', { userVerified: false }],
      ['nobody present', { userPresent: false }],
      ['a page in a frame of another site', { crossOrigin: true }],
      ['another ceremony', { type: 'webauthn.create' }],
      ['another challenge', { challenge: Buffer.alloc(32, 7).toString('base64url') }],
    ];
    test.each(REFUSED)('%s', async (_, odd) => {
      const { id } = await asked();
      expect(await codeOf(give(id, people.ann, await signed(id, people.ann, odd)))).toBe('proof_needed');
      expect([await statusOf(id), await listProofs(store.db, id)]).toEqual(['pending', []]);
    });

    test('a signature for another call, another answer, or by somebody else', async () => {
      const { ann, ben } = people;
      const [{ id }, other] = [await asked(), await asked()];
      await begin(id, ann);
      expect(await codeOf(give(id, ann, await signed(other.id, ann)))).toBe('proof_needed');
      // The nonce of this call, but for a denial.
      const denial = ann.passkey.sign(await begin(id, ann, 'deny'));
      expect(await codeOf(give(id, ann, denial))).toBe('proof_needed');
      const options = await begin(id, ann);
      expect(await codeOf(give(id, ann, ben.passkey.sign(options)))).toBe('proof_needed');
      expect(await codeOf(give(id, ann, ben.passkey.sign(options, { id: ann.passkey.id })))).toBe(
        'proof_needed',
      );
      expect(await codeOf(give(id, ben, ann.passkey.sign(options)))).toBe('proof_needed');
      const tampered = ann.passkey.sign(options);
      const signature = Buffer.from(tampered.response.signature, 'base64url');
      signature[signature.length - 1] = (signature.at(-1) ?? 0) ^ 1;
      tampered.response.signature = signature.toString('base64url');
      expect(await codeOf(give(id, ann, tampered))).toBe('proof_needed');
      expect(await statusOf(id)).toBe('pending');
    });

    test('an old signature, one whose challenge was replaced, and one of a removed passkey', async () => {
      const { ann } = people;
      const { id } = await asked();
      const early = await signed(id, ann);
      const late = await signed(id, ann);
      expect(await codeOf(give(id, ann, early))).toBe('proof_needed');
      clock += 2 * MINUTE;
      expect(await codeOf(give(id, ann, late))).toBe('proof_needed');
      const response = await signed(id, ann);
      await removePasskey(deps, ann, ann.passkey.id);
      expect(await codeOf(give(id, ann, response))).toBe('proof_needed');
      expect(await codeOf(begin(id, ann))).toBe('proof_needed');
      expect(await statusOf(id)).toBe('pending');
    });

    test('no signature at all: not by name, by link, by Slack, nor by the admin token', async () => {
      const { id, token } = await asked();
      const { ann } = people;
      await begin(id, ann);
      expect(await codeOf(resolveByOperator(deps, ann, id, APPROVE))).toBe('proof_needed');
      expect(await codeOf(resolveByOperator(deps, ann, id, { ...APPROVE, via: 'slack' }))).toBe(
        'proof_needed',
      );
      expect(await codeOf(resolveByOperator(deps, 'admin', id, APPROVE))).toBe('proof_needed');
      expect(await codeOf(resolveByLink(deps, token, APPROVE, ann))).toBe('proof_needed');
      expect(await codeOf(resolveByLink(deps, token, APPROVE))).toBe('sign_in_required');
      expect(await codeOf(beginAnswer(deps, 'admin', id, { action: 'approve', rp: RP }))).toBe(
        'proof_needed',
      );
      expect(await codeOf(beginAnswer(deps, ann, id, { action: 'approve', rp: null }))).toBe('proof_needed');
      expect(await statusOf(id)).toBe('pending');
    });

    test('a grant, and a signature where none is wanted', async () => {
      const { ann } = people;
      const { id } = await asked();
      const proof = { response: await signed(id, ann), rp: RP };
      const lasting = resolveByOperator(deps, ann, id, { ...APPROVE, grantMs: MINUTE, proof });
      expect(await codeOf(lasting)).toBe('invalid_input');
      const plain = await asked({ proof: null });
      expect(await codeOf(resolveByOperator(deps, ann, plain.id, { ...APPROVE, proof }))).toBe(
        'invalid_input',
      );
      expect(await codeOf(begin(plain.id, ann))).toBe('conflict');
      expect([await statusOf(id), await statusOf(plain.id)]).toEqual(['pending', 'pending']);
    });
  });

  test('a denial needs no signature, and one that is signed is kept', async () => {
    const { ann, ben } = people;
    const plain = await asked();
    expect((await resolveByOperator(deps, ann, plain.id, DENY)).status).toBe('denied');
    const token = await asked();
    expect((await resolveByOperator(deps, 'admin', token.id, DENY)).status).toBe('denied');
    const { id } = await asked({ votesNeeded: 2 });
    await approve(id, ben);
    clock++;
    const response = ann.passkey.sign(await begin(id, ann, 'deny'));
    await resolveByOperator(deps, ann, id, { ...DENY, proof: { response, rp: RP } });
    expect((await listProofs(store.db, id)).map(each => each.action)).toEqual(['approve', 'deny']);
    expect(await check(await shown(id))).toEqual([]);
  });

  test('a vote that no longer counts goes with its signature', async () => {
    const { ann, ben, cy } = people;
    const { id } = await asked({ approverGroup: 'finance', votesNeeded: 2 });
    await approve(id, ann);
    await updateOperatorGroups(store.db, ann.operatorId, []);
    expect((await approve(id, ben)).status).toBe('pending');
    expect((await approve(id, cy)).status).toBe('approved');
    const by = (await listProofs(store.db, id)).map(each => each.operatorId);
    expect(by.sort()).toEqual([ben.operatorId, cy.operatorId].sort());
    expect(await check(await shown(id))).toEqual([]);
  });

  test('a signature counts only while its passkey is there, until the question is answered', async () => {
    const { ann, ben, cy } = people;
    const removals: [string, (who: Person) => Promise<unknown>][] = [
      ['reset', who => resetOperator(deps, 'admin', who.operatorId)],
      ['reset by an older version', who => removePasskeys(store.db, who.operatorId)],
      ['removed', who => removePasskey(deps, who, who.passkey.id)],
    ];
    for (const [how, remove] of removals) {
      const dan = await person('dan');
      const before = await asked({ votesNeeded: 2 });
      for (const who of [dan, ann]) await approve(before.id, who);
      const { id } = await asked({ votesNeeded: 2 });
      await approve(id, dan);
      const begun = await signed(id, ben);
      await remove(dan);
      // What somebody else has begun to sign counts.
      expect([how, (await give(id, ben, begun)).status]).toEqual([how, 'pending']);
      expect([how, (await approve(id, cy)).status]).toEqual([how, 'approved']);
      expect(await check(await shown(id))).toEqual([]);
      expect([await statusOf(before.id), await check(await shown(before.id))]).toEqual(['approved', []]);
    }
  });

  test('whoever verifies offline finds out what was changed', async () => {
    const { ann, ben } = people;
    const { id } = await asked({ votesNeeded: 2 });
    const other = await asked();
    await approve(id, ann);
    await approve(id, ben);
    await approve(other.id, ann);
    const [good, elsewhere] = [await shown(id), await shown(other.id)];
    const { proofs } = await checkProofs(good, id, []);
    const fingerprints = proofs.map(each => each.fingerprint);
    const known = [ann, ben].map(({ email }, at) => ({ email, fingerprint: fingerprints[at] ?? '' }));
    expect(await check(good, known)).toEqual([]);
    expect(
      await check(
        good,
        known.map(each => ({ ...each, email: null })),
      ),
    ).toEqual([]);
    const changed = (more: Partial<ApprovalProofs['proofs'][number]>): ApprovalProofs => ({
      ...good,
      proofs: good.proofs.map((each, at) => (at === 0 ? { ...each, ...more } : each)),
    });
    const [first, second] = good.proofs as [
      ApprovalProofs['proofs'][number],
      ApprovalProofs['proofs'][number],
    ];
    const part = (more: Partial<typeof first.response.response>) =>
      changed({ response: { ...first.response, response: { ...first.response.response, ...more } } });
    const shouted = (proof: typeof first, { by, operatorId }: typeof first) => ({
      ...proof,
      operatorId,
      by: by.replace(/(?<=:).*/, email => email.toUpperCase()),
    });
    const WRONG: [string, ApprovalProofs, RegExp][] = [
      ['a changed signature', part({ signature: second.response.response.signature }), /not valid/],
      ['no signature', part({ signature: '' }), /not valid/],
      ['no client data', part({ clientDataJSON: '' }), /something else/],
      ['another call’s', changed({ response: elsewhere.proofs[0]?.response as never }), /something else/],
      ['another nonce', changed({ nonce: second.nonce }), /something else/],
      ['another answer', changed({ action: 'deny' }), /something else/],
      ['other arguments', { ...good, argsDigest: elsewhere.argsDigest }, /something else/],
      ['another person’s key', changed({ publicKey: second.publicKey }), /somebody else’s passkey/],
      ['another person’s answer', changed({ response: second.response }), /somebody else’s passkey/],
      ['a key that is none', changed({ publicKey: 'AAAA' }), /can read/],
      ['another passkey’s name', changed({ credentialId: second.credentialId }), /another passkey/],
      ['another page', changed({ origin: 'https://evil.example' }), /not made on a page/],
      ['another name', changed({ rpId: 'evil.example' }), /not made on a page/],
      ['somebody who did not vote', changed({ by: 'operator:eve@example.com' }), /none of those whose/],
      ['a vote without a signature', { ...good, proofs: [first] }, /only 1 signed/],
      ['one signature for two', { ...good, proofs: [first, { ...first, by: second.by }] }, /several people/],
    ];
    // Somebody who writes the record themselves may write a place that is none.
    const { challenge } = JSON.parse(
      Buffer.from(first.response.response.clientDataJSON, 'base64url').toString(),
    );
    for (const place of [
      { rpId: '', origin: 'https://evil.example' },
      { rpId: RP.id, origin: 'no page' },
    ]) {
      const response = ann.passkey.sign({ challenge, rpId: place.rpId }, place);
      WRONG.push(['a place that is none', changed({ ...place, response }), /not made on a page/]);
    }
    const votes = (needed: number, approved = good.votes.approved) => ({
      ...good,
      votes: { needed, approved },
    });
    WRONG.push(
      ['nobody needed, and nobody signed', { ...votes(0, []), proofs: [] }, /0 people/],
      ['nobody needed', votes(0), /0 people/],
      ['half a person needed', votes(0.5), /0.5 people/],
      ['more needed', votes(3), /only 2 signed/],
      ['fewer votes than needed', votes(2, good.votes.approved.slice(0, 1)), /fewer have approved/],
      ['one who signed twice', { ...good, proofs: [first, { ...second, by: first.by }] }, /only 1 signed/],
      ['one in two cases', { ...good, proofs: [first, shouted(second, first)] }, /only 1 signed/],
      ['one with two names', changed({ operatorId: second.operatorId }), /are one operator/],
      ['another fingerprint', changed({ fingerprint: second.fingerprint }), /and it is not/],
      ['an end that was not', { ...good, resolvedAt: null }, /nobody has ended it/],
      ['no end that was', { ...good, status: 'pending' }, /it has ended/],
      ['a question that is over', { ...good, status: 'pending', resolvedAt: null }, /as many have approved/],
      ['an approval in spite of a denial', changed({ action: 'deny' }), /one denial ends/],
    );
    for (const [what, given, found] of WRONG) {
      const texts = await check(given);
      expect([what, texts.some(text => found.test(text))]).toEqual([what, true]);
    }
    expect(wrong(await checkProofs(good, other.id, []))[0]).toContain('not about');
    const swapped = {
      ...good,
      proofs: [
        { ...first, by: second.by },
        { ...second, by: first.by },
      ],
    };
    expect(await check(swapped)).toEqual([]);
    expect(await check(swapped, known)).toHaveLength(2);
    expect(await check(good, [{ email: null, fingerprint: fingerprints[0] ?? '' }])).toHaveLength(1);
    expect(await check(await shown((await asked({ proof: null })).id))).toEqual([
      'This approval needed no passkey, so nobody has signed it.',
    ]);
  });
});
