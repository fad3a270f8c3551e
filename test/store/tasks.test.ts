// Tasks, executions and idempotent calls in the store: who may begin a task, what a process that ended leaves behind, and what
// is forgotten.

import { expect, test } from 'bun:test';
import { insertApproval, withdrawQuestion } from '../../src/store/approvals.ts';
import * as executions from '../../src/store/executions.ts';
import * as idempotent from '../../src/store/idempotent-calls.ts';
import { findOutcome, insertOutcomes } from '../../src/store/log/outcomes.ts';
import * as tasks from '../../src/store/tasks.ts';
import { approvalRecord, NOW, onEachEngine } from './stores.ts';

function task(id: string, more: Partial<tasks.TaskRecord> = {}): tasks.TaskRecord {
  return {
    id,
    keyId: 'key-1',
    sessionId: null,
    personId: null,
    state: 'waiting',
    processId: 'one',
    toolCallId: null,
    serverTaskEncrypted: null,
    createdAt: NOW,
    changedAt: NOW,
    knownUntil: NOW + 60_000,
    ...more,
  };
}

await onEachEngine(store => {
  const put = (record: tasks.TaskRecord) => store.db.transaction({}, async tx => tasks.putTask(tx, record));
  const begin = (id: string, processId: string) =>
    store.db.transaction({}, tx => tasks.beginTask(tx, id, { processId, now: NOW, knownUntil: NOW }));

  test('only the process that holds the call may begin a task, and only once', async () => {
    await put(task('begun'));
    expect(await begin('begun', 'two')).toBe(false);
    expect(await begin('begun', 'one')).toBe(true);
    expect(await begin('begun', 'one')).toBe(false);
    await put(task('begun', { processId: 'two' }));
    await store.db.transaction({}, async tx => tasks.nameCall(tx, 'begun', 'call-1'));
    expect(await tasks.findTask(store.db, 'begun')).toMatchObject({ state: 'begun', toolCallId: 'call-1' });
    expect(await tasks.findTaskOfCall(store.db, 'call-1')).toMatchObject({ id: 'begun' });
  });

  test('a call that waits again is held by the process that took it last', async () => {
    await put(task('again'));
    await put(task('again', { processId: 'two' }));
    expect(await begin('again', 'one')).toBe(false);
    await tasks.loseTask(store.db, 'again', 'one', NOW);
    expect(await begin('again', 'two')).toBe(true);
  });

  test('answered tasks are those of the process whose approvals have ended', async () => {
    const [open, ended] = [approvalRecord(), approvalRecord({ status: 'approved', resolvedAt: NOW })];
    await store.db.transaction({}, async tx => {
      insertApproval(tx, open, 'open');
      insertApproval(tx, ended, 'ended');
      for (const { id } of [open, ended]) tasks.putTask(tx, task(id, { processId: 'three' }));
    });
    const due = { id: ended.id, state: 'waiting' as const, approvalStatus: 'approved' as const };
    expect(await tasks.listDueTasks(store.db, 'three', 9)).toEqual([due]);
    const withdrawn = await store.db.transaction({}, tx => withdrawQuestion(tx, open.id, NOW));
    expect(withdrawn).toMatchObject({ status: 'withdrawn', resolvedAt: NOW });
    expect(await store.db.transaction({}, tx => withdrawQuestion(tx, open.id, NOW))).toBeNull();
    expect(await tasks.findTask(store.db, open.id)).toMatchObject({ approvalStatus: 'withdrawn' });
  });

  test('a running call can be cancelled, and one that waits or has ended cannot', async () => {
    await put(task('running', { processId: 'four' }));
    expect(await tasks.askToCancel(store.db, 'running', NOW)).toBe(false);
    expect(await begin('running', 'four')).toBe(true);
    expect(await tasks.listDueTasks(store.db, 'four', 9)).toEqual([]);
    expect(await tasks.askToCancel(store.db, 'running', NOW)).toBe(true);
    const due = { id: 'running', state: 'begun' as const, approvalStatus: null };
    expect(await tasks.listDueTasks(store.db, 'four', 9)).toEqual([due]);
    await store.db.transaction({}, async tx => {
      tasks.nameCall(tx, 'running', 'call-4');
      tasks.endTaskOf(tx, 'call-4', NOW, NOW + 60_000);
    });
    expect(await tasks.listDueTasks(store.db, 'four', 9)).toEqual([]);
    expect(await tasks.askToCancel(store.db, 'running', NOW)).toBe(false);
  });

  test('a repeat takes a waiting task along, and one that has a call keeps it', async () => {
    await put(task('passed'));
    const pass = (toolCallId: string) =>
      store.db.transaction({}, tx =>
        tasks.passTaskOn(tx, 'passed', { toolCallId, processId: 'two', now: NOW, knownUntil: NOW + 90_000 }),
      );
    expect(await pass('call-a')).toBe(true);
    expect(await pass('call-b')).toBe(false);
    expect(await tasks.findTask(store.db, 'passed')).toMatchObject({
      toolCallId: 'call-a',
      processId: 'two',
      knownUntil: NOW + 90_000,
    });
  });

  test('what a process leaves behind is gone, or unknown until it is settled', async () => {
    const ids = ['left-1', 'left-2'];
    await store.db.transaction({}, async tx => {
      const running = { keyId: 'key-1', processId: 'dead', at: NOW };
      executions.insertExecutions(
        tx,
        ids.map(toolCallId => ({ ...running, toolCallId })),
      );
      tasks.putTask(tx, task('left', { processId: 'dead' }));
    });
    expect(await executions.processesAtWork(store.db)).toContain('dead');
    const left = (before: number) => executions.listForwardedBy(store.db, 'dead', before, 9);
    expect(await left(NOW)).toEqual([]);
    expect(await left(NOW + 1)).toEqual(ids);
    const giveUp = (by: string) =>
      store.db.transaction({}, tx => executions.giveUpExecutions(tx, by, [...ids, 'other'], NOW + 5));
    expect(await giveUp('one')).toEqual([]);
    expect((await giveUp('dead')).toSorted()).toEqual(ids);
    expect(await giveUp('dead')).toEqual([]);
    expect(await findOutcome(store.db, 'left-1')).toMatchObject({
      outcome: 'outcome_unknown',
      durationMs: 5,
    });
    await store.db.transaction({}, async tx => {
      insertOutcomes(tx, [{ toolCallId: 'left-1', outcome: 'ok', durationMs: 9, at: NOW, result: null }]);
      executions.endExecution(tx, 'left-1');
    });
    expect(await findOutcome(store.db, 'left-1')).toMatchObject({ outcome: 'outcome_unknown' });
    expect(await store.db.transaction({}, tx => tasks.loseTasks(tx, 'dead', NOW, 9))).toBe(1);
    expect(await tasks.findTask(store.db, 'left')).toMatchObject({ state: 'gone', processId: null });
    expect(await executions.processesAtWork(store.db)).not.toContain('dead');
    expect((await executions.listUnknown(store.db, 9, 'z')).map(each => each.toolCallId)).toEqual(
      ids.toReversed(),
    );
    const settle = (ran: boolean) =>
      store.db.transaction({}, tx =>
        executions.settleExecution(tx, 'left-1', { ran, by: 'admin', at: NOW, note: null }),
      );
    expect(await settle(true)).toBe(true);
    expect(await settle(false)).toBe(false);
    expect(await executions.findUnknown(store.db, 'left-1')).toMatchObject({ settledRan: 1 });
    expect((await executions.listUnknown(store.db, 9, 'z')).map(each => each.toolCallId)).toEqual(['left-2']);
  });

  test('an outcome ends the execution of its call', async () => {
    await store.db.transaction({}, async tx => {
      executions.insertExecutions(tx, [{ toolCallId: 'done', keyId: 'key-1', processId: 'one', at: NOW }]);
      tasks.putTask(tx, task('done', { toolCallId: 'done', state: 'begun' }));
    });
    expect(await tasks.findTask(store.db, 'done')).toMatchObject({ executing: 1, outcome: null });
    await executions.releaseExecution(store.db, 'done');
    expect(await executions.findExecution(store.db, 'done')).toMatchObject({ processId: null });
    await store.db.transaction({}, async tx => {
      insertOutcomes(tx, [{ toolCallId: 'done', outcome: 'ok', durationMs: 9, at: NOW + 9, result: null }]);
      executions.endExecution(tx, 'done');
      tasks.endTaskOf(tx, 'done', NOW + 9, NOW + 99);
    });
    const found = await tasks.findTask(store.db, 'done');
    expect(found).toMatchObject({ executing: 0, outcome: 'ok', endedAt: NOW + 9, knownUntil: NOW + 99 });
    expect(found?.processId).toBeNull();
  });

  test('tasks and idempotent calls are forgotten in their time', async () => {
    const call = {
      digest: 'd',
      keyId: 'key-1',
      callDigest: 'c',
      toolCallId: 'call-9',
      referenceId: null,
      verdict: '{}',
      knownUntil: NOW + 10,
    };
    await store.db.transaction({}, async tx => {
      idempotent.putIdempotent(tx, call);
      idempotent.putIdempotent(tx, { ...call, toolCallId: 'call-10' });
      tasks.putTask(tx, task('old', { knownUntil: NOW + 10 }));
    });
    const again = { ...call, toolCallId: 'call-10' };
    expect(await idempotent.findIdempotent(store.db, ['d', 'e', 'f'], NOW)).toEqual([again]);
    expect(await idempotent.isIdempotentCall(store.db, 'call-10', NOW)).toBe(true);
    expect(await idempotent.findIdempotent(store.db, ['d'], NOW + 10)).toEqual([]);
    const forget = (now: number) =>
      store.db.transaction({}, async tx => [
        await tasks.forgetTasks(tx, now, 9),
        await idempotent.forgetIdempotent(tx, now, 9),
      ]);
    expect(await forget(NOW)).toEqual([0, 0]);
    expect(await forget(NOW + 10)).toEqual([1, 1]);
  });
});
