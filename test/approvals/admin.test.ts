// Approvals as operators see and answer them.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { enginesWhenChanged } from '../support/when-changed.ts';
import { ASK_ALL, type Gate, openGate } from './gate.ts';

for (const engine of await enginesWhenChanged('src/store/**')) {
  describe(`approvals in the administration, on ${engine}`, () => {
    let gate: Gate;
    beforeAll(async () => {
      gate = await openGate({ engine });
    });
    afterAll(() => gate.close());

    const list = async (query = '') => (await gate.service.admin('GET', `/approvals${query}`)).body;
    const resolve = (referenceId: string, body: unknown) =>
      gate.service.admin('POST', `/approvals/${referenceId}/resolve`, body);

    test('are listed with the fields of an event and what became of them, newest first, by status, in pages', async () => {
      const { key, keyId, policyId } = await gate.service.newKey(ASK_ALL);
      const first = await gate.ask(key, 'one');
      const second = await gate.ask(key, 'two');
      await gate.answer(first.token, { action: 'deny' });
      const [pending] = (await list('?status=pending')).approvals;
      expect(pending).toEqual({
        referenceId: second.referenceId,
        toolCallId: expect.any(String),
        policyId,
        keyId,
        sessionId: null,
        surface: 'check',
        serverName: 'prod',
        toolName: 'two',
        status: 'pending',
        reason: expect.any(String),
        createdAt: expect.any(String),
        expiresAt: expect.any(String),
        resolvedAt: null,
        resolvedBy: null,
        grantExpiresAt: null,
        spentAt: null,
        withdrawnAt: null,
        usableUntil: null,
        note: null,
        approverGroup: null,
        proof: null,
        votes: { needed: 1, approved: [] },
      });
      expect((await list('?status=denied')).approvals[0]).toMatchObject({
        referenceId: first.referenceId,
        resolvedBy: 'link',
      });
      const page = await list('?limit=1');
      expect(page.approvals[0].referenceId).toBe(second.referenceId);
      const next = await list(`?limit=1&cursor=${page.nextCursor}`);
      expect(next.approvals[0].referenceId).toBe(first.referenceId);
      expect((await gate.service.admin('GET', '/approvals?status=open')).status).toBe(400);
      const shown = JSON.stringify([page, next]);
      for (const { token } of [first, second]) expect(shown).not.toContain(token);
    });

    test('that have ended are listed by the time of their end, whatever waits', async () => {
      const key = await gate.key();
      const asked = [await gate.ask(key), await gate.ask(key), await gate.ask(key)] as const;
      const [early, late] = asked;
      await resolve(late.referenceId, { action: 'approve' });
      await resolve(early.referenceId, { action: 'deny' });
      const page = await list('?order=ended&limit=1');
      expect(page.approvals[0].referenceId).toBe(early.referenceId);
      const next = await list(`?order=ended&limit=1&cursor=${page.nextCursor}`);
      expect(next.approvals[0].referenceId).toBe(late.referenceId);
      const approved = await list('?order=ended&status=approved&limit=1');
      expect(approved.approvals[0].referenceId).toBe(late.referenceId);
      expect((await list('?order=ended&status=pending')).approvals).toEqual([]);
      expect((await list(`?order=ended&cursor=${asked[2].referenceId}`)).approvals).toEqual([]);
    });

    test('are answered once; the link is then used', async () => {
      const asked = await gate.ask(await gate.key());
      const { status, body } = await resolve(asked.referenceId, { action: 'approve', duration: '2h' });
      expect(status).toBe(200);
      expect(body).toMatchObject({ referenceId: asked.referenceId, status: 'approved', resolvedBy: 'admin' });
      expect(Date.parse(body.grantExpiresAt) - Date.parse(body.resolvedAt)).toBe(7_200_000);
      expect((await resolve(asked.referenceId, { action: 'deny' })).status).toBe(409);
      expect((await gate.answer(asked.token, { action: 'deny' })).status).toBe(410);
      const { changes } = (await gate.service.admin('GET', '/changes?limit=1')).body;
      expect(changes[0]).toMatchObject({
        actor: 'admin',
        action: 'approval.approve',
        target: asked.referenceId,
      });
    });

    test('refuse what is wrong and what is unknown, and stay open', async () => {
      const { referenceId } = await gate.ask(await gate.key());
      for (const body of [
        {},
        { action: 'allow' },
        { action: 'approve', duration: '8d' },
        { action: 'approve', duration: null },
        { action: 'deny', duration: '1h' },
        { action: 'approve', by: 'me' },
      ])
        expect([body, (await resolve(referenceId, body)).status]).toEqual([body, 400]);
      expect(await gate.statusOf(referenceId)).toBe('pending');
      for (const unknown of [Bun.randomUUIDv7(), 'x'])
        expect((await resolve(unknown, { action: 'approve' })).status).toBe(404);
    });

    test('are nothing that an agent may see or answer', async () => {
      const key = await gate.key();
      const { referenceId, token } = await gate.ask(key);
      const path = `/admin/v1/approvals/${referenceId}/resolve`;
      expect((await gate.service.json('POST', path, key, { action: 'approve' })).status).toBe(403);
      expect((await gate.service.json('POST', path, token, { action: 'approve' })).status).toBeWithin(
        401,
        404,
      );
      expect((await gate.service.json('POST', path, null, { action: 'approve' })).status).toBe(401);
      for (const other of ['approvals', 'grants', 'webhooks', 'notifications'])
        expect((await gate.service.json('GET', `/admin/v1/${other}`, key)).status).toBe(403);
      expect(await gate.statusOf(referenceId)).toBe('pending');
    });
  });
}
