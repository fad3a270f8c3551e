// Approvals that a passkey has to sign, over HTTP and on the command line. test/guard/approvals/proofs.test.ts has every
// way in which a signature can be wrong.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../../src/cli/program.ts';
import type { ApprovalProofs } from '../../src/core/api/resources.ts';
import type { Rule } from '../../src/core/policy/policy.ts';
import { captured } from '../cli/captured.ts';
import { expectProblem } from '../http/problem.ts';
import { newPerson } from '../operators/people.ts';
import { until } from '../support/faults.ts';
import { Receiver } from '../support/receiver.ts';
import { ADMIN_TOKEN, engines } from '../support/service.ts';
import { type Gate, openGate } from './gate.ts';
import { begin, newSigner, ORIGIN, resolve, type Signer, signed } from './signers.ts';

const ASK: Rule = { tool: '*', action: 'require_approval', show: 'all' };
const SIGNED: Rule = { ...ASK, approvers: { proof: 'passkey' } };
const FORM = { 'Content-Type': 'application/x-www-form-urlencoded', Accept: 'text/html' };
const ARGS = { args: { amount: 700 } };

let gate: Gate;
let key: string;
let ann: Signer;
let ben: Signer;
let events: Receiver;
const folder = mkdtempSync(join(tmpdir(), 'toolgate-proofs-'));

beforeAll(async () => {
  const [engine = 'sqlite'] = (await engines()).slice(-1);
  [gate, events] = await Promise.all([
    openGate({ engine, env: { TOOLGATE_PUBLIC_URL: ORIGIN } }),
    Receiver.start(),
  ]);
  await gate.service.admin('POST', '/webhooks', { url: events.url });
  key = await gate.key([{ ...SIGNED, approvers: { count: 2, proof: 'passkey' }, tool: 'refund' }, SIGNED]);
  [ann, ben] = [await newSigner(gate.service), await newSigner(gate.service)];
});
afterAll(async () => {
  await gate?.close();
  await events?.close();
  rmSync(folder, { recursive: true, force: true });
});

const approve = async (referenceId: string, who: Signer) =>
  resolve(gate.service, referenceId, who, {
    action: 'approve',
    proof: await signed(gate.service, referenceId, who),
  });
const proofsOf = async (referenceId: string): Promise<ApprovalProofs> =>
  (await gate.service.admin('GET', `/approvals/${referenceId}/proofs`)).body;

async function toolgate(...args: string[]) {
  const io = captured(folder, { TOOLGATE_BASE_URL: gate.service.url, TOOLGATE_ADMIN_TOKEN: ADMIN_TOKEN });
  await run(args, io);
  return { code: io.code ?? 0, out: io.out, err: io.err };
}

test('the list says that a passkey is needed, events do not, and only a signature frees the call', async () => {
  const { referenceId, token } = await gate.ask(key, 'deploy', ARGS);
  const listed = (await gate.service.admin('GET', '/approvals?limit=1')).body.approvals[0];
  expect(listed).toMatchObject({ referenceId, proof: 'passkey', approverGroup: null });
  const spend = async () => (await gate.service.check(key, 'prod', 'deploy', { ...ARGS, referenceId })).body;
  for (const reply of [
    await gate.service.admin('POST', `/approvals/${referenceId}/resolve`, { action: 'approve' }),
    await resolve(gate.service, referenceId, ann, { action: 'approve' }),
    await gate.answer(token, { action: 'approve' }, { Cookie: ann.cookie }),
    await begin(gate.service, referenceId, { ...(await newPerson(gate.service, 'approver')) }),
  ])
    expectProblem(reply, 403, 'proof_needed');
  const stranger = await gate.answer(token, { action: 'approve' });
  expect([stranger.status, stranger.body.code]).toEqual([401, 'sign_in_required']);
  const lasting = { action: 'approve', duration: '1h', proof: await signed(gate.service, referenceId, ann) };
  expectProblem(await resolve(gate.service, referenceId, ann, lasting), 400, 'invalid_input');
  expect((await spend()).decision).toBe('pending');
  const approved = await approve(referenceId, ann);
  expect(approved.body).toMatchObject({ status: 'approved', proof: 'passkey' });
  expect((await spend()).decision).toBe('allow');
  const told = () =>
    events.arrivals.find(
      ({ json }) => json?.type === 'approval.resolved' && json.data.referenceId === referenceId,
    );
  await until('the event', () => told() !== undefined);
  expect(Object.keys(told()?.json.data)).not.toContain('proof');
});

