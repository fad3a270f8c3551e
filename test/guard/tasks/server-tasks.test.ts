// Calls on which a tool server works by itself: what is kept of them, and what becomes of those that nobody asks about.

import { expect, test } from 'bun:test';
import { newId } from '../../../src/guard/ids.ts';
import { endCall } from '../../../src/guard/tasks/end-call.ts';
import {
  followTaskOfServer,
  giveUpAbandoned,
  type ServerTask,
  serverTaskOf,
} from '../../../src/guard/tasks/server-tasks.ts';
import { findUnknown, insertExecutions } from '../../../src/store/executions.ts';
import { findOutcome } from '../../../src/store/log/outcomes.ts';
import { type FoundTask, findTask, putTask } from '../../../src/store/tasks.ts';
import { NOW, onEachEngine } from '../../store/stores.ts';
import { depsAt } from '../deps.ts';

const HOUR = 3_600_000;
const RESULTS = 600_000;
const SERVER_TASK: ServerTask = {
  id: 'job 17',
  connectedToolId: 'c1',
  sourceId: 's1',
  learns: { number: 3, id: 'r' },
};

await onEachEngine(store => {
  const principal = { keyId: newId(), sessionId: null, personId: undefined } as never;
  let now = NOW;
  const deps = () => depsAt(store.db, () => now);

  async function forwarded(): Promise<string> {
    const toolCallId = newId();
    const execution = { toolCallId, keyId: 'k', processId: 'p', at: now };
    await store.db.transaction({}, async tx => insertExecutions(tx, [execution]));
    return toolCallId;
  }

  test('a call without an approval gets a task under its own id, and its process does not wait any more', async () => {
    const toolCallId = await forwarded();
    await followTaskOfServer(deps(), { toolCallId, principal, ttlMs: HOUR }, SERVER_TASK);
    const task = (await findTask(store.db, toolCallId)) as FoundTask;
    expect(task).toMatchObject({
      keyId: (principal as { keyId: string }).keyId,
      state: 'begun',
      toolCallId,
      processId: null,
      executing: 1,
      outcome: null,
      createdAt: now,
      knownUntil: now + HOUR + RESULTS,
    });
    expect(task.serverTaskEncrypted).not.toContain('job');
    expect(serverTaskOf(deps(), task)).toEqual(SERVER_TASK);
    // What the server calls it counts for this call alone.
    expect(() => serverTaskOf(deps(), { ...task, toolCallId: newId() })).toThrow();
    expect(serverTaskOf(deps(), { ...task, serverTaskEncrypted: null })).toBeNull();
  });

  test('the task of an approval stands for it, and no time of the server is longer than a week', async () => {
    const [id, toolCallId] = [newId(), await forwarded()];
    const waiting = { keyId: 'k', sessionId: null, personId: null, state: 'begun' as const, processId: 'p' };
    const times = { createdAt: now, changedAt: now, knownUntil: now + 1000 };
    await store.db.transaction({}, async tx =>
      putTask(tx, { id, ...waiting, toolCallId, serverTaskEncrypted: null, ...times }),
    );
    await followTaskOfServer(deps(), { toolCallId, principal, ttlMs: 1e15 }, SERVER_TASK);
    expect(await findTask(store.db, toolCallId)).toBeNull();
    const task = (await findTask(store.db, id)) as FoundTask;
    expect(task).toMatchObject({ processId: null, knownUntil: now + 7 * 24 * HOUR + RESULTS });
    expect(serverTaskOf(deps(), task)).toEqual(SERVER_TASK);
  });

  test('a call that nobody can ask about any more is given up, and no other', async () => {
    const [early, late, ended, running] = [
      await forwarded(),
      await forwarded(),
      await forwarded(),
      await forwarded(),
    ];
    await followTaskOfServer(deps(), { toolCallId: early, principal, ttlMs: 1000 }, SERVER_TASK);
    await followTaskOfServer(deps(), { toolCallId: late, principal, ttlMs: null }, SERVER_TASK);
    await followTaskOfServer(deps(), { toolCallId: ended, principal, ttlMs: 1000 }, SERVER_TASK);
    await endCall(deps(), { toolCallId: ended, outcome: 'ok', durationMs: 1, result: null });
    now += 1000 + RESULTS;
    const giveUp = giveUpAbandoned();
    expect(await giveUp(deps())).toBe(false);
    expect((await findUnknown(store.db, early))?.unknownAt).toBe(now);
    expect((await findOutcome(store.db, early))?.outcome).toBe('outcome_unknown');
    for (const id of [late, running]) expect(await findOutcome(store.db, id)).toBeNull();
    expect((await findOutcome(store.db, ended))?.outcome).toBe('ok');
  });
});
