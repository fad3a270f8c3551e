// What people read of the call of a task, by how far it has come.

import { expect, test } from 'bun:test';
import type { ListedApproval } from '../../../src/core/api/resources.ts';
import { runsOnApproval } from '../../../src/core/approvals/runs-on-approval.ts';
import { taskText } from '../../../src/core/approvals/task-text.ts';

type Task = NonNullable<ListedApproval['task']>;

const task = (state: Task['state'], outcome: Task['outcome'] = null): Task => ({
  state,
  toolCallId: null,
  outcome,
});
const NEVER = { spentAt: null, withdrawnAt: null };
const approved = (of: Task, more = {}) => taskText({ status: 'approved', task: of, ...NEVER, ...more });

test('before the answer, that the call is made then, and only if it is held', () => {
  expect(runsOnApproval({ status: 'pending', task: task('held') })).toContain('makes this call as soon as');
  expect(runsOnApproval({ status: 'pending', task: task('gone') })).toBeNull();
  expect(runsOnApproval({ status: 'pending' })).toBeNull();
  expect(runsOnApproval({ status: 'denied', task: task('held') })).toBeNull();
});

test('after it, what became of the call', () => {
  expect([
    approved(task('held')),
    approved(task('gone')),
    approved(task('gone'), { spentAt: '2026-11-16T09:00:00Z' }),
    approved(task('runs')),
    approved(task('ended', 'ok')),
    approved(task('ended', 'outcome_unknown')),
    approved(task('ended')),
  ]).toEqual([
    'waits to run',
    'no longer held: the agent has to call again',
    null,
    'runs now',
    'the tool answered',
    'it is not known whether this call ran',
    'not allowed any more, so it was not made',
  ]);
});

test('nothing where it was not approved, or has no task', () => {
  for (const status of ['pending', 'denied', 'timed_out', 'withdrawn'] as const)
    expect(taskText({ status, task: task('held'), ...NEVER })).toBeNull();
  expect(taskText({ status: 'approved', ...NEVER })).toBeNull();
});
