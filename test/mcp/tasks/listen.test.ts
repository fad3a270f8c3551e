// Subscriptions to tasks: what a client is told, in which order, from changes of which replica, and what ends them.

import { describe, expect, test } from 'bun:test';
import { GuardError } from '../../../src/core/errors.ts';
import type { JsonObject } from '../../../src/core/wire/json.ts';
import { Rations } from '../../../src/guard/rations/rations.ts';
import { taskIdsIn } from '../../../src/mcp/tasks/listen.ts';
import { type Listener, type OwnTasks, TaskSubscriptions } from '../../../src/mcp/tasks/subscriptions.ts';
import { TaskWatch } from '../../../src/mcp/tasks/task-watch.ts';
import type { Db } from '../../../src/store/engine/db.ts';
import { insertOutcomes } from '../../../src/store/log/outcomes.ts';
import * as tasks from '../../../src/store/tasks.ts';
import { depsAt } from '../../guard/deps.ts';
import { NOW, onEachEngine } from '../../store/stores.ts';
import { refusal } from '../../support/refusal.ts';

const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId';
const LARGE = 'x'.repeat(3 * 1024 * 1024);

/** A task of the key of the test, which waits for the answer of its tool server. */
function begun(id: string): tasks.TaskRecord {
  return {
    id,
    keyId: 'key-1',
    sessionId: null,
    personId: null,
    state: 'begun',
    processId: 'one',
    toolCallId: `call-${id}`,
    serverTaskEncrypted: null,
    createdAt: NOW,
    changedAt: NOW,
    knownUntil: NOW + 60_000,
  };
}

await onEachEngine(store => {
  const put = (...ids: string[]) =>
    store.db.transaction({}, async tx => {
      for (const id of ids) tasks.putTask(tx, begun(id));
    });
  const endTask = (id: string) =>
    store.db.transaction({}, async tx => {
      const toolCallId = `call-${id}`;
      insertOutcomes(tx, [{ toolCallId, at: NOW, outcome: 'ok', durationMs: 1, result: null }]);
      tasks.endTaskOf(tx, toolCallId, NOW + 1, NOW + 60_000);
    });

  test('a client is told which of its tasks it hears of, then how each is, and no more after the last has ended', async () => {
    await put('first', 'second');
    const client = new Client(store.db);
    await client.listen(['first', 'somebody-elses', 'second']);
    expect(await client.next()).toEqual({
      jsonrpc: '2.0',
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications: { taskIds: ['first', 'second'] }, _meta: { [SUBSCRIPTION]: 7 } },
    });
    const states = [await client.next(), await client.next()].map(each => each?.['params']);
    const working = { status: 'working', _meta: { [SUBSCRIPTION]: 7 } };
    expect(states).toEqual([
      { taskId: 'first', ...working },
      { taskId: 'second', ...working },
    ]);
    await endTask('second');
    store.db.wake();
    expect(await client.next()).toMatchObject({ params: { taskId: 'second', status: 'completed' } });
    // No signal comes this time: signals may be lost.
    await endTask('first');
    expect(await client.next()).toMatchObject({ params: { taskId: 'first', status: 'completed' } });
    expect(await client.next()).toEqual({
      jsonrpc: '2.0',
      id: 7,
      result: { resultType: 'complete', _meta: { [SUBSCRIPTION]: 7 } },
    });
    expect(await client.next()).toBeNull();
    expect(client.held).toBe(0);
  });

  test('a large result is read as slowly as its client likes, and counts for its key meanwhile', async () => {
    await put('large');
    await endTask('large');
    const client = new Client(store.db);
    await client.listen(['large']);
    await client.next();
    const [, piece] = [await client.read(), await client.read()];
    expect(piece?.length).toBeLessThan(LARGE.length);
    expect(client.held).toBeGreaterThan(LARGE.length);
    expect(JSON.stringify(await client.next()).length).toBeGreaterThan(LARGE.length);
    await client.next();
    expect(client.held).toBe(0);
  });

  test('one that hangs up is forgotten, and so is one whose credential was revoked', async () => {
    await put('left', 'revoked');
    const client = new Client(store.db);
    await client.listen(['left']);
    await client.next();
    await client.hangUp();
    await client.listen(['revoked']);
    client.revoked = true;
    expect(await client.next()).toMatchObject({ method: 'notifications/subscriptions/acknowledged' });
    expect(await client.next()).toBeNull();
    client.revoked = false;
    for (let opened = 0; opened < 50; opened++) await client.listen(['left']);
    expect(await refusal(client.listen(['left']))).toMatchObject({ code: 'rate_limited', retryAfter: 10 });
    client.subscriptions.end();
  });

  test('a stop of the service ends each with a result, also one that is opened late', async () => {
    await put('stopped');
    const client = new Client(store.db);
    await client.listen(['stopped']);
    client.subscriptions.end();
    expect(await client.next()).toMatchObject({ method: 'notifications/subscriptions/acknowledged' });
    expect(await client.next()).toMatchObject({ id: 7, result: { resultType: 'complete' } });
    await client.listen(['stopped']);
    await client.next();
    expect(await client.next()).toMatchObject({ id: 7, result: { resultType: 'complete' } });
  });
});

