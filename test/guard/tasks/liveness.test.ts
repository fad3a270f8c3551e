// What a process that died has left behind is given up by the others within ten seconds, by a clock that they share. One that
// lives is left alone, also after the store was away for all of them.

import { expect, test } from 'bun:test';
import type { Verdict } from '../../../src/guard/check/request.ts';
import { NotResumed } from '../../../src/guard/check/task-calls.ts';
import type { Deps } from '../../../src/guard/deps.ts';
import { endCall } from '../../../src/guard/tasks/end-call.ts';
import { Liveness } from '../../../src/guard/tasks/liveness.ts';
import { findExecution, findUnknown } from '../../../src/store/executions.ts';
import { findOutcome } from '../../../src/store/log/outcomes.ts';
import { findTask } from '../../../src/store/tasks.ts';
import { onEachEngine } from '../../store/stores.ts';
import { Guarded } from './guarded.ts';

await onEachEngine(store => {
  async function replicas() {
    const g = await new Guarded(store.db).begin();
    const left: unknown[] = [];
    const of = (deps: Deps, shared = true) =>
      new Liveness(deps, {
        shared,
        failed: error => {
          throw error;
        },
        gaveUp: each => left.push(each),
        clock: async () => g.now,
      });
    const [one, two] = [of(g.one), of(g.two)];
    /** Lets time pass while these processes renew their leases. */
    const pass = async (ms: number, ...alive: Liveness[]) => {
      for (let passed = 0; passed < ms; passed += 1000) {
        g.now += 1000;
        for (const each of alive) await each.round();
      }
    };
    return { g, of, one, two, pass, left };
  }
  /** A call that runs for a task, and a task that waits, at the first of them. */
  async function atWork(g: Guarded) {
    const id = await g.approved();
    const { toolCallId } = (await g.resume(id)) as Verdict;
    return { id, toolCallId, waiting: await g.waiting({ args: 'another' }) };
  }

  test('nobody gives up what belongs to a process that lives', async () => {
    const { g, one, two, pass, left } = await replicas();
    await Promise.all([one.start(), two.start()]);
    const { toolCallId, waiting } = await atWork(g);
    await pass(20_000, one, two);
    expect(left).toEqual([]);
    expect(await findExecution(store.db, toolCallId)).toMatchObject({ processId: g.one.processId });
    expect(await findTask(store.db, waiting)).toMatchObject({ state: 'waiting' });
    await Promise.all([one.stop(), two.stop()]);
  });

  test('what a dead process leaves is given up within ten seconds, once', async () => {
    const { g, one, two, pass, left } = await replicas();
    await Promise.all([one.start(), two.start()]);
    const { id, toolCallId, waiting } = await atWork(g);
    await pass(9000, one, two);
    await pass(7000, two);
    expect(left).toEqual([]);
    await pass(2000, two);
    expect(left).toEqual([{ calls: 1, tasks: 1 }]);
    expect(await findTask(store.db, id)).toMatchObject({ state: 'begun', outcome: 'outcome_unknown' });
    expect(await findTask(store.db, waiting)).toMatchObject({ state: 'gone', processId: null });
    expect(await findUnknown(store.db, toolCallId)).toMatchObject({ unknownAt: expect.any(Number) });
    await pass(9000, two);
    expect(left).toHaveLength(1);
    // Its late answer changes nothing, and it begins nothing that was taken from it.
    await endCall(g.one, { toolCallId, outcome: 'ok', durationMs: 5, result: null });
    expect(await findOutcome(store.db, toolCallId)).toMatchObject({ outcome: 'outcome_unknown' });
    expect(await findUnknown(store.db, toolCallId)).not.toBeNull();
    await g.approve(waiting);
    expect(await g.resume(waiting, g.one, { args: 'another' })).toBeInstanceOf(NotResumed);
    await Promise.all([one.stop(), two.stop()]);
  });

  test('a process that could not renew its lease does not take itself for alive', async () => {
    const { g, one, pass } = await replicas();
    expect(one.isAlive).toBe(false);
    await one.start();
    expect(one.isAlive).toBe(true);
    await pass(8000);
    expect(one.isAlive).toBe(false);
    await one.round();
    expect(one.isAlive).toBe(true);
    await one.stop();
    expect(one.isAlive).toBe(false);
    expect(g.one.processId).not.toBe(g.two.processId);
  });

  test('a process that was held up forwards only what nobody has given up meanwhile', async () => {
    const { g, one, two, pass } = await replicas();
    await Promise.all([one.start(), two.start()]);
    await pass(9000, one, two);
    const [first, second] = [await atWork(g), await atWork(g)];
    expect(await one.mayForward(first.toolCallId)).toBe(true);
    await pass(8000);
    expect(one.isAlive).toBe(false);
    expect(await one.mayForward(first.toolCallId)).toBe(true);
    expect(one.isAlive).toBe(true);
    await pass(1000, two);
    await pass(18_000, two);
    expect(await one.mayForward(second.toolCallId)).toBe(false);
    await Promise.all([one.stop(), two.stop()]);
  });

  test('after the store was away for all of them, everybody gets the time to come back', async () => {
    const { g, one, two, pass, left } = await replicas();
    await Promise.all([one.start(), two.start()]);
    const { toolCallId } = await atWork(g);
    await pass(9000, one, two);
    await pass(60_000);
    await two.round();
    await pass(3000, two);
    await one.round();
    await pass(20_000, one, two);
    expect(left).toEqual([]);
    expect(await findExecution(store.db, toolCallId)).not.toBeNull();
    await Promise.all([one.stop(), two.stop()]);
  });

  test('a process that stops gives up its own', async () => {
    const { g, one, left } = await replicas();
    await one.start();
    const { waiting, id } = await atWork(g);
    await one.stop();
    expect(left).toEqual([{ calls: 1, tasks: 1 }]);
    expect(await findTask(store.db, waiting)).toMatchObject({ state: 'gone' });
    expect(await findTask(store.db, id)).toMatchObject({ outcome: 'outcome_unknown' });
  });

  test('a process that is alone gives up at its start what others have left', async () => {
    const { g, of, left } = await replicas();
    const { waiting } = await atWork(g);
    const alone = of(g.two, false);
    expect(alone.isAlive).toBe(true);
    await alone.start();
    expect(left).toEqual([{ calls: 1, tasks: 1 }]);
    expect(await findTask(store.db, waiting)).toMatchObject({ state: 'gone' });
  });

  test('much is given up in several steps', async () => {
    const { g, of, left } = await replicas();
    const look = g.request({ call: { serverName: 'prod', toolName: 'look' } });
    await g.judged(g.one, ...Array.from({ length: 230 }, () => ({ ...look })));
    await of(g.two, false).start();
    expect(left).toEqual([{ calls: 230, tasks: 0 }]);
  });
});
