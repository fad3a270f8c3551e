// Calls of which nobody knows whether they ran are listed until somebody has found out, which is recorded with who says so.
// It changes nothing else.

import { expect, test } from 'bun:test';
import type { Verdict } from '../../../src/guard/check/request.ts';
import { newId } from '../../../src/guard/ids.ts';
import { endCall, giveUpCall } from '../../../src/guard/tasks/end-call.ts';
import { settleCall, unsettledCalls } from '../../../src/guard/tasks/settle.ts';
import { listChanges } from '../../../src/store/changes.ts';
import { findOutcome } from '../../../src/store/log/outcomes.ts';
import { findTask } from '../../../src/store/tasks.ts';
import { onEachEngine } from '../../store/stores.ts';
import { refusal } from '../../support/refusal.ts';
import { Guarded } from './guarded.ts';

const EVERY = 'g';

await onEachEngine(store => {
  async function unknown(g: Guarded, args: number): Promise<{ id: string; toolCallId: string }> {
    const id = await g.approved({ args });
    const { toolCallId } = (await g.resume(id, g.one, { args })) as Verdict;
    await giveUpCall(g.one, toolCallId);
    return { id, toolCallId };
  }
  const listed = async (g: Guarded, limit = 100, before = EVERY) =>
    (await unsettledCalls(g.two, limit, before)).map(({ toolCallId }) => toolCallId);

  test('it is listed, the newest first, until it is settled, once', async () => {
    const g = await new Guarded(store.db).begin();
    const [first, second] = [await unknown(g, 1), await unknown(g, 2)];
    expect(await listed(g)).toEqual([second.toolCallId, first.toolCallId]);
    expect(await listed(g, 1, second.toolCallId)).toEqual([first.toolCallId]);
    const [call] = await unsettledCalls(g.one, 1, EVERY);
    const entry = { keyId: g.keyId, sessionId: g.sessionId, toolName: 'deploy', referenceId: second.id };
    expect(call).toMatchObject({ keyId: g.keyId, unknownAt: g.now, settledAt: null, entry });
    g.now += 1000;
    const said = { ran: false, note: 'Not in the list.' };
    const settled = await settleCall(g.one, 'operator:ann@example.com', second.toolCallId, said);
    const by = 'operator:ann@example.com';
    expect(settled).toMatchObject({ settledRan: 0, settledBy: by, settledAt: g.now, settledNote: said.note });
    expect(await listed(g)).toEqual([first.toolCallId]);
    const again = settleCall(g.two, 'admin', second.toolCallId, { ran: true, note: null });
    expect(await refusal(again)).toMatchObject({
      code: 'conflict',
      message: 'This call was settled before.',
    });
    const [change] = await listChanges(store.db, 1, EVERY);
    expect(change).toMatchObject({ actor: by, action: 'call.settle', target: second.toolCallId });
    expect(change?.detail).toEqual({ tool: 'prod__deploy', ran: false });
    expect(await findTask(store.db, second.id)).toMatchObject({ outcome: 'outcome_unknown' });
    expect(await findOutcome(store.db, second.toolCallId)).toMatchObject({ outcome: 'outcome_unknown' });
  });

  test('only a call of which it is not known whether it ran can be settled', async () => {
    const g = await new Guarded(store.db).begin();
    const { toolCallId } = await g.verdict({ call: { serverName: 'prod', toolName: 'look' } });
    const settle = (id: string) => refusal(settleCall(g.one, 'admin', id, { ran: true, note: null }));
    expect(await settle(toolCallId)).toMatchObject({ code: 'conflict' });
    await endCall(g.one, { toolCallId, outcome: 'ok', durationMs: 1, result: null });
    expect(await settle(toolCallId)).toMatchObject({ code: 'conflict' });
    expect(await settle(newId())).toMatchObject({ code: 'not_found' });
  });

  test('of two who settle it at once, one does', async () => {
    const g = await new Guarded(store.db).begin();
    const { toolCallId } = await unknown(g, 1);
    const settled = await Promise.allSettled(
      [true, false].map(ran => settleCall(g.one, 'admin', toolCallId, { ran, note: null })),
    );
    expect(settled.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  });
});
