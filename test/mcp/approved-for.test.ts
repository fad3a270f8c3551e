// What an approval frees, and until when: a call on the surface that asked, of the session that asked unless it is
// named, with these arguments and with these answers to what the tool asked, for as long as the setting says.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { startClocked } from '../approvals/clocked.ts';
import { sql } from '../support/faults.ts';
import { connect, LegacyClient, modern, RecordingUpstream } from '../support/mcp.ts';
import { startService, type TestService } from '../support/service.ts';
import { enginesWhenChanged } from '../support/when-changed.ts';

const ASK = [{ tool: '*', action: 'require_approval' as const }];
const HOUR = 3_600_000;
const upstream = new RecordingUpstream({ era: 'modern' });
afterAll(() => upstream.stop());

const reached = (n: string) => upstream.calls.filter(each => each.params.arguments?.n === n);

async function approve(service: TestService, referenceId: string): Promise<void> {
  const done = await service.admin('POST', `/approvals/${referenceId}/resolve`, { action: 'approve' });
  if (done.status !== 200) throw new Error(done.text);
}

for (const engine of await enginesWhenChanged('src/store/**')) {
  describe(engine, () => {
    let service: TestService;
    beforeAll(async () => {
      service = await startService({ engine });
    });
    afterAll(() => service.close());

    async function newKey(rules: Parameters<TestService['newKey']>[0] = ASK) {
      const made = await service.newKey(rules);
      await connect(service, made.keyId, 'up', upstream.url);
      return made;
    }

    /** A call through the proxy: the reference of its question, or null when it ran. */
    async function call(token: string, n: string, referenceId?: string, more = {}): Promise<string | null> {
      const _meta = referenceId === undefined ? {} : { 'toolgate/referenceId': referenceId };
      const params = { name: 'up__echo', arguments: { n }, _meta, ...more };
      const { result } = await modern(service, token, 'tools/call', params);
      expect(result.isError).toBeUndefined();
      return result.structuredContent?.referenceId ?? null;
    }

    const check = async (token: string, n: string, referenceId?: string) =>
      (await service.check(token, 'up', 'echo', { args: { n }, ...(referenceId && { referenceId }) })).body;

    /** Approved so long ago. */
    const age = (referenceId: string, ms: number) =>
      sql(
        service.databaseUrl,
        `UPDATE approvals SET created_at = created_at - ${ms}, expires_at = expires_at - ${ms},
           resolved_at = resolved_at - ${ms} WHERE id = '${referenceId}'`,
      );

    test('asked by a check, it is not spent by the proxy, whatever changed meanwhile; nor the other way', async () => {
      const { key, policyId } = await newKey([{ tool: 'up__*', action: 'require_approval' }]);
      const n = crypto.randomUUID();
      const { referenceId } = await check(key, n);
      await approve(service, referenceId);
      await age(referenceId, 2 * HOUR);
      await service.admin('PUT', `/policies/${policyId}`, { rules: ASK });
      for (const named of [undefined, referenceId]) expect(await call(key, n, named)).not.toBeNull();
      expect(reached(n)).toEqual([]);
      expect((await check(key, n, referenceId)).decision).toBe('allow');

      const other = crypto.randomUUID();
      const asked = (await call(key, other)) as string;
      await approve(service, asked);
      expect((await check(key, other, asked)).decision).toBe('pending');
      expect(await call(key, other)).toBeNull();
    });

    test('unnamed, it is spent by the session that asked, or by the key itself, and by nobody else', async () => {
      const { key } = await newKey();
      const session = async () => (await service.json('POST', '/v1/sessions', key, {})).body.token as string;
      const [one, two] = [await session(), await session()];
      for (const [asker, others] of [
        [one, [key, two]],
        [key, [one, two]],
      ] as const) {
        const n = crypto.randomUUID();
        await approve(service, (await call(asker, n)) as string);
        for (const other of others) expect(await call(other, n)).not.toBeNull();
        expect(reached(n)).toEqual([]);
        expect(await call(asker, n)).toBeNull();
        expect(reached(n)).toHaveLength(1);
      }
      const n = crypto.randomUUID();
      const referenceId = (await call(one, n)) as string;
      await approve(service, referenceId);
      expect(await call(two, n, referenceId)).toBeNull();
      expect(reached(n)).toHaveLength(1);
    });

    test('it binds what the client answers to the tool, and the tool’s state', async () => {
      const { key } = await newKey();
      const prod = { inputResponses: { target: { action: 'accept', content: { target: 'PROD' } } } };
      const staging = { inputResponses: { target: { action: 'accept', content: { target: 'staging' } } } };
      const FORMS: object[] = [
        {},
        prod,
        staging,
        { requestState: 'a' },
        { requestState: 'b' },
        { ...prod, requestState: 'a' },
        { inputResponses: {} },
      ];
      for (const [asked, form] of FORMS.entries()) {
        const n = crypto.randomUUID();
        const referenceId = (await call(key, n, undefined, form)) as string;
        await approve(service, referenceId);
        for (const other of FORMS.filter((_, index) => index !== asked)) {
          for (const named of [undefined, referenceId])
            expect(await call(key, n, named, other)).not.toBeNull();
        }
        expect(reached(n)).toEqual([]);
        expect(await call(key, n, referenceId, form)).toBeNull();
        expect(reached(n)).toHaveLength(1);
        expect(reached(n)[0]?.params).toMatchObject(form);
      }
    });

    test('and so it does for clients of the older era', async () => {
      const { key } = await newKey();
      const client = await LegacyClient.open(service, key);
      const n = crypto.randomUUID();
      const send = (more: object) =>
        client.request('tools/call', { name: 'up__echo', arguments: { n }, ...more });
      const { referenceId } = (await send({})).result.structuredContent;
      await approve(service, referenceId);
      const added = { inputResponses: { target: 'PROD' }, _meta: { 'toolgate/referenceId': referenceId } };
      expect((await send(added)).result.structuredContent.status).toBe('pending');
      expect(reached(n)).toEqual([]);
      expect((await send({})).result.structuredContent).toBeUndefined();
    });

    test('a day after it was given it has ended, on both surfaces, named or not', async () => {
      const { key } = await newKey();
      for (const [ago, ended] of [
        [23 * HOUR, false],
        [24 * HOUR, true],
      ] as const) {
        const n = crypto.randomUUID();
        const asked = [await call(key, n), (await check(key, n)).referenceId, await call(key, `${n} named`)];
        for (const referenceId of asked) {
          await approve(service, referenceId);
          await age(referenceId, ago);
        }
        expect((await call(key, n)) === null).toBe(!ended);
        expect((await check(key, n, asked[1])).decision).toBe(ended ? 'pending' : 'allow');
        expect((await call(key, `${n} named`, asked[2])) === null).toBe(!ended);
        expect(reached(n)).toHaveLength(ended ? 0 : 1);
      }
    });
  });
}

test('TOOLGATE_APPROVED_FOR says how long, to the millisecond, and the list says until when', async () => {
  const service = await startClocked({ TOOLGATE_APPROVED_FOR: '30m' });
  try {
    const { key } = await service.newKey(ASK);
    const check = async (n: number, referenceId?: string) =>
      (await service.check(key, 's', 't', { args: { n }, ...(referenceId && { referenceId }) })).body;
    const [first, second] = [(await check(1)).referenceId, (await check(2)).referenceId];
    service.advance(60_000);
    for (const each of [first, second]) await approve(service, each);
    service.advance(30 * 60_000 - 1);
    expect((await check(1, first)).decision).toBe('allow');
    service.advance(1);
    expect((await check(2, second)).decision).toBe('pending');
    const { approvals } = (await service.admin('GET', '/approvals?status=approved')).body;
    for (const each of approvals) {
      expect(Date.parse(each.usableUntil) - Date.parse(each.resolvedAt)).toBe(30 * 60_000);
      expect(each.spentAt === null).toBe(each.referenceId === second);
      expect(each.withdrawnAt).toBeNull();
    }
  } finally {
    await service.close();
  }
});
