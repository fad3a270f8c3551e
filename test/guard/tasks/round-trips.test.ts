// How often the store is asked on the way of a call: that it may become a task, and is recorded as forwarded, may cost
// few round trips, because each of them is a wait on PostgreSQL. What is only written goes along with others.

import { expect, test } from 'bun:test';
import type { CheckRequest, Verdict } from '../../../src/guard/check/request.ts';
import { findOwnTask } from '../../../src/mcp/tasks/task-state.ts';
import { type Db, dbThrough, type Lane, type Transaction } from '../../../src/store/engine/db.ts';
import { onEachEngine } from '../../store/stores.ts';
import { Guarded } from './guarded.ts';

/** For a call that waits for people: one before its client is told of the task, one before it is forwarded. */
const MOST = 2;
const LOOK = { serverName: 'prod', toolName: 'look' };

await onEachEngine(store => {
  test('a call that is allowed at once costs no more round trips', async () => {
    const world = await Counted.on(store.db);
    await world.plain({ call: LOOK });
    const plain = await world.trips(() => world.plain({ call: LOOK }));
    expect(await world.trips(() => world.guarded.verdict({ call: LOOK }))).toBe(plain);
  });

  test('a call that becomes a task costs at most two more before it is forwarded', async () => {
    const world = await Counted.on(store.db);
    const { guarded } = world;
    await world.plain({ args: { n: 0 } });
    const plain = await world.trips(async () => {
      const args = { n: 1 };
      const { referenceId = null } = await world.plain({ args });
      await world.approve(referenceId as string);
      expect(await world.plain({ args, referenceId })).toMatchObject({ decision: 'allow' });
    });
    const task = await world.trips(async () => {
      const args = { n: 2 };
      const id = await guarded.waiting({ args });
      expect(await findOwnTask(guarded.one, guarded.principal(), id)).not.toBeNull();
      await world.approve(id);
      expect(await guarded.resume(id, guarded.one, { args })).toMatchObject({ decision: 'allow' });
    });
    expect(plain).toBeGreaterThan(0);
    expect(task - plain).toBeLessThanOrEqual(MOST);
  });
});

class Counted {
  readonly guarded: Guarded;
  #trips = 0;

  static async on(db: Db): Promise<Counted> {
    const world = new Counted(db);
    await world.guarded.begin();
    return world;
  }

  private constructor(db: Db) {
    this.guarded = new Guarded(dbThrough(db, lane => this.#counted(lane)));
  }

  /** How many round trips the work takes. */
  async trips(work: () => Promise<unknown>): Promise<number> {
    const before = this.#trips;
    await work();
    return this.#trips - before;
  }

  /** The same call of a client that knows no tasks. */
  async plain(more: Partial<CheckRequest>): Promise<Verdict> {
    const { taskable: _, tracked: __, ...request } = this.guarded.request(more);
    const [answer] = await this.guarded.judged(this.guarded.one, request);
    if (answer === undefined || answer instanceof Error) throw answer;
    return answer;
  }

  /** What people do is not on the way of the call. */
  async approve(id: string): Promise<void> {
    const before = this.#trips;
    await this.guarded.approve(id);
    this.#trips = before;
  }

  #asked<T>(answer: Promise<T>): Promise<T> {
    this.#trips++;
    return answer;
  }

  #counted(lane: Lane): Lane {
    return {
      all: (...args) => this.#asked(lane.all(...args)),
      run: (...args) => this.#asked(lane.run(...args)),
      transaction: (locks, work) =>
        this.#asked(lane.transaction(locks, tx => work(this.#countedTransaction(tx)))),
    };
  }

  #countedTransaction(tx: Transaction): Transaction {
    return {
      all: (...args) => this.#asked(tx.all(...args)),
      run: (...args) => this.#asked(tx.run(...args)),
      script: sql => this.#asked(tx.script(sql)),
      lock: locks => this.#asked(tx.lock(locks)),
      defer: (sql, params) => tx.defer(sql, params),
      insert: (into, values) => tx.insert(into, values),
      lockedAt: () => tx.lockedAt(),
    };
  }
}
