// Withdrawing an approval: it frees nothing once the answer is there, on any replica; of withdrawing and spending at
// the same moment exactly one wins. What is spent, was never given, or opened a grant cannot be withdrawn.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { SQL } from 'bun';
import { figures, until } from '../support/faults.ts';
import { LONG } from '../support/need.ts';
import { engines, type TestService } from '../support/service.ts';
import { type Gate, openGate } from './gate.ts';

const ROUNDS = LONG ? 300 : 40;

for (const engine of await engines()) {
  describe(`withdrawing on ${engine}`, () => {
    let gate: Gate;
    let key: string;
    beforeAll(async () => {
      const env = { TOOLGATE_MAX_OPEN_APPROVALS_PER_KEY: '1000' };
      gate = await openGate({ engine, replicas: engine === 'postgres' ? 2 : 1, env });
      key = await gate.key();
    });
    afterAll(() => gate.close());

    const other = () => gate.services.at(-1) as TestService;
    const withdraw = (referenceId: string, service = gate.service) =>
      service.admin('POST', `/approvals/${referenceId}/withdraw`);
    const spend = async (referenceId: string, service = gate.service) =>
      (await service.check(key, 'prod', 'deploy', { referenceId })).body.decision;
    const resolve = (referenceId: string, body: object) =>
      gate.service.admin('POST', `/approvals/${referenceId}/resolve`, body);
    const listed = async (referenceId: string) => {
      const { approvals } = (await gate.service.admin('GET', '/approvals?limit=200')).body;
      return approvals.find((each: { referenceId: string }) => each.referenceId === referenceId);
    };

    async function asked(): Promise<string> {
      return (await gate.service.check(key, 'prod', 'deploy')).body.referenceId;
    }
    async function approved(more = {}): Promise<string> {
      const referenceId = await asked();
      expect((await resolve(referenceId, { action: 'approve', ...more })).status).toBe(200);
      return referenceId;
    }

    test('ends it at once, on every replica, and is recorded', async () => {
      const referenceId = await approved();
      expect(await listed(referenceId)).toMatchObject({ spentAt: null, withdrawnAt: null });
      const reply = await withdraw(referenceId);
      expect([reply.status, reply.text]).toEqual([204, '']);
      expect(await spend(referenceId, other())).toBe('pending');
      expect(await spend(referenceId)).toBe('pending');
      const shown = await listed(referenceId);
      expect(shown).toMatchObject({ status: 'approved', spentAt: null });
      expect(Date.parse(shown.withdrawnAt)).toBeGreaterThanOrEqual(Date.parse(shown.resolvedAt));
      const { changes } = (await gate.service.admin('GET', '/changes')).body;
      expect(changes[0]).toMatchObject({ actor: 'admin', action: 'approval.withdraw', target: referenceId });
    });

    test('what is spent, withdrawn, or not given is a 409 and stays as it is; what is unknown a 404', async () => {
      const spent = await approved();
      expect(await spend(spent)).toBe('allow');
      const withdrawn = await approved();
      expect((await withdraw(withdrawn)).status).toBe(204);
      const pending = await asked();
      const denied = await asked();
      await resolve(denied, { action: 'deny' });
      for (const [referenceId, why] of [
        [spent, 'is spent'],
        [withdrawn, 'was withdrawn before'],
        [pending, 'was not'],
        [denied, 'was not'],
      ] as const) {
        const before = await listed(referenceId);
        const { status, body } = await withdraw(referenceId);
        expect([status, body.code]).toEqual([409, 'conflict']);
        expect(body.detail).toContain(why);
        expect(await listed(referenceId)).toEqual(before);
      }
      expect((await listed(spent)).spentAt).not.toBeNull();
      const freedBy = async (referenceId: string) =>
        (await gate.service.admin('GET', `/approvals/${referenceId}`)).body.freed;
      const freed = await freedBy(spent);
      expect(freed.forwarded).toBeNull();
      const entry = (await gate.service.admin('GET', `/audit/${freed.toolCallId}`)).body;
      expect(entry).toMatchObject({ decision: 'allow', referenceId: spent });
      expect(await freedBy(withdrawn)).toBeNull();
      expect((await withdraw(Bun.randomUUIDv7())).status).toBe(404);
      // The question that was not withdrawn can still be answered, and then be withdrawn.
      await resolve(pending, { action: 'approve' });
      expect((await withdraw(pending)).status).toBe(204);
    });

    test('a grant is ended by itself', async () => {
      const granting = await approved({ duration: '1h' });
      expect(await listed(granting)).toMatchObject({ usableUntil: null });
      const { status, body } = await withdraw(granting);
      expect([status, body.detail]).toEqual([409, expect.stringContaining('Revoke the grant')]);
      expect((await gate.service.check(key, 'prod', 'deploy')).body.decision).toBe('allow');
      const { grants } = (await gate.service.admin('GET', '/grants')).body;
      const grant = grants.find((each: { referenceId: string }) => each.referenceId === granting);
      expect((await gate.service.admin('DELETE', `/grants/${grant.id}`)).status).toBe(204);
      expect((await gate.service.check(key, 'prod', 'deploy')).body.decision).toBe('pending');
    });

    test('racing with the call itself: exactly one wins', async () => {
      const found = { spent: 0, withdrawn: 0, violations: 0 };
      for (let round = 0; round < ROUNDS; round++) {
        const referenceId = await approved();
        const later = round % 2 === 0 ? null : Bun.sleep(0);
        const [reply, decision] = await Promise.all([
          later === null ? withdraw(referenceId) : later.then(() => withdraw(referenceId)),
          spend(referenceId, other()),
        ]);
        const { spentAt, withdrawnAt } = await listed(referenceId);
        if (spentAt !== null) found.spent++;
        if (withdrawnAt !== null) found.withdrawn++;
        const [spent, withdrawn] = [spentAt !== null, withdrawnAt !== null];
        const told = withdrawn === (reply.status === 204) && (spent || decision !== 'allow');
        if (spent === withdrawn || !told) found.violations++;
      }
      figures(`withdrawn or spent ${engine}`, { operations: ROUNDS, ...found });
      expect(found.violations).toBe(0);
    });

    if (engine === 'postgres')
      test('withdrawn after it was found and before it was spent, it frees nothing', async () => {
        const made = await gate.service.newKey([{ tool: '*', action: 'require_approval' }]);
        const first = await gate.service.check(made.key, 'prod', 'deploy');
        const { referenceId } = first.body;
        await resolve(referenceId, { action: 'approve' });
        const server = new SQL(gate.service.databaseUrl, { max: 1 });
        let checking: Promise<{ decision: string }> | undefined;
        await server.begin(async tx => {
          await tx.unsafe(`UPDATE approvals SET withdrawn_at = 1 WHERE id = '${referenceId}'`);
          checking = gate.service
            .check(made.key, 'prod', 'deploy', { referenceId })
            .then(reply => reply.body);
          await until('the check waits for the row', async () => {
            const waiting = await gate.rows(
              `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
            );
            return waiting.length > 0;
          });
        });
        await server.close();
        expect((await checking)?.decision).toBe('pending');
        const { entries } = (await gate.service.admin('GET', `/audit?keyId=${made.keyId}`)).body;
        const decisions = entries.map((each: { decision: string }) => each.decision);
        expect(decisions).not.toContain('allow');
      });
  });
}
