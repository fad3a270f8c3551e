// A call of a client that knows tasks, from the question to its end: approved it runs once, and its result can be fetched as
// often as wanted; denied, timed out and cancelled it says so; and nobody else learns that it exists.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { auditOf, connect, error, type Heard, outcomesOf, RecordingUpstream } from '../../support/mcp.ts';
import { engines, startService, type TestService } from '../../support/service.ts';
import { TasksClient } from '../../support/tasks.ts';

const GATED = [
  { tool: 'up__*', action: 'require_approval' as const },
  { tool: '*', action: 'allow' as const },
];

const upstream = new RecordingUpstream({
  onCall: heard => (heard.params.arguments.fails ? error(heard, -32000, 'no') : said(heard)),
});
const said = ({ params }: Heard) => ({ content: [{ type: 'text', text: `did ${params.arguments.n}` }] });
afterAll(() => upstream.stop());

const ranWith = (n: string) => upstream.calls.filter(each => each.params.arguments?.n === n).length;

for (const engine of await engines()) {
  describe(engine, () => {
    let service: TestService;
    let key: string;
    let keyId: string;
    let client: TasksClient;
    beforeAll(async () => {
      service = await startService({ engine });
      ({ key, keyId } = await service.newKey(GATED));
      await connect(service, keyId, 'up', upstream.url);
      client = new TasksClient(service, key);
    });
    afterAll(() => service.close());

    const answer = (taskId: string, action: string, note?: string) =>
      service.admin('POST', `/approvals/${taskId}/resolve`, { action, ...(note && { note }) });

    /** A call that waits. */
    async function asked(args: Record<string, unknown> = {}): Promise<{ taskId: string; n: string }> {
      const n = crypto.randomUUID();
      const { result } = await client.call('up__echo', { n, ...args });
      expect(result).toMatchObject({ resultType: 'task', status: 'working', pollIntervalMs: 5000 });
      return { taskId: result.taskId, n };
    }

    test('an approved call runs once, and its result is given as often as it is asked for', async () => {
      const { taskId, n } = await asked();
      const { result: created } = await client.call('up__echo', { n });
      expect(created).toMatchObject({ resultType: 'task', taskId });
      expect(created.statusMessage).toStartWith('A person has to approve this call.');
      expect(created.ttlMs).toBe(3_600_000 + 600_000);
      expect(Object.keys(created)).not.toContain('result');
      expect((await client.get(taskId)).result).toMatchObject({ resultType: 'complete', status: 'working' });
      expect((await answer(taskId, 'approve')).status).toBe(200);
      const ended = await client.ends(taskId);
      expect(ended).toMatchObject({
        status: 'completed',
        result: { resultType: 'complete', content: [{ type: 'text', text: `did ${n}` }] },
      });
      expect((await client.get(taskId)).result).toEqual(ended);
      expect(ranWith(n)).toBe(1);
      const entries = await auditOf(service, keyId);
      expect(entries.map(({ decision }) => decision)).toEqual(['pending', 'pending', 'allow']);
      expect(await outcomesOf(service, keyId)).toEqual(['ok']);
    });
  });
}
