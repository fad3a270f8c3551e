// A pending call from end to end: the client asks, the service sends the person's answer to the listener by webhook,
// and an approved call is freed exactly once.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import {
  ApprovalListener,
  ToolCallDenied,
  ToolCallPending,
  Toolgate,
} from '../../clients/typescript/src/index.ts';
import { until } from '../support/faults.ts';
import { startService, type TestService } from '../support/service.ts';
import { failure } from './rude.ts';

let service: TestService;
let gate: Toolgate;
let listener: ApprovalListener;
let receiver: Bun.Server<undefined>;

beforeAll(async () => {
  service = await startService();
  const { key, keyId } = await service.newKey([{ tool: 'deploy', action: 'require_approval' }]);
  gate = new Toolgate({ key, baseUrl: service.url });
  // The secret is known only once the address is registered.
  let handle = async (_: Request) => new Response(null, { status: 503 });
  receiver = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: request => handle(request) });
  const made = await service.admin('POST', '/webhooks', { url: `${receiver.url}hook`, keyId });
  listener = new ApprovalListener({ secret: made.body.secret });
  handle = listener.handle;
  const tried = await service.admin('POST', `/webhooks/${made.body.id}/test`);
  expect(tried.body.status).toBe(204);
});
afterAll(async () => {
  await receiver.stop(true);
  await service.close();
});

/** The open question about a call to this server; every test has a server of its own. */
async function question(server: string): Promise<string> {
  let referenceId = '';
  await until('the question is open', async () => {
    const { approvals } = (await service.admin('GET', '/approvals?status=pending')).body;
    const own = approvals.find((each: { serverName: string }) => each.serverName === server);
    referenceId = own?.referenceId ?? '';
    return own !== undefined;
  });
  return referenceId;
}

async function resolve(referenceId: string, action: 'approve' | 'deny', more: object = {}): Promise<void> {
  const reply = await service.admin('POST', `/approvals/${referenceId}/resolve`, { action, ...more });
  expect(reply.status).toBe(200);
}

test('is allowed once a person approves, exactly once', async () => {
  const waiting = gate.guardAndWait('once', 'deploy', { version: 1 }, { listener });
  const referenceId = await question('once');
  await resolve(referenceId, 'approve');
  const verdict = await waiting;
  expect(verdict).toMatchObject({ decision: 'allow', reason: expect.stringContaining(referenceId) });
  const { entries } = (await service.admin('GET', '/audit?limit=10')).body;
  expect(entries).toMatchObject([
    { id: verdict.toolCallId, decision: 'allow', referenceId },
    { decision: 'pending', referenceId },
  ]);
  const again = gate.guard('once', 'deploy', { version: 1 }, { referenceId });
  expect(await failure(again)).toBeInstanceOf(ToolCallPending);
});

test('is allowed by an approval for a while, too', async () => {
  const waiting = gate.guardAndWait('lasting', 'deploy', { version: 1 }, { listener });
  await resolve(await question('lasting'), 'approve', { duration: '5m' });
  expect((await waiting).decision).toBe('allow');
  expect((await gate.guardAndWait('lasting', 'deploy', { version: 2 }, { listener })).decision).toBe('allow');
});

test('throws when the person denies, with what was asked and answered', async () => {
  const waiting = failure(gate.guardAndWait('denied', 'deploy', {}, { listener }));
  const referenceId = await question('denied');
  await resolve(referenceId, 'deny');
  const error = await waiting;
  expect(error).toBeInstanceOf(ToolCallDenied);
  expect(error).toMatchObject({
    verdict: { decision: 'pending', referenceId },
    approval: { status: 'denied', resolvedBy: 'admin', note: null },
    note: null,
    message: 'The call was denied by admin.',
  });
});

test('says what the person wrote, whatever the answer was', async () => {
  const denied = failure(gate.guardAndWait('noted-no', 'deploy', {}, { listener }));
  await resolve(await question('noted-no'), 'deny', { note: 'Not on a Friday.' });
  expect(await denied).toMatchObject({
    name: 'ToolCallDenied',
    approval: { note: 'Not on a Friday.' },
    note: 'Not on a Friday.',
    message: 'The call was denied by admin. The approver\'s note says: "Not on a Friday."',
  });
  const approved = gate.guardAndWait('noted-yes', 'deploy', {}, { listener });
  await resolve(await question('noted-yes'), 'approve', { note: 'Watch the error rate.' });
  expect(await approved).toMatchObject({ decision: 'allow', note: 'Watch the error rate.' });
});

test('throws without waiting when the policy denies', async () => {
  const error = await failure(gate.guardAndWait('any', 'other', {}, { listener }));
  expect(error).toMatchObject({ name: 'ToolCallDenied', verdict: { decision: 'deny' }, approval: null });
});

test('stays pending when nobody answers in the time given', async () => {
  const waiting = gate.guardAndWait('slow', 'deploy', {}, { listener, timeoutMs: 50 });
  const error = await failure(waiting);
  expect(error).toBeInstanceOf(ToolCallPending);
  expect(error).toMatchObject({ verdict: { referenceId: await question('slow') }, note: null });
});

test('can be given up', async () => {
  const controller = new AbortController();
  const options = { listener, signal: controller.signal };
  const waiting = failure(gate.guardAndWait('aborted', 'deploy', {}, options));
  await question('aborted');
  controller.abort();
  expect((await waiting).code).toBe('aborted');
});

test('an outcome that came before anybody waited is there for all who ask', async () => {
  await gate.check('early', 'deploy');
  const referenceId = await question('early');
  await resolve(referenceId, 'approve');
  const first = await listener.outcome(referenceId, { timeoutMs: 20_000 });
  expect(first).toMatchObject({ status: 'approved', serverName: 'early', toolName: 'deploy' });
  expect(await listener.outcome(referenceId)).toBe(first);
});

test('arguments that change during the wait are not freed', async () => {
  const args = { version: 1 };
  const waiting = failure(gate.guardAndWait('changed', 'deploy', args, { listener }));
  const referenceId = await question('changed');
  args.version = 2;
  await resolve(referenceId, 'approve', { note: 'Version 1 is fine.' });
  const error = await waiting;
  expect(error).toBeInstanceOf(ToolCallPending);
  expect(error).toMatchObject({
    note: 'Version 1 is fine.',
    message: expect.stringContaining('The approver\'s note says: "Version 1 is fine."'),
  });
});

test('a wrapped function runs behind the approval, and only then', async () => {
  const ran: number[] = [];
  const run = async (call: { version: number }) => ran.push(call.version);
  const deploy = gate.guarded('wrapped', 'deploy', run, { listener });
  const running = deploy({ version: 1 });
  await resolve(await question('wrapped'), 'approve');
  expect(await running).toBe(1);
  const refused = failure(deploy({ version: 2 }));
  await resolve(await question('wrapped'), 'deny');
  expect(await refused).toBeInstanceOf(ToolCallDenied);
  expect(ran).toEqual([1]);
});
