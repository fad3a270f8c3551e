// The same call again, while its question is open and after it was denied: no second question, no second message.

import { afterAll, describe, expect, test } from 'bun:test';
import { startClocked } from '../approvals/clocked.ts';
import { ASK_ALL, openGate } from '../approvals/gate.ts';
import { connect, LegacyClient, RecordingUpstream } from '../support/mcp.ts';
import { engines } from '../support/service.ts';

const upstream = new RecordingUpstream();
afterAll(() => upstream.stop());

for (const engine of await engines()) {
  describe(`the same call again, on ${engine}`, () => {
    test('is one question and one message on all replicas, with an audit entry for each call', async () => {
      const replicas = engine === 'postgres' ? 2 : 1;
      const gate = await openGate({
        engine,
        replicas,
        env: { TOOLGATE_MAX_OPEN_APPROVALS_PER_KEY: '2' },
      });
      const { key, keyId } = await gate.service.newKey(ASK_ALL);
      await connect(gate.service, keyId, 'up', upstream.url);
      const client = await LegacyClient.open(gate.service, key);
      const clients = gate.services.map(each => client.at(each));
      await Promise.all(clients.map(each => each.tools()));
      const all = [...clients, ...clients, ...clients];
      const answers = await Promise.all(all.map(each => each.call('up__echo', { amount: 60 })));
      const references = answers.map(each => each.result.structuredContent.referenceId);
      expect(new Set(references).size).toBe(1);
      const [referenceId] = references;
      await gate.link(referenceId);
      const { entries } = (await gate.service.admin('GET', `/audit?keyId=${keyId}`)).body;
      expect(entries).toHaveLength(all.length);
      for (const each of entries) expect(each).toMatchObject({ decision: 'pending', referenceId });
      const told = (await gate.service.admin('GET', `/notifications?referenceId=${referenceId}`)).body;
      expect(told.notifications).toHaveLength(1);

      const other = await client.call('up__echo', { amount: 61 });
      expect(other.result.structuredContent.referenceId).not.toBe(referenceId);
      const third = await client.call('up__echo', { amount: 62 });
      expect(third.result.content[0].text).toContain('already has 2 open approvals');
      const still = await client.call('up__echo', { amount: 60 });
      expect(still.result.structuredContent.referenceId).toBe(referenceId);
      await gate.close();
    });

    test('belongs to the session that asked, to the rule, and to /mcp', async () => {
      const gate = await openGate({ engine });
      const { service } = gate;
      const { key, keyId, policyId } = await service.newKey(ASK_ALL);
      await connect(service, keyId, 'up', upstream.url);
      const reference = async (token: string) => {
        const client = await LegacyClient.open(service, token);
        return (await client.call('up__echo', { amount: 60 })).result.structuredContent.referenceId;
      };
      const session = (await service.json('POST', '/v1/sessions', key, { label: 'run' })).body;
      const own = await reference(session.token);
      expect(await reference(session.token)).toBe(own);
      const ofKey = await reference(key);
      expect(ofKey).not.toBe(own);
      const check = { args: { amount: 60 } };
      const held = [
        await service.check(key, 'up', 'echo', check),
        await service.check(key, 'up', 'echo', check),
      ];
      expect(new Set([own, ofKey, ...held.map(each => each.body.referenceId)]).size).toBe(4);
      const rules = [{ tool: 'up__*', action: 'require_approval' }];
      await service.admin('PUT', `/policies/${policyId}`, { name: `p ${policyId}`, rules });
      const anew = await reference(key);
      expect(anew).not.toBe(ofKey);
      expect(await reference(key)).toBe(anew);
      await gate.close();
    });

    test('is blocked after a denial, with the note, until the question would have lapsed', async () => {
      const service = await startClocked({ TOOLGATE_APPROVAL_TIMEOUT: '10m' }, engine);
      const { key, keyId } = await service.newKey(ASK_ALL);
      await connect(service, keyId, 'up', upstream.url);
      const client = await LegacyClient.open(service, key);
      const call = (meta?: Record<string, unknown>) => client.call('up__echo', { amount: 60 }, meta);
      const { referenceId } = (await call()).result.structuredContent;
      const deny = { action: 'deny', note: 'Not before Monday.' };
      expect((await service.admin('POST', `/approvals/${referenceId}/resolve`, deny)).status).toBe(200);
      for (const meta of [undefined, { 'toolgate/referenceId': referenceId }]) {
        const { result } = await call(meta);
        expect(result.isError).toBe(true);
        expect(result.content[0].text).toBe(
          'Blocked by policy: A person denied this call. They wrote: "Not before Monday." Do not retry this call.',
        );
      }
      const { entries } = (await service.admin('GET', `/audit?keyId=${keyId}&decision=deny`)).body;
      expect(entries).toHaveLength(2);
      for (const each of entries)
        expect(each).toMatchObject({ reason: 'A person denied this call.', referenceId });
      const check = { args: { amount: 60 }, referenceId };
      const elsewhere = await service.check(key, 'up', 'echo', check);
      expect(elsewhere.body.message).toEndWith('It was denied with this note: Not before Monday.');
      service.advance(600_000);
      const anew = (await call()).result.structuredContent;
      expect(anew.status).toBe('pending');
      expect(anew.referenceId).not.toBe(referenceId);
      await service.close();
    });
  });
}
