// What a task says when the process that held its call, or waited for its answer, has ended; and that another replica knows
// as much of a task as the one that holds its call.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { newDataDir, until } from '../../support/faults.ts';
import { connect, outcomesOf, RecordingUpstream } from '../../support/mcp.ts';
import { engines, startService, type TestService } from '../../support/service.ts';
import { DECLARED, TasksClient } from '../../support/tasks.ts';

const RULES = [{ tool: '*', action: 'require_approval' as const }];
const GONE = 'Approved, but the call is no longer held: call again';
const LOST = 'It ran, but its result is no longer held';
const UNKNOWN = 'It is not known whether this call ran';
/** A process that has died is noticed this soon; the rest is for a machine that is busy. */
const NOTICED_MS = 30_000;

/** Calls that the tool server keeps open until the test lets them go on. */
const slow = new Map<string, PromiseWithResolvers<void>>();
const upstream = new RecordingUpstream({
  onCall: async ({ params: { arguments: args } }) => {
    await slow.get(args.n)?.promise;
    return said(args.n === 'long' ? 'x'.repeat(6_000_000) : args.n);
  },
});
const said = (n: string) => ({ content: [{ type: 'text', text: `did ${n}` }] });
const ranWith = (n: string) => upstream.calls.filter(each => each.params.arguments?.n === n).length;
const failedWith = (message: string) => ({
  status: 'failed',
  statusMessage: message,
  error: { code: -32603, message },
});
afterAll(() => upstream.stop());

interface Made {
  key: string;
  keyId: string;
}

async function newKey(service: TestService): Promise<Made> {
  const made = await service.newKey(RULES);
  await connect(service, made.keyId, 'up', upstream.url);
  return made;
}

/** A call that waits. */
async function asked(client: TasksClient, n: string = crypto.randomUUID()) {
  const { result, text } = await client.call('up__echo', { n });
  if (result?.resultType !== 'task') throw new Error(`it is no task: ${text}`);
  return { taskId: result.taskId as string, n };
}

async function approve(service: TestService, { taskId }: { taskId: string }): Promise<void> {
  const { status } = await service.admin('POST', `/approvals/${taskId}/resolve`, { action: 'approve' });
  expect(status).toBe(200);
}

/** A call that was approved and has reached the tool server, which keeps it. */
async function running(client: TasksClient) {
  const n = crypto.randomUUID();
  slow.set(n, Promise.withResolvers());
  const task = await asked(client, n);
  await approve(client.service, task);
  await until('it has arrived', () => ranWith(n) === 1);
  return { ...task, goOn: () => slow.get(n)?.resolve() };
}

/** The task is approved and gone, and the same call is freed by the approval. */
async function isGone(client: TasksClient, task: { taskId: string; n: string }): Promise<void> {
  expect((await client.get(task.taskId)).result.status).toBe('working');
  await approve(client.service, task);
  expect(await client.ends(task.taskId)).toMatchObject(failedWith(GONE));
  expect((await client.call('up__echo', { n: task.n })).result).toMatchObject(said(task.n));
  expect(ranWith(task.n)).toBe(1);
  expect((await client.get(task.taskId)).result).toMatchObject(failedWith(GONE));
}

describe('one service that starts again', () => {
  let service: TestService;
  let made: Made;
  const client = () => new TasksClient(service, made.key);
  beforeAll(async () => {
    service = await startService({ dataDir: newDataDir() });
    made = await newKey(service);
  });
  afterAll(async () => {
    await service.close();
    rmSync(service.dataDir, { recursive: true, force: true });
  });

  async function again(env: Record<string, string> = {}): Promise<void> {
    const { dataDir, databaseUrl } = service;
    service = await startService({ dataDir, databaseUrl, env });
  }

  test('a clean stop waits for calls that run, and lets go of those that wait', async () => {
    const waits = await asked(client());
    const runs = await running(client());
    const stopped = service.kill('SIGTERM');
    await until('it takes no more requests', () =>
      fetch(service.url).then(
        () => false,
        () => true,
      ),
    );
    runs.goOn();
    expect(await stopped).toBe(0);
    expect(service.output).toContain('this process stops, and holds no calls of tasks any more');
    expect(service.output).not.toContain('a process has ended');
    await again();
    expect(await outcomesOf(service, made.keyId)).toEqual(['ok']);
    expect((await client().get(runs.taskId)).result).toMatchObject(failedWith(LOST));
    await isGone(client(), waits);
  });

  test('a service that was killed does not know whether its call ran, and makes none that waited', async () => {
    const waits = await asked(client());
    const runs = await running(client());
    await service.kill();
    runs.goOn();
    await again({ TOOLGATE_MAX_CALLS_PER_KEY: '1', TOOLGATE_STOP_GRACE: '1s' });
    expect(await client().ends(runs.taskId, NOTICED_MS)).toMatchObject(failedWith(UNKNOWN));
    expect(ranWith(runs.n)).toBe(1);
    expect(await outcomesOf(service, made.keyId)).toContain('outcome_unknown');
    await isGone(client(), waits);
  });

  test('an approved call that finds no place waits for one', async () => {
    const runs = await running(client());
    const [task, cancelled] = [await asked(client()), await asked(client())];
    for (const each of [task, cancelled]) await approve(service, each);
    await client().cancel(cancelled.taskId);
    expect((await client().get(cancelled.taskId)).result.status).toBe('cancelled');
    const { status, statusMessage } = (await client().get(task.taskId)).result;
    expect([status, statusMessage]).toEqual([
      'working',
      'It was approved, and the call is about to be made.',
    ]);
    runs.goOn();
    for (const { taskId } of [runs, task])
      expect(await client().ends(taskId)).toMatchObject({ status: 'completed' });
    expect([ranWith(task.n), ranWith(cancelled.n)]).toEqual([1, 0]);
    expect((await asked(client(), cancelled.n)).taskId).not.toBe(cancelled.taskId);
  });

  test('a result that is too large to be held says so, and the call has run', async () => {
    const task = await asked(client(), 'long');
    await approve(service, task);
    const tooLarge = 'It ran, but its result is larger than 5 MiB, so it is not held';
    expect(await client().ends(task.taskId)).toMatchObject(failedWith(tooLarge));
    expect(ranWith('long')).toBe(1);
  });

  test('a stop that does not wait any longer leaves it unknown whether the call ran', async () => {
    const runs = await running(client());
    expect(await service.kill('SIGTERM')).toBe(0);
    runs.goOn();
    await again({ TOOLGATE_TASKS_MEMORY: '0' });
    expect((await client().get(runs.taskId)).result).toMatchObject(failedWith(UNKNOWN));
  });

  test('without room for calls, a task says so when it is approved', async () => {
    await isGone(client(), await asked(client()));
  });
});

