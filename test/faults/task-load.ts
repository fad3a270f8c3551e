// A load of calls that wait as tasks: people approve one after the other, and it runs by itself. To whoever counts, an
// approval that was sent is the request, and what became of the task is its answer.

import { until } from '../support/faults.ts';
import type { Answer, Load } from '../support/load.ts';
import type { TestService } from '../support/service.ts';
import { TasksClient } from '../support/tasks.ts';

/** Tasks that wait from the beginning, so that some are approved after whatever ends them. */
const WAITING = 12;
const CONNECTIONS = 2;

export interface TaskLoad {
  token: string;
  tool: string;
  /** The tasks that wait. */
  waiting: string[];
}

export async function newTaskLoad(service: TestService, token: string, tool: string): Promise<TaskLoad> {
  const load: TaskLoad = { token, tool, waiting: [] };
  while (load.waiting.length < WAITING) if (!(await ask(service, load))) throw new Error('a call is no task');
  return load;
}

/** Approves tasks on a replica until it is stopped. */
export function startTaskLoad(
  service: TestService,
  load: TaskLoad,
  answered: (answer: Answer) => void,
): Load {
  let isOver = false;
  const keepApproving = async () => {
    while (!isOver) {
      const sentAt = performance.now();
      const taskId = load.waiting.shift();
      const decision = taskId === undefined ? 'deny' : await approve(service, taskId);
      const text = JSON.stringify({ decision, toolCallId: '' });
      answered({ status: 200, text, token: load.token, sentAt, receivedAt: performance.now() });
      await ask(service, load);
    }
  };
  const done = Promise.all(Array.from({ length: CONNECTIONS }, keepApproving)).then(() => {});
  const stop = () => {
    isOver = true;
    return done;
  };
  return { done, stop, unanswered: 0 };
}

/** Makes a call, which waits as a task; false if it does not. */
async function ask(service: TestService, { token, tool, waiting }: TaskLoad): Promise<boolean> {
  const { result } = await new TasksClient(service, token).call(tool, { n: crypto.randomUUID() });
  if (result?.resultType !== 'task') return false;
  waiting.push(result.taskId);
  return true;
}

/** Whether the call of the task was allowed in the end. */
async function approve(service: TestService, taskId: string): Promise<'allow' | 'deny'> {
  const path = `/approvals/${taskId}`;
  const approved = await service.admin('POST', `${path}/resolve`, { action: 'approve' });
  if (approved.status !== 200) return 'deny';
  let outcome: string | null = null;
  await until('the call of the task has ended, or is gone', async () => {
    const { task } = (await service.admin('GET', path)).body;
    outcome = task.outcome;
    return task.state === 'ended' || task.state === 'gone';
  });
  return outcome === null ? 'deny' : 'allow';
}
