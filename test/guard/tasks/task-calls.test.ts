// What the audit transaction writes for calls of clients that know tasks: a task for a call that waits, an execution for
// one that is forwarded. The held call of a task is decided once, by the process that holds it, or follows a repeat.

import { describe, expect, test } from 'bun:test';
import { withdraw } from '../../../src/guard/approvals/approvals.ts';
import type { Verdict } from '../../../src/guard/check/request.ts';
import { NotResumed } from '../../../src/guard/check/task-calls.ts';
import { findApproval, listApprovals } from '../../../src/store/approvals.ts';
import { findExecution } from '../../../src/store/executions.ts';
import { findAudit, listAuditSince } from '../../../src/store/log/audit.ts';
import { findTask } from '../../../src/store/tasks.ts';
import { onEachEngine } from '../../store/stores.ts';
import { type Answer, ASKS, Guarded } from './guarded.ts';

const EVERY = 'g';

await onEachEngine(store => {
  const guarded = (more?: { tasks?: boolean; approveHere?: boolean }) => new Guarded(store.db).begin(more);
  const entries = async (g: Guarded) =>
    (await listAuditSince(store.db, '', 1000)).filter(each => each.keyId === g.keyId).length;
  const questions = async (g: Guarded) =>
    (await listApprovals(store.db, {}, 1000, EVERY)).filter(each => each.keyId === g.keyId).length;
  const task = (id: string) => findTask(store.db, id);
  const isAllowed = (answer: Answer) => !(answer instanceof Error) && answer.decision === 'allow';

  describe('a call that waits', () => {
    test('is a task of its session, until the approval ends and its result is not held any more', async () => {
      const g = await guarded();
      const { expiresAt = 0, ...verdict } = await g.verdict();
      expect(verdict).toMatchObject({ decision: 'pending', task: true });
      expect(verdict.approveHere).toBeUndefined();
      expect(await task(verdict.referenceId ?? '')).toMatchObject({
        keyId: g.keyId,
        sessionId: g.sessionId,
        personId: null,
        state: 'waiting',
        processId: g.one.processId,
        toolCallId: null,
        createdAt: g.now,
        knownUntil: expiresAt + 600_000,
        approvalStatus: 'pending',
      });
    });

    test('is the same task when it is repeated, held by the process that took it last', async () => {
      const g = await guarded();
      const id = await g.waiting();
      const { createdAt } = (await task(id)) ?? {};
      g.now += 1000;
      expect(await g.waiting({}, g.two)).toBe(id);
      expect(await task(id)).toMatchObject({ processId: g.two.processId, createdAt });
    });

    test('is no task to clients without tasks, nor to keys without them, nor to another session', async () => {
      const g = await guarded();
      const { task: none, referenceId } = await g.verdict({ taskable: undefined as never });
      expect(none).toBeUndefined();
      expect(await task(referenceId ?? '')).toBeNull();
      const without = await guarded({ tasks: false });
      expect((await without.verdict()).task).toBeUndefined();
      const ofKey = await guarded();
      const asked = await ofKey.waiting();
      const other = await ofKey.verdict({ principal: ofKey.principal(await ofKey.newSession()) });
      expect(other.referenceId).not.toBe(asked);
    });

    test('says whether people at the client may be sent to its page', async () => {
      const g = await guarded({ approveHere: true });
      expect(await g.verdict({ taskable: undefined as never })).toMatchObject({ approveHere: true });
      expect((await g.verdict({ surface: 'check', args: 2 })).approveHere).toBeUndefined();
    });
  });

  test('a tracked call that is allowed has an execution, and no other call has one', async () => {
    const g = await guarded();
    const look = { call: { serverName: 'prod', toolName: 'look' } };
    const answers = await g.judged(
      g.one,
      g.request(look),
      g.request({ ...look, tracked: undefined as never }),
      g.request({ call: { ...look.call, unsent: true } }),
      g.request(),
    );
    const found = await Promise.all(
      answers.map(each => findExecution(store.db, (each as Verdict).toolCallId)),
    );
    const [first = '', ...others] = answers.map(each => (each as Verdict).toolCallId);
    expect(others).toHaveLength(3);
    const { keyId, one } = g;
    expect(found).toEqual([
      { toolCallId: first, keyId, processId: one.processId, at: expect.any(Number) },
      null,
      null,
      null,
    ]);
  });

  describe('the held call of a task', () => {
    test('is freed by its approval, once, and runs with an entry of its own', async () => {
      const g = await guarded();
      const id = await g.approved();
      const verdict = (await g.resume(id)) as Verdict;
      expect(verdict).toMatchObject({ decision: 'allow' });
      expect(verdict.freedTask).toBeUndefined();
      expect(await task(id)).toMatchObject({
        state: 'begun',
        toolCallId: verdict.toolCallId,
        executing: 1,
        outcome: null,
      });
      expect(await findAudit(store.db, verdict.toolCallId)).toMatchObject({
        decision: 'allow',
        referenceId: id,
      });
      expect((await findApproval(store.db, id))?.spentAt).toBe(g.now);
      expect(await g.resume(id)).toBeInstanceOf(NotResumed);
    });

    test('is decided only by the process that holds it; otherwise nothing is recorded', async () => {
      const g = await guarded();
      const id = await g.approved();
      const before = await entries(g);
      const look = g.request({ call: { serverName: 'prod', toolName: 'look' } });
      const [not, other] = await g.judged(g.two, g.request({ resumes: id, referenceId: id }), look);
      expect(not).toBeInstanceOf(NotResumed);
      expect(isAllowed(other as Answer)).toBe(true);
      expect(await entries(g)).toBe(before + 1);
      expect((await findApproval(store.db, id))?.spentAt).toBeNull();
      expect(await task(id)).toMatchObject({ state: 'waiting', toolCallId: null });
      expect(isAllowed(await g.resume(id))).toBe(true);
    });

    test('runs once, whichever of two processes and a repeat is first', async () => {
      for (let round = 0; round < 4; round++) {
        const g = await guarded();
        const id = await g.waiting();
        await g.waiting({}, g.two);
        await g.approve(id);
        const answers = await Promise.all([
          g.resume(id, g.one),
          g.resume(id, g.two),
          g.judge({ taskable: undefined as never, tracked: undefined as never }, g.one),
        ]);
        const [allowed, ...more] = answers.filter(isAllowed) as Verdict[];
        expect(more).toHaveLength(0);
        expect(answers[0]).toBeInstanceOf(NotResumed);
        const found = await task(id);
        expect(found).toMatchObject({
          state: 'begun',
          toolCallId: allowed?.toolCallId as string,
          executing: 1,
        });
      }
    });

    test('ends the task also if it is denied now', async () => {
      const g = await guarded();
      const id = await g.approved();
      await g.rule([{ tool: '*', action: 'deny' }]);
      const denied = (await g.resume(id)) as Verdict;
      expect(denied.decision).toBe('deny');
      expect(await task(id)).toMatchObject({
        state: 'begun',
        toolCallId: denied.toolCallId,
        processId: null,
        executing: 0,
        knownUntil: g.now + 600_000,
      });
      expect((await findApproval(store.db, id))?.spentAt).toBeNull();
    });

    test('that would wait again asks nobody, and leaves no entry', async () => {
      const g = await guarded();
      const id = await g.approved();
      await withdraw(g.one, 'admin', id);
      const before = [await entries(g), await questions(g)];
      expect(await g.resume(id)).toBeInstanceOf(NotResumed);
      expect([await entries(g), await questions(g)]).toEqual(before);
      expect(await task(id)).toMatchObject({ state: 'gone', processId: null, toolCallId: null });
    });

    test('of a key that has lost its tasks is left to its client, who was told to repeat the call', async () => {
      const g = await guarded();
      const id = await g.approved();
      await store.db.run('UPDATE keys SET tasks = 0 WHERE id = $1', [g.keyId]);
      const before = await entries(g);
      expect(await g.resume(id)).toBeInstanceOf(NotResumed);
      expect([await entries(g), (await findApproval(store.db, id))?.spentAt]).toEqual([before, null]);
      const repeated = await g.verdict();
      expect(repeated).toMatchObject({ decision: 'allow', freedTask: id });
      expect(await g.resume(id)).toBeInstanceOf(NotResumed);
    });

    test('spends its approval also where no approval is needed any more', async () => {
      const g = await guarded();
      const id = await g.approved();
      await g.rule([{ tool: '*', action: 'allow' }]);
      expect(isAllowed(await g.resume(id))).toBe(true);
      await g.rule(ASKS);
      expect((await g.verdict()).decision).toBe('pending');
    });
  });

  describe('a repeat that is freed first', () => {
    test('takes the task along, also of a client without tasks and in the same group', async () => {
      const g = await guarded();
      const id = await g.approved();
      const plain = { taskable: undefined as never, tracked: undefined as never };
      const [repeat, held] = await g.judged(
        g.one,
        g.request(plain),
        g.request({ resumes: id, referenceId: id }),
      );
      const { toolCallId, ...verdict } = repeat as Verdict;
      expect(verdict).toMatchObject({ decision: 'allow', freedTask: id });
      expect(held).toBeInstanceOf(NotResumed);
      expect(await task(id)).toMatchObject({ state: 'begun', toolCallId, executing: 1 });
    });

    test('leaves alone a task that waits no more, and calls without tasks', async () => {
      const g = await guarded();
      const plain = { taskable: undefined as never, tracked: undefined as never };
      const asked = (await g.verdict(plain)).referenceId ?? '';
      await g.approve(asked);
      const verdict = await g.verdict(plain);
      expect(verdict.decision).toBe('allow');
      expect(verdict.freedTask).toBeUndefined();
      expect(await findExecution(store.db, verdict.toolCallId)).toBeNull();
    });
  });
});
