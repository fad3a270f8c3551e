// toolgate demo on both engines: what is in the store afterwards is what a service serves; and what it refuses.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../../src/cli/program.ts';
import { signIn } from '../operators/people.ts';
import { until } from '../support/faults.ts';
import { sharedPostgres } from '../support/postgres.ts';
import { type Engine, startService, type TestService } from '../support/service.ts';
import { enginesWhenChanged } from '../support/when-changed.ts';
import { type Captured, captured } from './captured.ts';

for (const engine of await enginesWhenChanged('src/store/**', 'src/demo/**'))
  describe(engine, () => suite(engine));

function suite(engine: Engine): void {
  const dataDir = mkdtempSync(join(tmpdir(), 'toolgate-demo-'));
  let env: Record<string, string>;
  let first: Captured;
  let service: TestService;
  beforeAll(async () => {
    const databaseUrl =
      engine === 'sqlite'
        ? `sqlite:${join(dataDir, 'toolgate.db')}`
        : await (await sharedPostgres())?.createDatabase();
    env = {
      TOOLGATE_DATA_DIR: dataDir,
      TOOLGATE_DATABASE_URL: databaseUrl ?? '',
      TOOLGATE_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
    };
    // A store that a service has opened once is fresh all the same.
    if (engine === 'postgres') {
      await (await startService({ databaseUrl: databaseUrl ?? '', dataDir })).kill('SIGTERM');
    }
    first = captured(dataDir, env);
    await run(['demo', '--json'], first);
    service = await startService({ databaseUrl: databaseUrl ?? '', dataDir });
  });
  afterAll(async () => {
    await service.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  const get = async (path: string) => (await service.admin('GET', path)).body;

  test('tells what it made, and progress on standard error only', async () => {
    const made = JSON.parse(first.out);
    expect(first.code).toBeNull();
    expect(first.err).toContain('Writing a week of calls');
    expect(made.verdicts).toBeGreaterThan(2000);
    const { totals, pendingApprovals, deliveries } = await get('/stats?window=8d');
    expect(totals.allow + totals.deny + totals.pending).toBe(made.verdicts);
    expect(pendingApprovals).toBe(made.waiting);
    expect(deliveries.pending).toBe(0);
    expect(deliveries.failed).toBeGreaterThan(0);
    expect(deliveries.delivered).toBeGreaterThan(deliveries.failed);
  });

  test('every answer is a change that names the tool, by a link too', async () => {
    const { changes } = await get('/changes?limit=1000');
    const answers = changes.filter(({ action }: { action: string }) => action.startsWith('approval.'));
    expect(new Set(answers.map(({ detail }: { detail: { tool?: string } }) => typeof detail.tool))).toEqual(
      new Set(['string']),
    );
    expect(answers.some(({ actor }: { actor: string }) => actor === 'link')).toBe(true);
  });

  test('approvals ended in every way, and some wait', async () => {
    const { approvals } = await get('/approvals?limit=1000');
    const states = new Set(approvals.map((each: { status: string }) => each.status));
    expect([...states].sort()).toEqual(['approved', 'denied', 'pending', 'timed_out']);
    const late = approvals.filter(
      (each: { resolvedAt: string; expiresAt: string }) => each.resolvedAt > each.expiresAt,
    );
    expect(late).toEqual([]);
    const denied = approvals.filter((each: { status: string }) => each.status === 'denied');
    expect(new Set(denied.map((each: { note: string | null }) => each.note)).size).toBeGreaterThan(2);
    const shared = approvals.find((each: { approverGroup: string | null }) => each.approverGroup !== null);
    expect(shared).toMatchObject({
      status: 'pending',
      approverGroup: 'production',
      votes: { needed: 2, approved: [{ by: 'operator:on-call@example.com' }] },
    });
  });

  test('approvers see what the calls that wait would do, also after another start', async () => {
    const { approvals } = await get('/approvals?status=pending&limit=100');
    const pages = [];
    for (const { referenceId } of approvals) pages.push(await get(`/approvals/${referenceId}`));
    expect([pages.length > 3, pages.filter(each => each.detailsGone)]).toEqual([true, []]);
    const refund = pages.find(each => each.toolName === 'refund');
    expect(refund.details.question).toBe('Refund 180 EUR to Ann Baker?');
  });

  test('policies have versions, keys have Connected Tools, and one tool has changed', async () => {
    const { policies } = await get('/policies');
    expect(policies.map((each: { name: string }) => each.name)).toContain('coding-agents');
    expect(Math.max(...policies.map((each: { version: number }) => each.version))).toBe(3);
    const support = policies.find((each: { name: string }) => each.name === 'support-desk');
    expect(Object.keys((await get(`/policies/${support.id}`)).limits)).toEqual(['payments']);
    const allowed = (await get('/audit?tool=voucher&decision=allow')).entries[0];
    expect(allowed.reason).toBe('Rule 1 of policy "support-desk" allows payments__voucher.');
    const { keys } = await get('/keys');
    expect(keys.filter((each: { revokedAt: string | null }) => each.revokedAt !== null)).toHaveLength(1);
    const coding = keys.find((each: { name: string }) => each.name === 'coding agent');
    const { connectedTools } = await get(`/keys/${coding.id}/connected-tools`);
    const drifted = connectedTools.flatMap((each: { tools: { drifted: boolean; name: string }[] }) =>
      each.tools.filter(tool => tool.drifted).map(tool => tool.name),
    );
    expect(drifted).toEqual(['merge_pull_request']);
    const shared = (await get('/tool-servers')).toolServers;
    expect(shared.map((each: { name: string; keys: number }) => [each.name, each.keys])).toEqual([
      ['github', 2],
    ]);
    expect((await get(`/sessions?keyId=${coding.id}`)).sessions.length).toBeGreaterThan(0);
  });

  test('a key has a shadow, which differs in some of its calls', async () => {
    const { keys } = await get('/keys?limit=100');
    const [key] = keys.filter((each: { shadowPolicyId: string | null }) => each.shadowPolicyId !== null);
    expect(key.name).toBe('coding agent');
    const { calls, agreements, differences } = await get(`/keys/${key.id}/shadow`);
    expect(agreements).toBeGreaterThan(calls / 2);
    expect(calls - agreements).toBeGreaterThan(50);
    const tools = differences.map((each: Record<string, string>) => [
      each['toolName'],
      each['from'],
      each['to'],
    ]);
    expect(tools).toContainEqual(['write_file', 'allow', 'pending']);
    expect((await get('/audit?shadow=differs&limit=1')).entries).toHaveLength(1);
  });

  test('the sign-in that was shown works, in each role', async () => {
    const { signIn: shown } = JSON.parse(first.out);
    expect((await signIn(service, shown.email, shown.password)).body.role).toBe('admin');
    for (const { email, role } of shown.others) {
      expect((await signIn(service, email, shown.password)).body.role).toBe(role);
    }
  });

  test('the key of a new store is shown, and checked as any other', async () => {
    const { key } = JSON.parse(first.out);
    if (engine === 'postgres') return expect(key).toBeNull();
    expect((await service.check(key, 'github', 'get_issue')).body.decision).toBe('allow');
  });

  test('a store whose log is sealed is refused, however one insists', async () => {
    // The sealer rests nine times as long as it works: 10 s for the week, on PostgreSQL and a busy machine.
    const sealed = async () => (await get('/audit/checkpoints')).checkpoints.length > 0;
    await until('sealed', sealed, 60_000);
    await service.kill('SIGTERM');
    for (const args of [['demo'], ['demo', '--force']]) {
      const again = captured(dataDir, env);
      await run(args, again);
      expect(again.code).toBe(1);
      expect(again.err).toContain('sealed');
    }
  });
}

test('the command that it prints opens the store; a store in use is refused, unless one insists', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'toolgate-demo-'));
  const tried = async (...args: string[]) => {
    const io = captured(folder, { TOOLGATE_DATA_DIR: join(folder, 'week') });
    await run(['demo', ...args], io);
    return io;
  };
  const first = await tried();
  expect(first.code).toBeNull();
  expect(first.out).toContain(`: TOOLGATE_DATA_DIR='${join(folder, 'week')}' toolgate serve\n`);
  const again = await tried();
  expect(again.code).toBe(1);
  expect(again.err).toContain('This store is in use');
  const forced = await tried('--force');
  expect(forced.code).toBeNull();
  expect(forced.out).toContain('were there already');
  rmSync(folder, { recursive: true, force: true });
});
