// What becomes of a task after its question: what its process has to do for it, how its call ends, how it is cancelled, and how
// long it is known.

import { expect, test } from 'bun:test';
import { lapse, resolveByLink, resolveByOperator } from '../../../src/guard/approvals/approvals.ts';
import type { Verdict } from '../../../src/guard/check/request.ts';
import { NotResumed } from '../../../src/guard/check/task-calls.ts';
import { mintToken } from '../../../src/guard/secrets.ts';
import { answers } from '../../../src/guard/tasks/answered.ts';
import { cancelTask } from '../../../src/guard/tasks/cancel.ts';
import { endCall, giveUpCall } from '../../../src/guard/tasks/end-call.ts';
import { strays } from '../../../src/guard/tasks/strays.ts';
import { findExecution } from '../../../src/store/executions.ts';
import { type CallOutcome, findOutcome } from '../../../src/store/log/outcomes.ts';
import { findTask, forgetTasks } from '../../../src/store/tasks.ts';
import { onEachEngine } from '../../store/stores.ts';
import { refusal } from '../../support/refusal.ts';
import { Guarded } from './guarded.ts';

const MINUTE = 60_000;
const start = async () => {};

await onEachEngine(store => {
  const guarded = () => new Guarded(store.db).begin();
  const ended = (toolCallId: string, outcome: CallOutcome = 'ok') => ({
    ...{ toolCallId, outcome, durationMs: 5, result: null },
  });
  /** An approved task whose call runs. */
  async function running(g: Guarded): Promise<{ id: string; toolCallId: string }> {
    const id = await g.approved();
    return { id, toolCallId: ((await g.resume(id)) as Verdict).toolCallId };
  }
  function holder(held: readonly string[]) {
    const told: string[] = [];
    const tell = (what: string) => (id: string) => void told.push(`${what} ${id}`);
    const job = { resume: tell('resume'), lose: tell('lose'), cancel: tell('cancel'), letGo: tell('let go') };
    return { told, held: () => held, holds: (id: string) => held.includes(id), isIdle: () => false, ...job };
  }

  test('its process makes the call when it is approved, and lets it go when it is denied or lapses', async () => {
    const g = await guarded();
    const [approved, denied, late, other] = [
      await g.waiting({ args: 1 }),
      await g.waiting({ args: 2 }),
      await g.waiting({ args: 3 }),
      await g.waiting({ args: 4 }, g.two),
    ] as const;
    const held = holder([approved]);
    const job = answers(g.one, held);
    await job();
    expect(held.told).toEqual([]);
    await g.approve(approved);
    await g.approve(other);
    await resolveByOperator(g.one, 'admin', denied, { action: 'deny', grantMs: null });
    await job();
    expect(held.told.splice(0).toSorted()).toEqual([`lose ${denied}`, `resume ${approved}`]);
    g.now += MINUTE;
    await lapse(g.one, 100);
    await g.resume(approved, g.one, { args: 1 });
    await job();
    expect(held.told.splice(0).toSorted()).toEqual(
      [`let go ${approved}`, `lose ${denied}`, `lose ${late}`].toSorted(),
    );
  });

  test('its process lets go a call that another one holds now, or that was repeated', async () => {
    const g = await guarded();
    const [mine, theirs, repeated] = [
      await g.waiting({ args: 1 }),
      await g.waiting({ args: 2 }),
      await g.approved({ args: 3 }),
    ] as const;
    const held = holder([mine, theirs, repeated]);
    await g.waiting({ args: 2 }, g.two);
    expect((await g.verdict({ args: 3 }, g.two)).freedTask).toBe(repeated);
    await answers(g.one, held)();
    expect(held.told.toSorted()).toEqual([`let go ${theirs}`, `let go ${repeated}`].toSorted());
  });

  test('a process without a call looks seldom, and still finds what it was not told was written', async () => {
    const g = await guarded();
    const held = { ...holder([]), isIdle: () => true };
    const job = answers(g.one, held);
    await job();
    const id = await g.approved();
    await job();
    for (let seconds = 0; held.told.length === 0; seconds += 10) {
      expect(seconds).toBeLessThanOrEqual(20);
      g.now += 10_000;
      await job();
    }
    expect(held.told).toEqual([`lose ${id}`]);
  });

  test('its process cancels the running call when the client cancels it at any replica', async () => {
    const g = await guarded();
    const { id, toolCallId } = await running(g);
    const held = holder([]);
    const job = answers(g.one, held);
    await cancelTask(g.two, id);
    await job();
    expect(held.told.splice(0)).toEqual([`cancel ${id}`]);
    await endCall(g.one, ended(toolCallId, 'cancelled'));
    await cancelTask(g.two, id);
    await job();
    expect(held.told).toEqual([]);
  });

  test('cancelled while people are asked, its question is withdrawn, and the same call asks anew', async () => {
    const g = await guarded();
    const id = await g.waiting();
    const { token, hash } = mintToken('approval');
    await store.db.run('UPDATE approvals SET token_hash = $2 WHERE id = $1', [id, hash]);
    await cancelTask(g.two, id);
    await cancelTask(g.two, id);
    expect(await findTask(store.db, id)).toMatchObject({ approvalStatus: 'withdrawn', resolvedAt: g.now });
    const answer = { action: 'approve' as const, grantMs: null };
    expect(await refusal(resolveByOperator(g.one, 'admin', id, answer))).toMatchObject({ code: 'conflict' });
    expect(await refusal(resolveByLink(g.one, token, answer))).toMatchObject({ code: 'gone' });
    const events = await store.db.all('SELECT type FROM events WHERE reference_id = $1 ORDER BY id', [id]);
    expect(events).toEqual([{ type: 'approval.created' }, { type: 'approval.resolved' }]);
    expect(await g.waiting()).not.toBe(id);
  });

  test('cancelled after the approval and before it has begun, it does not begin, and the call asks anew', async () => {
    const g = await guarded();
    const id = await g.approved();
    await cancelTask(g.two, id);
    const cancelled = { state: 'gone', approvalStatus: 'approved', cancelAskedAt: g.now };
    expect(await findTask(store.db, id)).toMatchObject(cancelled);
    expect(await g.resume(id)).toBeInstanceOf(NotResumed);
    expect(await g.waiting()).not.toBe(id);
    const denied = await g.waiting({ args: 'denied' });
    await resolveByOperator(g.one, 'admin', denied, { action: 'deny', grantMs: null });
    await cancelTask(g.two, denied);
    expect(await findTask(store.db, denied)).toMatchObject({ cancelAskedAt: null, approvalStatus: 'denied' });
  });

  test('it ends in one step with its call, of which the first outcome counts', async () => {
    const g = await guarded();
    const { id, toolCallId } = await running(g);
    expect([...g.one.executing]).toEqual([toolCallId]);
    await endCall(g.one, ended(toolCallId, 'tool_error'));
    await giveUpCall(g.one, toolCallId);
    await endCall(g.one, ended(toolCallId));
    expect(g.one.executing.size).toBe(0);
    expect(await findExecution(store.db, toolCallId)).toBeNull();
    expect(await findTask(store.db, id)).toMatchObject({
      outcome: 'tool_error',
      executing: 0,
      processId: null,
    });
  });

  test('it is known while its call runs, and as long as its result is held', async () => {
    const g = await guarded();
    const { id, toolCallId } = await running(g);
    const waits = await g.waiting({ args: 'another' });
    g.now += 11 * MINUTE;
    await store.db.transaction({}, tx => forgetTasks(tx, g.now, 1000));
    expect(await findTask(store.db, waits)).toBeNull();
    await endCall(g.one, ended(toolCallId));
    expect(await findTask(store.db, id)).toMatchObject({ knownUntil: g.now + 10 * MINUTE });
  });

  test('a call that nobody forwards, because its commit seemed to fail, is given up', async () => {
    const g = await guarded();
    const job = strays(g.one);
    const [stray, other] = [await running(g), await running(g)];
    g.one.executing.delete(stray.toolCallId);
    g.now += 30_000;
    await job(start);
    expect(await findOutcome(store.db, stray.toolCallId)).toBeNull();
    g.now += 30_000;
    await job(start);
    expect(await findTask(store.db, stray.id)).toMatchObject({ outcome: 'outcome_unknown', processId: null });
    expect(await findTask(store.db, other.id)).toMatchObject({ outcome: null, executing: 1 });
  });
});
