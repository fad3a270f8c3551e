// How far a task has come, as people see it: held, gone, running, and how it ended.

import { expect, test } from 'bun:test';
import type { Transaction } from '../../src/store/engine/db.ts';
import { insertExecutions } from '../../src/store/executions.ts';
import { insertOutcomes } from '../../src/store/log/outcomes.ts';
import { findTaskViews } from '../../src/store/task-views.ts';
import { putTask, type TaskRecord } from '../../src/store/tasks.ts';
import { NOW, onEachEngine } from './stores.ts';

await onEachEngine(store => {
  const work = (run: (tx: Transaction) => void) => store.db.transaction({}, async tx => run(tx));
  const put = (id: string, more: Partial<TaskRecord>) =>
    work(tx =>
      putTask(tx, {
        id,
        keyId: 'key-1',
        sessionId: null,
        personId: null,
        state: 'begun',
        processId: 'one',
        toolCallId: `call-of-${id}`,
        serverTaskEncrypted: null,
        createdAt: NOW,
        changedAt: NOW,
        knownUntil: NOW + 60_000,
        ...more,
      }),
    );
  const forwarded = (id: string, processId: string | null) => ({
    toolCallId: `call-of-${id}`,
    keyId: 'key-1',
    processId,
    at: NOW,
  });

  test('each state in its word', async () => {
    await put('held', { state: 'waiting', toolCallId: null });
    await put('gone', { state: 'gone', processId: null, toolCallId: null });
    await put('runs', {});
    await put('with-the-server', { processId: null });
    await put('ended', {});
    await put('denied-then', {});
    await put('lost', { processId: null });
    await work(tx => {
      insertExecutions(tx, [forwarded('runs', 'one'), forwarded('with-the-server', null)]);
      const outcomes = { ended: 'ok', lost: 'outcome_unknown' } as const;
      insertOutcomes(
        tx,
        Object.entries(outcomes).map(([id, outcome]) => ({
          toolCallId: `call-of-${id}`,
          outcome,
          durationMs: 5,
          at: NOW,
          result: null,
        })),
      );
    });
    const ids = ['held', 'gone', 'runs', 'with-the-server', 'ended', 'denied-then', 'lost', 'without'];
    const views = await findTaskViews(store.db, ids);
    expect(Object.fromEntries([...views].map(([id, each]) => [id, `${each.state} ${each.outcome}`]))).toEqual(
      {
        held: 'held null',
        gone: 'gone null',
        runs: 'runs null',
        'with-the-server': 'runs null',
        ended: 'ended ok',
        'denied-then': 'ended null',
        lost: 'ended outcome_unknown',
      },
    );
    expect(views.get('ended')).toMatchObject({ toolCallId: 'call-of-ended' });
    expect(views.get('held')).toMatchObject({ toolCallId: null });
  });
});
