// When a decision cannot be recorded there is none: 500 without a verdict while the audit log cannot be
// written, 503 past the bound of the queue, and recovery without a restart.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { sql } from '../support/faults.ts';
import { engines, startService, type TestService } from '../support/service.ts';
import { expectNoVerdict, expectProblem } from './problem.ts';

const RULES = [
  { tool: 'ask', action: 'require_approval' as const },
  { tool: 'no', action: 'deny' as const },
  { tool: '*', action: 'allow' as const },
];

for (const engine of await engines()) {
  describe(engine, () => {
    let service: TestService;
    let key: string;
    let keyId: string;
    beforeAll(async () => {
      service = await startService({ engine });
      ({ key, keyId } = await service.newKey(RULES));
    });
    afterAll(() => service.close());

    test('an audit log that cannot be written: 500, no verdict, nothing opened; then recovery', async () => {
      expect((await service.check(key, 's', 't')).status).toBe(200);
      await sql(service.databaseUrl, 'ALTER TABLE audit_entries RENAME TO audit_away');
      for (const tool of ['t', 'no', 'ask', 't']) {
        const reply = await service.check(key, 's', tool);
        expectProblem(reply, 500, 'audit_failed');
        expectNoVerdict(reply);
      }
      await sql(service.databaseUrl, 'ALTER TABLE audit_away RENAME TO audit_entries');
      expect((await service.check(key, 's', 't')).body.decision).toBe('allow');
      expect((await service.admin('GET', `/audit?keyId=${keyId}`)).body.entries).toHaveLength(2);
      expect((await service.admin('GET', '/approvals')).body.approvals).toEqual([]);
      expect((await service.check(key, 's', 'ask')).body.decision).toBe('pending');
    });

    test('a credential that cannot be looked up is answered as a decision that cannot be recorded', async () => {
      const { key: fresh } = await service.newKey([{ tool: '*', action: 'allow' }]);
      await sql(service.databaseUrl, 'ALTER TABLE keys RENAME TO keys_away');
      const replies = [await service.check(fresh, 's', 't'), await service.check(key, 's', 't')];
      await sql(service.databaseUrl, 'ALTER TABLE keys_away RENAME TO keys');
      for (const reply of replies) {
        expectProblem(reply, 500, 'audit_failed');
        expect(reply.body.detail).toBe(replies[1]?.body.detail);
      }
      expect((await service.check(fresh, 's', 't')).body.decision).toBe('allow');
    });

    test('an approval that cannot be written takes its audit entry with it', async () => {
      const before = (await service.admin('GET', `/audit?keyId=${keyId}`)).body.entries;
      await sql(service.databaseUrl, 'ALTER TABLE notifications RENAME TO notifications_away');
      const reply = await service.check(key, 's', 'ask');
      expectProblem(reply, 500, 'audit_failed');
      expectNoVerdict(reply);
      expect((await service.check(key, 's', 't')).status).toBe(200);
      await sql(service.databaseUrl, 'ALTER TABLE notifications_away RENAME TO notifications');
      expect((await service.admin('GET', `/audit?keyId=${keyId}`)).body.entries).toHaveLength(
        before.length + 1,
      );
    });

    test('what fails inside is never shown, and is logged under its request id', async () => {
      await sql(service.databaseUrl, 'ALTER TABLE policies RENAME TO policies_away');
      const reply = await service.admin('GET', '/policies');
      await sql(service.databaseUrl, 'ALTER TABLE policies_away RENAME TO policies');
      expectProblem(reply, 500, 'internal');
      expect(reply.text).not.toMatch(/policies|table|relation|sql/i);
      await until(() => service.output.includes(reply.body.requestId));
    });

    test('not ready with an older schema, ready beside a newer program; alive with any', async () => {
      const ready = async () => (await service.request('GET', '/readyz')).status;
      expect(await ready()).toBe(200);
      await sql(service.databaseUrl, "INSERT INTO migrations VALUES (999, 'future', 0)");
      expect(await ready()).toBe(200);
      await sql(service.databaseUrl, 'UPDATE migrations SET version = -version');
      expectProblem(await service.request('GET', '/readyz'), 503, 'not_ready');
      expect((await service.request('GET', '/healthz')).status).toBe(200);
      await sql(service.databaseUrl, 'UPDATE migrations SET version = -version');
      await sql(service.databaseUrl, 'DELETE FROM migrations WHERE version = 999');
      expect(await ready()).toBe(200);
    });
  });
}

describe.skipIf(!(await engines()).includes('postgres'))('a queue that is full', () => {
  test('answers 503 with Retry-After and no verdict, and the service recovers', async () => {
    const service = await startService({ engine: 'postgres', env: { TOOLGATE_QUEUE_LIMIT: '1' } });
    const { key, keyId } = await service.newKey(RULES);
    const sql = new Bun.SQL(service.databaseUrl, { max: 1 });
    const blocker = await sql.reserve();
    await blocker`BEGIN`;
    await blocker`LOCK TABLE audit_entries IN ACCESS EXCLUSIVE MODE`;

    const replies = await Promise.all(Array.from({ length: 12 }, () => service.check(key, 's', 't')));
    const overloaded = replies.filter(reply => reply.status === 503);
    expect(overloaded.length).toBeGreaterThan(0);
    for (const reply of overloaded) expectProblem(reply, 503, 'overloaded');
    for (const reply of replies) {
      expect([500, 503]).toContain(reply.status);
      expectNoVerdict(reply);
    }

    await blocker`ROLLBACK`;
    blocker.release();
    await sql.close();
    expect((await service.check(key, 's', 't')).body.decision).toBe('allow');
    expect((await service.admin('GET', `/audit?keyId=${keyId}`)).body.entries).toHaveLength(1);
    await service.close();
  });
});

async function until(reached: () => boolean): Promise<void> {
  const end = Date.now() + 60_000;
  while (!reached()) {
    if (Date.now() > end) throw new Error('it did not come to be within a minute');
    await Bun.sleep(5);
  }
}
