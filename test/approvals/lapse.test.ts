// Questions that nobody answers: the link is dead at its end, and the end is told exactly once, however many
// replicas look for it.

import { expect, test } from 'bun:test';
import { until, withMutant } from '../support/faults.ts';
import { Receiver } from '../support/receiver.ts';
import { engines } from '../support/service.ts';
import { openGate } from './gate.ts';

for (const engine of await engines()) {
  test(`${engine}: a link is dead at its end even though no sweeper has run`, async () => {
    const noSweeper = {
      file: 'src/guard/approvals/approvals.ts',
      find: 'while ((await lapse(deps, LAPSE_BATCH)) === LAPSE_BATCH);',
      replace: 'if (LAPSE_BATCH < 0) await lapse(deps, LAPSE_BATCH);',
    };
    await withMutant([noSweeper], async root => {
      const gate = await openGate({ engine, root });
      try {
        const { token, referenceId } = await gate.ask(await gate.key());
        await gate.lapse();
        expect((await gate.answer(token, { action: 'approve' })).status).toBe(410);
        expect((await gate.open(token)).status).toBe(410);
        expect((await gate.open(token, '?action=approve')).status).toBe(410);
        const admin = await gate.service.admin('POST', `/approvals/${referenceId}/resolve`, {
          action: 'deny',
        });
        expect(admin.status).toBe(409);
        expect(await gate.statusOf(referenceId)).toBe('pending');
      } finally {
        await gate.close();
      }
    });
  });

  const replicas = engine === 'postgres' ? 2 : 1;
  test(`${engine}: what nobody answers is told as timed out, exactly once, with ${replicas} at work`, async () => {
    const env = { TOOLGATE_APPROVAL_TIMEOUT: '1s' };
    const gate = await openGate({ engine, replicas, env });
    const target = await Receiver.start();
    try {
      await gate.service.admin('POST', '/webhooks', { url: target.url, events: ['approval.resolved'] });
      const key = await gate.key();
      const held = await Promise.all(
        Array.from({ length: 60 }, (_, index) =>
          gate.services[index % replicas]?.check(key, 'prod', 'deploy'),
        ),
      );
      const references = held.map(reply => reply?.body.referenceId as string);
      await until('all lapsed', async () => {
        const open = await gate.rows(`SELECT id FROM approvals WHERE status = 'pending'`);
        return open.length === 0;
      });
      await until('all told', () => references.every(each => target.of(each).length > 0));
      const events = await gate.rows<{ id: string; reference: string }>(
        `SELECT id, reference_id AS reference FROM events WHERE type = 'approval.resolved'`,
      );
      expect(events.map(each => each.reference).sort()).toEqual(references.sort());
      for (const each of references) {
        const [told] = target.of(each);
        expect(told?.json.data).toMatchObject({
          status: 'timed_out',
          resolvedBy: null,
          grantExpiresAt: null,
        });
        expect(told?.json.data.resolvedAt >= told?.json.data.expiresAt).toBe(true);
      }
    } finally {
      await gate.close();
      await target.close();
    }
  });
}