test('the page behind the link takes a signature in its form, and says what it needs without one', async () => {
  const { referenceId, token } = await gate.ask(key, 'refund', ARGS);
  const opened = await gate.open(token, '?action=approve', { headers: { Cookie: ann.cookie } });
  expect(opened.text).toContain('Approve with passkey');
  expect(opened.headers.get('content-security-policy')).toContain("connect-src 'self'");
  const headers = { Cookie: ann.cookie, ...FORM };
  const bare = await gate.answer(token, 'action=approve&proof=', headers);
  expect([bare.status, bare.text]).toEqual([
    403,
    expect.stringContaining('<h1>This needs your passkey</h1>'),
  ]);
  expect((await gate.answer(token, 'action=approve&proof=%7B', headers)).status).toBe(400);
  const proof = JSON.stringify(await signed(gate.service, referenceId, ann));
  const voted = await gate.answer(token, `action=approve&proof=${encodeURIComponent(proof)}`, headers);
  expect([voted.status, voted.text]).toEqual([200, expect.stringContaining('Your approval is counted')]);
  const nobody = await newPerson(gate.service, 'approver');
  const missing = await gate.open(token, '', { headers: { Cookie: nobody.cookie } });
  expect(missing.text).toContain('you have none');
  expect(missing.text).not.toContain('value="approve"');
  expect((await gate.answer(token, 'action=deny', { Cookie: nobody.cookie, ...FORM })).text).toContain(
    '<h1>Denied</h1>',
  );
});

test('what a replica without proofs would answer frees nothing, nor what was approved or granted before', async () => {
  const name = `policy ${crypto.randomUUID()}`;
  const policy = (await gate.service.admin('POST', '/policies', { name, rules: [ASK] })).body;
  const made = (await gate.service.admin('POST', '/keys', { name: 'k', policyId: policy.id })).body;
  const spend = async (referenceId?: string) =>
    (await gate.service.check(made.key, 'prod', 'x', { ...ARGS, ...(referenceId && { referenceId }) })).body;
  const before = await spend();
  const granted = await spend();
  const by = (referenceId: string, more = {}) =>
    gate.service.admin('POST', `/approvals/${referenceId}/resolve`, { action: 'approve', ...more });
  await by(before.referenceId);
  await by(granted.referenceId, { duration: '1h' });
  expect((await spend()).decision).toBe('allow');
  await gate.service.admin('PUT', `/policies/${policy.id}`, { name, rules: [SIGNED] });
  expect((await spend(before.referenceId)).decision).toBe('pending');
  const { referenceId, decision } = await spend();
  expect(decision).toBe('pending');
  await gate.rows(
    `UPDATE approvals SET status = 'approved', resolved_at = ${Date.now()}, resolved_by = 'admin' WHERE id = '${referenceId}'`,
  );
  await gate.rows(
    `INSERT INTO approval_votes (approval_id, operator_id, voted_by, at) VALUES ('${referenceId}', 'x', 'operator:x', 0)`,
  );
  expect((await spend(referenceId)).decision).toBe('pending');
  // A grant that such a replica opened under the new rule.
  await gate.rows(
    `UPDATE grants SET rule_digest = (SELECT rule_digest FROM approvals WHERE id = '${referenceId}') WHERE reference_id = '${granted.referenceId}'`,
  );
  expect((await spend()).decision).toBe('pending');
});