describe.if((await engines()).includes('postgres'))('two replicas', () => {
  const dataDirs = [newDataDir(), newDataDir()];
  let one: TestService;
  let two: TestService;
  let made: Made;
  beforeAll(async () => {
    one = await startService({ engine: 'postgres', dataDir: dataDirs[0] as string });
    two = await startService({ databaseUrl: one.databaseUrl, dataDir: dataDirs[1] as string });
    made = await newKey(one);
  });
  afterAll(async () => {
    await Promise.all([one.close(), two.close()]);
    for (const each of dataDirs) rmSync(each, { recursive: true, force: true });
  });

  test('a call on one is approved and asked for on the other, and runs once', async () => {
    const client = new TasksClient(one, made.key);
    const task = await asked(client);
    expect((await client.at(two).get(task.taskId)).result.status).toBe('working');
    await approve(two, task);
    const ended = await client.at(two).ends(task.taskId);
    expect(ended).toMatchObject({ status: 'completed', result: said(task.n) });
    expect((await client.get(task.taskId)).result).toEqual(ended);
    expect(ranWith(task.n)).toBe(1);
  });

  test('the same call on another replica is the same task, which that one then holds', async () => {
    const client = new TasksClient(one, made.key);
    const task = await asked(client);
    expect((await asked(client.at(two), task.n)).taskId).toBe(task.taskId);
    await approve(one, task);
    expect(await client.ends(task.taskId)).toMatchObject({ status: 'completed', result: said(task.n) });
    expect(ranWith(task.n)).toBe(1);
  });

  /**
   * Approves a task while its holder stands still. One that stands still within a transaction keeps what it has locked, so it
   * then goes on for a moment.
   */
  async function approveWhileStill({ taskId }: { taskId: string }, grant = {}): Promise<void> {
    for (;;) {
      one.process.kill('SIGSTOP');
      const answer = { action: 'approve', ...grant };
      const { status } = await two.admin('POST', `/approvals/${taskId}/resolve`, answer);
      if (status === 200) return;
      one.process.kill('SIGCONT');
      expect(status).toBe(500);
    }
  }

  test.each([
    ['that knows tasks', DECLARED, {}],
    ['that does not', {}, {}],
    ['with an open grant', DECLARED, { duration: '1m' }],
  ])(
    'a call that a client %s repeats before its holder makes it is made for the task',
    async (_, capabilities, grant) => {
      const { key } = await newKey(one);
      const client = new TasksClient(one, key);
      const task = await asked(client);
      try {
        await approveWhileStill(task, grant);
        const repeating = new TasksClient(two, key, capabilities);
        expect((await repeating.call('up__echo', { n: task.n })).result).toMatchObject(said(task.n));
      } finally {
        one.process.kill('SIGCONT');
      }
      for (const each of [client, client.at(two)])
        expect(await each.ends(task.taskId)).toMatchObject({ status: 'completed', result: said(task.n) });
      expect(ranWith(task.n)).toBe(1);
    },
  );

  test('calls that are approved, cancelled and repeated at once run once at most, and none is refused', async () => {
    const { key, keyId } = await newKey(one);
    const client = new TasksClient(one, key);
    for (let round = 0; round < 16; round++) {
      const task = await asked(client);
      await approve(two, task);
      const { n } = task;
      const [cancelled, ...repeated] = await Promise.all([
        client.at(two).cancel(task.taskId),
        client.at(two).call('up__echo', { n }),
        client.call('up__echo', { n }),
      ]);
      expect(cancelled.result).toEqual({ resultType: 'complete' });
      for (const { text } of repeated) expect(text).not.toContain('could not be recorded');
      await client.ends(task.taskId);
      expect(ranWith(n)).toBeLessThanOrEqual(1);
    }
    expect(await outcomesOf(one, keyId)).not.toContain('outcome_unknown');
  });

  test('the other replica notices that one was killed', async () => {
    const client = new TasksClient(two, made.key);
    const waits = await asked(client.at(one));
    const runs = await running(client.at(one));
    await one.kill();
    runs.goOn();
    expect(await client.ends(runs.taskId, NOTICED_MS)).toMatchObject(failedWith(UNKNOWN));
    await isGone(client, waits);
    expect(ranWith(runs.n)).toBe(1);
  });
});