describe('the ids of a subscription', () => {
  const of = (notifications: JsonObject) => taskIdsIn({ params: { notifications } });
  test('are a list of texts, of which each counts once', () => {
    expect(of({ taskIds: ['a', 'b', 'a'] })).toEqual(['a', 'b']);
    expect(of({ toolsListChanged: true })).toBeNull();
    expect(taskIdsIn({ params: {} })).toBeNull();
  });
  test.each([['a'], [[1]], [['x'.repeat(129)]], [Array.from({ length: 51 }, String)]])('not %p', taskIds => {
    expect(() => of({ taskIds: taskIds as never })).toThrow(
      'Invalid params: "taskIds" is a list of at most 50 ids',
    );
  });
});

/** A client of its own replica, which reads message by message. */
class Client {
  readonly subscriptions: TaskSubscriptions;
  revoked = false;
  readonly #own: OwnTasks;
  readonly #rations = new Rations();
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  #text = '';

  constructor(db: Db) {
    // The store may be closed while it is read for the last time.
    const failed = () => {};
    this.#own = ownTasks(db);
    this.subscriptions = new TaskSubscriptions(new TaskWatch(depsAt(db), failed));
  }

  get held(): number {
    return this.#rations.held.answers;
  }

  async listen(taskIds: string[]): Promise<void> {
    const asked: Listener = {
      request: new Request('http://127.0.0.1/mcp'),
      principal: { keyId: 'key-1' },
      ration: this.#rations.answer('key-1'),
      confirm: async () => {
        if (this.revoked) throw new GuardError('unauthenticated', 'revoked');
      },
      reading: () => {},
      waiting: () => {},
    };
    const { body } = await this.subscriptions.open(asked, 7, taskIds, this.#own);
    this.#reader = body?.getReader() as ReadableStreamDefaultReader<Uint8Array>;
    this.#text = '';
  }

  /** The next piece; null at the end of the stream. */
  async read(): Promise<string | null> {
    const { value, done } = (await this.#reader?.read()) ?? { done: true };
    if (done || value === undefined) return null;
    const piece = new TextDecoder().decode(value);
    this.#text += piece;
    return piece;
  }

  /** The next message; null at the end of the stream. */
  async next(): Promise<JsonObject | null> {
    for (;;) {
      const end = this.#text.indexOf('\n\n');
      if (end < 0) {
        if ((await this.read()) === null) return null;
        continue;
      }
      const event = this.#text.slice(0, end);
      this.#text = this.#text.slice(end + 2);
      if (event.startsWith('event: message\ndata: '))
        return JSON.parse(event.slice('event: message\ndata: '.length));
    }
  }

  hangUp(): Promise<void> {
    return this.#reader?.cancel() ?? Promise.resolve();
  }
}

/** The tasks as the store has them. */
function ownTasks(db: Db): OwnTasks {
  const read = async (taskId: string) => {
    const found = await tasks.findTask(db, taskId);
    if (found === null) return null;
    if (found.outcome === null) return { taskId, status: 'working' };
    return { taskId, status: 'completed', result: taskId === 'large' ? { text: LARGE } : {} };
  };
  return { read, isKnown: async taskId => (await read(taskId)) !== null };
}