test('toolgate approvals verify: from the service, from a file, with known keys, and tampered with', async () => {
  const [{ referenceId }, other] = [await gate.ask(key, 'refund', ARGS), await gate.ask(key, 'deploy')];
  const unsigned = await toolgate('approvals', 'approve', referenceId);
  expect(unsigned.code).toBe(1);
  expect(unsigned.err).toContain('has to be approved with a passkey');
  expect(unsigned.err).toContain(`/dashboard/approvals/${referenceId}`);
  expect((await toolgate('approvals', 'list')).out).toContain('0/2 (passkey)');
  const verified = async (id: string) => {
    const { code, err } = await toolgate('approvals', 'verify', id);
    return [code, err];
  };
  const waiting = 'but the call is not approved: it is pending.\n';
  expect(await verified(referenceId)).toEqual([2, `Nobody has signed an answer, ${waiting}`]);
  await approve(referenceId, ann);
  expect(await verified(referenceId)).toEqual([2, `All signatures are good, ${waiting}`]);
  await approve(referenceId, ben);
  await approve(other.referenceId, ben);
  const refused = await gate.ask(key, 'deploy', ARGS);
  await toolgate('approvals', 'deny', refused.referenceId);
  expect(await verified(refused.referenceId)).toEqual([
    1,
    'Nobody has signed an answer, but the call is not approved: it is denied.\n',
  ]);
  const good = await toolgate('approvals', 'verify', referenceId, '--save', 'proofs.json');
  expect([good.code, good.err]).toEqual([0, 'All signatures are good.\n']);
  expect(good.out).toContain('prod__refund, asked ');
  expect(good.out).toContain(`${ann.email}, `);
  expect(good.out).toContain('Not checked: whose key this is.');
  const shown = await proofsOf(referenceId);
  const saved = JSON.parse(readFileSync(join(folder, 'proofs.json'), 'utf8'));
  expect(saved).toEqual(shown);
  const [first, second] = shown.proofs as [
    ApprovalProofs['proofs'][number],
    ApprovalProofs['proofs'][number],
  ];
  const known = [`${ann.email}=${first.fingerprint}`, `${ben.email.toUpperCase()}=${second.publicKey}`];
  const file = ['approvals', 'verify', referenceId, '--file'];
  const pinned = await toolgate(...file, 'proofs.json', '--key', ...known);
  expect([pinned.code, pinned.out.includes('Not checked')]).toEqual([0, false]);
  const crossed = [`${ann.email}=${second.fingerprint}`, `${ben.email}=${first.fingerprint}`];
  const swapped = await toolgate(...file, 'proofs.json', '--key', ...crossed);
  expect([swapped.code, swapped.out.match(/^ {2}bad {3}/gm)?.length]).toEqual([1, 2]);
  const changed = async (more: object) => {
    writeFileSync(join(folder, 'changed.json'), JSON.stringify({ ...shown, ...more }));
    return toolgate(...file, 'changed.json');
  };
  const elsewhere = (await proofsOf(other.referenceId)).proofs[0];
  for (const [what, more, named] of [
    [
      'another call’s',
      { proofs: [first, { ...second, response: elsewhere?.response }] },
      'signed for something',
    ],
    ['another person’s', { proofs: [first, { ...second, publicKey: first.publicKey }] }, 'somebody else’s'],
    ['too few', { proofs: [first] }, 'only 1 signed'],
    ['one person’s two', { proofs: [first, { ...second, by: first.by }] }, 'only 1 signed'],
    ['none, of nobody', { proofs: [], votes: { needed: 0, approved: [] } }, '0 people had to approve'],
  ] as const) {
    const { code, out, err } = await changed(more);
    expect([what, code, out.includes(named), err]).toEqual([
      what,
      1,
      true,
      'Something is wrong: see the lines that begin with "bad".\n',
    ]);
  }
  const json = JSON.parse((await toolgate(...file, 'proofs.json', '--json')).out);
  expect(json).toMatchObject({
    good: true,
    status: 'approved',
    proofs: [{ by: `operator:${ann.email}` }, {}],
  });
  for (const broken of [
    { proofs: [{}] },
    { votes: null },
    { referenceId: 5 },
    { proof: 'x' },
    { status: 'done' },
  ])
    expect((await changed(broken)).code).toBe(3);
  expect((await toolgate(...file, 'proofs.json', '--key', 'nonsense')).code).toBe(64);
  expect((await toolgate('approvals', 'verify', referenceId, '--save', 'no/such/folder')).code).toBe(3);
});
