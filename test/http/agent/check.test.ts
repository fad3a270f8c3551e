// The verdict: its fields, one audit entry each, also under concurrency, and the bound on open approvals.
// And what machines that watch the service are told.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { startService, type TestService } from '../../support/service.ts';
import { enginesWhenChanged } from '../../support/when-changed.ts';

const UUID7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const RULES = [
  { tool: 'ask', action: 'require_approval' as const },
  { tool: 'no', action: 'deny' as const, reason: 'Not here.' },
  { tool: 'yes', action: 'allow' as const },
];
const LIMITS = { TOOLGATE_MAX_OPEN_APPROVALS_PER_SESSION: '3', TOOLGATE_MAX_OPEN_APPROVALS_PER_KEY: '5' };

for (const engine of await enginesWhenChanged('src/store/**')) {
  describe(engine, () => {
    let service: TestService;
    beforeAll(async () => {
      service = await startService({ engine, env: LIMITS });
    });
    afterAll(() => service.close());

    const entriesOf = async (keyId: string) =>
      (await service.admin('GET', `/audit?limit=1000&keyId=${keyId}`)).body.entries as { id: string }[];

    test('has its fields on every decision, and two more when pending', async () => {
      const { key, policyId, policyName } = await service.newKey(RULES);
      const always = {
        policyId,
        toolCallId: expect.stringMatching(UUID7),
        latencyMs: expect.any(Number),
      };
      const allow = await service.check(key, 's', 'yes');
      expect(allow.headers.get('content-type')).toStartWith('application/json');
      expect(allow.body).toEqual({
        decision: 'allow',
        reason: `Rule 2 of policy "${policyName}" allows s__yes.`,
        ...always,
      });
      expect(Number.isInteger(allow.body.latencyMs) && allow.body.latencyMs >= 0).toBe(true);
      expect((await service.check(key, 's', 'no')).body).toEqual({
        decision: 'deny',
        reason: 'Not here.',
        ...always,
      });
      expect((await service.check(key, 's', 'else')).body).toMatchObject({ decision: 'deny', ...always });
      const pending = (await service.check(key, 's', 'ask')).body;
      expect(pending).toEqual({
        decision: 'pending',
        reason: expect.stringContaining('requires approval for s__ask'),
        referenceId: expect.stringMatching(UUID7),
        message: expect.any(String),
        ...always,
      });
      for (const part of ['not the final outcome', 'nothing was run', 'approval.resolved', 'referenceId']) {
        expect(pending.message).toContain(part);
      }
      const { approvals } = (await service.admin('GET', '/approvals?status=pending&limit=1')).body;
      expect(approvals[0]).toMatchObject({
        referenceId: pending.referenceId,
        toolCallId: pending.toolCallId,
      });
    });

    test('arguments may be absent, empty, odd or large', async () => {
      const { key } = await service.newKey(RULES);
      const bodies = ['', ',"args":{}', ',"args":{"__proto__":1,"n":123456789012345678901234567890}'];
      for (const args of [...bodies, `,"args":{"text":"${'é'.repeat(100_000)}"}`]) {
        const reply = await service.json(
          'POST',
          '/v1/check',
          key,
          `{"serverName":"s","toolName":"yes"${args}}`,
        );
        expect(reply.body.decision).toBe('allow');
      }
    });

    test('leaves exactly one entry each, also when many arrive at once', async () => {
      const { key, keyId } = await service.newKey(RULES);
      const session = (await service.json('POST', '/v1/sessions', key)).body.token;
      const replies = await Promise.all(
        Array.from({ length: 300 }, (_, n) =>
          service.check(n % 2 ? key : session, 's', n % 3 ? 'yes' : 'no'),
        ),
      );
      const ids = replies.map(reply => reply.body.toolCallId as string).sort();
      expect(new Set(ids).size).toBe(300);
      expect((await entriesOf(keyId)).map(entry => entry.id).sort()).toEqual(ids);
    });

    test('a reference to no approval of this call frees nothing', async () => {
      const [{ key }, other] = [await service.newKey(RULES), await service.newKey(RULES)];
      const { referenceId } = (await service.check(key, 's', 'ask')).body;
      for (const [token, reference] of [
        [key, Bun.randomUUIDv7()],
        [key, referenceId],
        [other.key, referenceId],
      ]) {
        const { body } = await service.check(token, 's', 'ask', { referenceId: reference });
        expect(body.decision).toBe('pending');
        expect(body.referenceId).not.toBe(reference);
      }
      expect((await service.check(key, 's', 'no', { referenceId })).body.decision).toBe('deny');
    });

    test('with an idempotency key, the same call gets the same verdict, and another one is refused', async () => {
      const { key, keyId } = await service.newKey(RULES);
      const send = (headers: Record<string, string>, more = '', args = '{}') =>
        service.request('POST', '/v1/check', {
          headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', ...headers },
          body: `{"serverName":"s","toolName":"ask","args":${args}${more}}`,
        });
      const named = { 'Idempotency-Key': 'call-1' };
      const meta = (value: string) => `,"_meta":{"dev.toolgate/idempotency-key":${value}}`;
      const [first, again] = [await send(named), await send(named)];
      expect(first.body.decision).toBe('pending');
      expect([again.status, again.body]).toEqual([200, first.body]);
      for (const same of [await send({}, meta('"call-1"')), await send(named, meta('"call-1"'))])
        expect(same.body).toEqual(first.body);
      expect((await entriesOf(keyId)).length).toBe(1);
      const other = await send(named, '', '{"n":1}');
      expect([other.status, other.body.code]).toEqual([409, 'idempotency_conflict']);
      const { referenceId } = first.body;
      await service.admin('POST', `/approvals/${referenceId}/resolve`, { action: 'approve' });
      const freed = await send(named);
      expect(freed.body.decision).toBe('allow');
      expect((await send(named)).body).toEqual(freed.body);
      expect((await entriesOf(keyId)).length).toBe(2);
      const visible = expect.stringContaining('must have 1 to 128 visible ASCII characters');
      for (const wrong of [
        await send({ 'Idempotency-Key': '' }),
        await send({ 'Idempotency-Key': 'two words' }),
        await send({ 'Idempotency-Key': 'x'.repeat(129) }),
        await send({ 'Idempotency-Key': 'é' }),
        await send({}, meta('""')),
        await send({}, meta('"\\u00e9"')),
      ])
        expect([wrong.status, wrong.body.detail]).toEqual([400, visible]);
      for (const wrong of [await send({}, meta('1')), await send(named, meta('"call-2"'))])
        expect([wrong.status, wrong.body.code]).toEqual([400, 'invalid_input']);
      expect((await send({}, ',"_meta":{"other":"x"}')).status).toBe(400);
      expect((await entriesOf(keyId)).length).toBe(2);
    });

    test('beyond the bound of open approvals the call is denied with that reason, and audited', async () => {
      const { key, keyId } = await service.newKey(RULES);
      const session = (await service.json('POST', '/v1/sessions', key)).body.token;
      const ask = async (token: string, times: number) => {
        const replies = await Promise.all(
          Array.from({ length: times }, () => service.check(token, 's', 'ask')),
        );
        const denied = replies.filter(reply => reply.body.decision === 'deny');
        return { pending: times - denied.length, reason: denied[0]?.body.reason as string };
      };
      const ofSession = await ask(session, 8);
      expect(ofSession.pending).toBe(3);
      expect(ofSession.reason).toContain('this session already has 3 open approvals');
      const ofKey = await ask(key, 8);
      expect(ofKey.pending).toBe(2);
      expect(ofKey.reason).toContain('this key already has 5 open approvals');
      expect(await entriesOf(keyId)).toHaveLength(16);
      expect((await service.check(key, 's', 'yes')).body.decision).toBe('allow');
    });

    test('health, metrics, the API’s description and its page need no credential', async () => {
      expect((await service.request('GET', '/healthz')).body.status).toBe('ok');
      expect((await service.request('GET', '/readyz')).body.status).toBe('ok');
      const metrics = (await service.request('GET', '/metrics')).text;
      expect(metrics).toMatch(/toolgate_verdicts_total\{[^}]*decision="allow"[^}]*\} [1-9]/);
      expect(metrics).not.toContain('s__yes');
      const { body } = await service.request('GET', '/openapi.json');
      expect(body.openapi).toStartWith('3.1');
      expect(Object.keys(body.paths)).toContain('/v1/check');
      const page = await service.request('GET', '/docs');
      expect(page.headers.get('content-type')).toStartWith('text/html');
      expect(page.text).not.toMatch(/<(script|link|img)[^>]+(src|href)="https?:/);
    });
  });
}
