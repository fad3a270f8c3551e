// A call approved once is forwarded once: when it is presented again, or names its approval, also when two
// replicas get it at the same moment.

import { afterAll, describe, expect, test } from 'bun:test';
import { figures, until } from '../support/faults.ts';
import { connect, LegacyClient, modern, RecordingUpstream } from '../support/mcp.ts';
import { engines, startService, type TestService } from '../support/service.ts';
import { enginesWhenChanged, sized } from '../support/when-changed.ts';

const ROUNDS = sized(500, 50, 10);
const upstream = new RecordingUpstream();
afterAll(() => upstream.stop());

async function keyOn(service: TestService): Promise<{ key: string; keyId: string }> {
  const made = await service.newKey([{ tool: '*', action: 'require_approval' }]);
  await connect(service, made.keyId, 'up', upstream.url);
  return made;
}

const reached = (n: string) => upstream.calls.filter(each => each.params.arguments?.n === n).length;

async function approve(service: TestService, referenceId: string, action = 'approve'): Promise<void> {
  const done = await service.admin('POST', `/approvals/${referenceId}/resolve`, { action });
  if (done.status !== 200) throw new Error(done.text);
}

for (const engine of await enginesWhenChanged('src/store/**', 'src/guard/check/**')) {
  describe(engine, () => {
    test('the same call again runs once; other arguments, another key or a denial do not', async () => {
      const service = await startService({ engine });
      const { key } = await keyOn(service);
      const other = await keyOn(service);
      const client = await LegacyClient.open(service, key);
      const stranger = await LegacyClient.open(service, other.key);
      const n = crypto.randomUUID();
      const held = await client.call('up__echo', { n, x: 1 });
      const { referenceId } = held.result.structuredContent;
      const early = await client.call('up__echo', { n, x: 1 });
      expect(early.result.structuredContent).toMatchObject({ status: 'pending', referenceId });
      await approve(service, referenceId);
      expect((await client.call('up__echo', { n, x: 2 })).result.structuredContent.status).toBe('pending');
      expect((await stranger.call('up__echo', { n, x: 1 })).result.structuredContent.status).toBe('pending');
      const named = { 'toolgate/referenceId': referenceId };
      const foreign = await stranger.call('up__echo', { n, x: 1 }, named);
      expect(foreign.result.structuredContent.status).toBe('pending');
      expect(foreign.result.structuredContent.message).toEndWith('there is none with this id.');
      expect(held.result.structuredContent.message).not.toContain('was named');
      expect(reached(n)).toBe(0);
      const ran = await client.call('up__echo', { x: 1, n });
      expect(ran.result.structuredContent).toBeUndefined();
      expect(reached(n)).toBe(1);
      const again = (await client.call('up__echo', { n, x: 1 })).result.structuredContent;
      expect(again.status).toBe('pending');
      expect(again.referenceId).not.toBe(referenceId);
      await approve(service, again.referenceId, 'deny');
      const denied = await client.call('up__echo', { n, x: 1 });
      expect(denied.result.content[0].text).toStartWith('Blocked by policy: A person denied this call.');
      expect(reached(n)).toBe(1);
      await service.close();
    });

    test('a call that names its approval runs once, in both eras; the name stays here', async () => {
      const service = await startService({ engine });
      const { key } = await keyOn(service);
      const client = await LegacyClient.open(service, key);
      for (const era of ['older', 'newer']) {
        const n = crypto.randomUUID();
        const call = (meta: Record<string, unknown> = {}) =>
          era === 'older'
            ? client.call('up__echo', { n }, meta)
            : modern(service, key, 'tools/call', { name: 'up__echo', arguments: { n }, _meta: meta });
        const { referenceId } = (await call()).result.structuredContent;
        await approve(service, referenceId);
        const named = { 'toolgate/referenceId': referenceId };
        expect((await call(named)).result.structuredContent).toBeUndefined();
        expect(upstream.calls.at(-1)!.text).not.toContain('toolgate/');
        expect((await call(named)).result.structuredContent.status).toBe('pending');
        expect(reached(n)).toBe(1);
        await until('the outcome is recorded', async () => {
          const { freed } = (await service.admin('GET', `/approvals/${referenceId}`)).body;
          return freed.forwarded?.outcome === 'ok';
        });
      }
      await service.close();
    });
  });
}

for (const engine of await engines()) {
  test(`${engine}: presented many times at one moment, it is forwarded once`, async () => {
    const services = [await startService({ engine })];
    const first = services[0] as TestService;
    if (engine === 'postgres')
      services.push(await startService({ engine, databaseUrl: first.databaseUrl, env: {} }));
    const { key } = await keyOn(first);
    const clients = [await LegacyClient.open(first, key)];
    for (const each of services) clients.push(clients[0]!.at(each));
    await Promise.all(clients.map(each => each.tools()));
    let twice = 0;
    let never = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const n = crypto.randomUUID();
      const { referenceId } = (await clients[0]!.call('up__echo', { n })).result.structuredContent;
      await approve(first, referenceId);
      const meta = round % 2 === 0 ? undefined : { 'toolgate/referenceId': referenceId };
      const answers = await Promise.all(
        [...clients, ...clients].map(each => each.call('up__echo', { n }, meta)),
      );
      const ran = answers.filter(each => each.result?.structuredContent === undefined).length;
      if (reached(n) > 1 || ran > 1) twice++;
      if (reached(n) === 0) never++;
      // Whoever came too late asked anew, all of them one question. A person answers it, so that few are open.
      const anew = new Set(answers.flatMap(each => each.result?.structuredContent?.referenceId ?? []));
      if (anew.size > 1) twice++;
      for (const each of anew) await approve(first, each, 'deny');
    }
    for (const each of services) await each.close();
    figures(`approved once ${engine}`, { operations: ROUNDS, twice, never, violations: twice + never });
    expect([twice, never]).toEqual([0, 0]);
  });
}
