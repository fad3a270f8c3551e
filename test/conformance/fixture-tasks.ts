// The tools of the fixture that answer with a task (io.modelcontextprotocol/tasks), as the scenarios `tasks-*` expect them.
// A task changes with the clock and with what its client sends; nothing runs in between.

import {
  elicit,
  Fault,
  filledIn,
  inputRequired,
  type JsonObject,
  type Result,
  type Tool,
} from './fixture-tools.ts';

export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';

/** What a task ends with. */
type End = { result: Result } | { error: { code: number; message: string } };

interface Task {
  taskId: string;
  createdAt: number;
  /** When it ends; null: only once all its questions are answered. */
  endsAt: number | null;
  end: End;
  /** What it asks its client and was not answered. */
  inputRequests: JsonObject;
  cancelledAt: number | null;
}

const tasks = new Map<string, Task>();

const text = (said: string): Result => ({ content: [{ type: 'text', text: said }] });
const complete = (result: Result): End => ({ result: { resultType: 'complete', ...result } });

function newTask(endsInMs: number | null, end: End, inputRequests: JsonObject = {}): Result {
  const createdAt = Date.now();
  const endsAt = endsInMs === null ? null : createdAt + endsInMs;
  const task: Task = {
    taskId: crypto.randomUUID(),
    createdAt,
    endsAt,
    end,
    inputRequests,
    cancelledAt: null,
  };
  tasks.set(task.taskId, task);
  return { resultType: 'task', ...base(task, 'working', createdAt) };
}

function base({ taskId, createdAt }: Task, status: string, changedAt: number): Result {
  return {
    taskId,
    status,
    createdAt: new Date(createdAt).toISOString(),
    lastUpdatedAt: new Date(changedAt).toISOString(),
    ttlMs: 600_000,
    pollIntervalMs: 200,
  };
}

function detailed(task: Task): Result {
  const { createdAt, endsAt, end, inputRequests, cancelledAt } = task;
  if (cancelledAt !== null) return base(task, 'cancelled', cancelledAt);
  if (Object.keys(inputRequests).length > 0)
    return { ...base(task, 'input_required', createdAt), inputRequests };
  if (endsAt === null || Date.now() < endsAt) return base(task, 'working', createdAt);
  return { ...base(task, 'result' in end ? 'completed' : 'failed', endsAt), ...end };
}

const declares = (capabilities: JsonObject): boolean =>
  ((capabilities['extensions'] ?? {}) as JsonObject)[TASKS_EXTENSION] !== undefined;

function needTasks(capabilities: JsonObject): void {
  if (declares(capabilities)) return;
  const data = { requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } } };
  throw new Fault(-32021, 'Missing required client capability', { status: 400, data });
}

/** Answers tasks/get, tasks/update and tasks/cancel. */
export function answerTask(method: string, params: JsonObject, capabilities: JsonObject): Result {
  needTasks(capabilities);
  const task = tasks.get(String(params['taskId']));
  if (task === undefined) throw new Fault(-32602, 'Task not found');
  const isOver = !['working', 'input_required'].includes(String(detailed(task)['status']));
  if (method === 'tasks/get') return detailed(task);
  if (method === 'tasks/cancel' && !isOver) task.cancelledAt = Date.now();
  if (method === 'tasks/update') {
    for (const key of Object.keys((params['inputResponses'] ?? {}) as JsonObject))
      delete task.inputRequests[key];
    if (Object.keys(task.inputRequests).length === 0) task.endsAt ??= Date.now();
  }
  return {};
}

/** A tool that can only answer with a task. */
function tasksOnly(description: string, run: Tool['run']): Tool {
  return {
    description,
    inputSchema: { type: 'object' },
    run: context => {
      needTasks(context.capabilities);
      return run(context);
    },
  };
}

export const TASK_TOOLS: Record<string, Tool> = {
  greet: {
    description: 'Greets at once, without a task',
    inputSchema: { type: 'object' },
    run: ({ args }) => text(`Hello, ${args['name']}!`),
  },
  slow_compute: {
    description: 'Takes some seconds',
    inputSchema: { type: 'object' },
    run: context => {
      const done = text(`Computed ${context.args['label']}`);
      return declares(context.capabilities)
        ? newTask(Number(context.args['seconds']) * 1000, complete(done))
        : done;
    },
  },
  failing_job: tasksOnly('Ends with an error of the tool', () =>
    newTask(1000, complete({ ...text('The job failed.'), isError: true })),
  ),
  protocol_error_job: tasksOnly('Ends with an error of the protocol', () =>
    newTask(0, { error: { code: -32603, message: 'The job broke.' } }),
  ),
  confirm_delete: tasksOnly('Asks before it deletes', ({ args }) =>
    newTask(null, complete(text(`Deleted ${args['filename']}`)), {
      confirm: elicit('Delete the file?', 'confirm', 'boolean'),
    }),
  ),
  multi_input: tasksOnly('Asks two things at once', () =>
    newTask(null, complete(text('Both were answered.')), {
      first: elicit('Your first name?', 'name'),
      second: elicit('Your last name?', 'name'),
    }),
  ),
  test_tool_with_task: tasksOnly('Asks before its task begins', ({ answers }) => {
    const name = filledIn(answers['user_name'], 'name');
    if (name === undefined) return inputRequired({ user_name: elicit('What is your name?', 'name') });
    return newTask(0, complete(text(`Hello, ${name}!`)));
  }),
};
