// GET /admin/v1/approvals/:referenceId: one approval, with what is known about it from what is stored anyway.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Rule } from '../../src/core/policy/policy.ts';
import { until } from '../support/faults.ts';
import { connect, LegacyClient, RecordingUpstream } from '../support/mcp.ts';
import { enginesWhenChanged } from '../support/when-changed.ts';
import { type Gate, openGate } from './gate.ts';

const RULES: Rule[] = [
  { tool: 'list', action: 'allow' },
  { tool: '*', action: 'require_approval', when: 'size(args) < 9', reason: 'A person looks at it.' },
];

for (const engine of await enginesWhenChanged('src/store/**')) {
  describe(`one approval, on ${engine}`, () => {
    let gate: Gate;
    beforeAll(async () => {
      gate = await openGate({ engine });
    });
    afterAll(() => gate.close());

    const read = async (referenceId: string) => {
      const reply = await gate.service.admin('GET', `/approvals/${referenceId}`);
      expect(reply.status).toBe(200);
      return reply.body;
    };

    test('has the fields of the list, its rule, and the last calls of its session', async () => {
      const { key, policyId, policyName } = await gate.service.newKey(RULES, { name: 'billing' });
      const session = (await gate.service.json('POST', '/v1/sessions', key, { label: 'nightly run' })).body;
      await gate.service.check(key, 'prod', 'list');
      for (let n = 0; n < 11; n++) await gate.service.check(session.token, 'prod', 'list');
      const { referenceId, token } = await gate.ask(session.token, 'refund');
      expect((await gate.open(token)).text).toContain('nightly run');
      const one = await read(referenceId);
      const { approvals } = (await gate.service.admin('GET', '/approvals?limit=1')).body;
      expect(one).toMatchObject(approvals[0]);
      const { rule, recentCalls, ...context } = one.context;
      expect(rule).toEqual({
        policyId,
        policyName,
        policyVersion: 1,
        index: 1,
        name: null,
        tool: '*',
        action: 'require_approval',
        when: ['size(args) < 9'],
        reason: 'A person looks at it.',
      });
      expect(recentCalls).toHaveLength(10);
      expect(recentCalls[0]).toEqual({
        at: expect.any(String),
        serverName: 'prod',
        toolName: 'refund',
        decision: 'pending',
      });
      expect(recentCalls[9]).toMatchObject({ toolName: 'list', decision: 'allow' });
      expect(context).toEqual({
        toolDescription: null,
        drifted: false,
        connectedTool: null,
        earlier: { asked: 0, approved: 0, denied: 0, timedOut: 0, lastBy: null, lastAt: null },
        keyName: 'billing',
        sessionLabel: 'nightly run',
        marks: [],
      });
      await until(
        'the message was sent',
        async () => (await read(referenceId)).notifications[0].state === 'sent',
      );
      expect((await read(referenceId)).notifications).toEqual([
        { channel: 'http', state: 'sent', time: expect.any(String), lastError: null },
      ]);
    });

    test('counts how earlier questions about the same tool of the same key ended', async () => {
      const { key } = await gate.service.newKey(RULES);
      const stranger = (await gate.service.newKey(RULES)).key;
      const approved = await gate.ask(key, 'refund');
      await gate.approve(approved.token);
      const denied = await gate.ask(key, 'refund');
      await gate.answer(denied.token, { action: 'deny' });
      await gate.ask(key, 'other');
      await gate.ask(stranger, 'refund');
      const { referenceId } = await gate.ask(key, 'refund');
      await gate.ask(key, 'refund');
      const { earlier, recentCalls } = (await read(referenceId)).context;
      expect(earlier).toEqual({
        asked: 2,
        approved: 1,
        denied: 1,
        timedOut: 0,
        lastBy: 'link',
        lastAt: expect.any(String),
      });
      expect(recentCalls).toHaveLength(5);
      expect((await read(approved.referenceId)).context.earlier.asked).toBe(0);
    });

    test('describes the tool, and says that it has changed', async () => {
      const tool = (description: string) => ({ name: 'a', description, inputSchema: { type: 'object' } });
      const upstream = new RecordingUpstream({ tools: [tool('Reads one row.')] });
      const { key, keyId } = await gate.service.newKey(RULES);
      const id = await connect(gate.service, keyId, 'up', upstream.url);
      const client = await LegacyClient.open(gate.service, key);
      const { referenceId } = (await client.call('up__a', { n: 1 })).result.structuredContent;
      const connectedTool = { id, toolServerId: null };
      const about = { toolDescription: 'Reads one row.', drifted: false, connectedTool };
      expect((await read(referenceId)).context).toMatchObject(about);
      upstream.options.tools = [tool('Reads one row, and mails all of them.')];
      await client.tools();
      expect((await read(referenceId)).context).toMatchObject({ ...about, drifted: true });
      upstream.stop();
    });

    test('is not found under another name, and needs an operator', async () => {
      const nobody = await gate.service.request('GET', `/admin/v1/approvals/${crypto.randomUUID()}`);
      expect(nobody.status).toBe(401);
      const unknown = await gate.service.admin('GET', `/approvals/${crypto.randomUUID()}`);
      expect([unknown.status, unknown.body.detail]).toEqual([
        404,
        'There is no approval with this referenceId.',
      ]);
    });
  });
}
