// P31: a call of a task runs at most once, and its end is told or called unknown. Replicas, the tool server and clients are
// processes that are killed with SIGKILL at random moments, while people answer: two replicas on PostgreSQL, one on
// SQLite. The tool server writes each run down before it answers, and dies in the middle of some calls by itself. Clients have
// tasks and idempotency keys; they repeat calls, on either replica, and cancel tasks. After each round of kills there
// is quiet, and then every task is asked about on every replica, by its owner and by strangers. All kills are real. The seed
// makes the choices (what is called, how the tool behaves, what is answered); when exactly a kill comes is up to the machine.
// The mutants forward before the entry is safe, send again what was not answered, let two replicas take one task, and tell
// strangers of it.

import { expect, test } from 'bun:test';
import { figures, SEED, withMutant } from '../support/faults.ts';
import type { Patch } from '../support/mutant.ts';
import { LONG } from '../support/need.ts';
import { makeProgram } from '../support/program.ts';
import type { Engine } from '../support/service.ts';
import { enginesWhenChanged, sized, whenChanged } from '../support/when-changed.ts';
import { type Plan, TaskWorld } from './tasks/world.ts';

/** Of all processes, on each engine. */
const KILLS = sized(5200, 60, 20);
/**
 * A call of a process that has ended is given up within 10 s. A tool server that was killed often is left alone for up to a
 * minute before it is tried again, and each call may have to wait for that.
 */
const QUIET_MS = 180_000;
const PLAN: Plan = LONG
  ? { keys: 40, quietMs: QUIET_MS, kills: { replicas: 20, toolServer: 220, clients: 450 } }
  : { keys: 12, quietMs: QUIET_MS, kills: { replicas: 3, toolServer: 15, clients: 20 } };
/** At most; a mutant's run ends with the first round in which it is found out. */
const MUTANT_KILLS = 2000;
const MUTANT_PLAN: Plan = { keys: 16, quietMs: 20_000, kills: { replicas: 12, toolServer: 10, clients: 20 } };

interface Mutant {
  engine: Engine;
  patches: Patch[];
}

const MUTANTS: Record<string, Mutant> = {
  'that forwards before the entry is safe': {
    engine: 'sqlite',
    patches: [
      {
        file: 'src/guard/check/commit.ts',
        find: `tx =>
        this.#work.decideGroup(tx, requests),
      );`,
        replace: `async tx => {
        const early = await this.#work.decideGroup(tx, requests);
        group.forEach((each, index) => each.answer(early.results[index] as Result));
        await new Promise(resolve => setTimeout(resolve, 50));
        return early;
      });`,
      },
    ],
  },
  'that sends again what was not answered': {
    engine: 'sqlite',
    patches: [
      {
        file: 'src/mcp/forward.ts',
        find: '? send(services, sent, tool, toolCallId, call.onNotification)',
        replace: `? send(services, sent, tool, toolCallId, call.onNotification).catch(async () => {
          await Bun.sleep(100);
          return send(services, sent, tool, toolCallId, call.onNotification);
        })`,
      },
    ],
  },
  /** The approval is spent once as well, so that has to go too. */
  'whose replicas take a task that another one has': {
    engine: 'postgres',
    patches: [
      {
        file: 'src/store/tasks.ts',
        find: `WHERE id = $1 AND state = 'waiting' AND process_id = $2\``,
        replace: 'WHERE id = $1 AND process_id <> $5`',
      },
      {
        file: 'src/store/tasks.ts',
        find: '[id, processId, now, knownUntil],\n  );\n  return changed === 1;\n}\n\n/** Says which',
        replace: "[id, processId, now, knownUntil, ''],\n  );\n  return changed === 1;\n}\n\n/** Says which",
      },
      {
        file: 'src/store/usable-approvals.ts',
        find: "WHERE id = $1 AND status = 'approved' AND spent_at IS NULL AND withdrawn_at IS NULL",
        replace: "WHERE id = $1 AND status = 'approved'",
      },
      {
        file: 'src/store/usable-approvals.ts',
        find: 'grant_expires_at IS NULL AND spent_at IS NULL\n    AND withdrawn_at IS NULL AND resolved_at > $1`;',
        replace: 'grant_expires_at IS NULL AND resolved_at > $1`;',
      },
    ],
  },
  'that tells strangers of a task': {
    engine: 'sqlite',
    patches: [
      {
        file: 'src/mcp/tasks/task-state.ts',
        find: 'return task !== null && isOf(task, principal) ? task : null;',
        replace: 'return isOf === null || principal === null ? null : task;',
      },
    ],
  },
};

const both = await enginesWhenChanged('src/store/**', 'src/guard/**', 'src/mcp/**');
/** A replica of the program starts four times as fast as one of the source. */
const program = LONG ? [await makeProgram()] : undefined;

for (const engine of both)
  test(`${engine}: a call of a task runs at most once, and its end is told`, async () => {
    const found = await measure(engine, { kills: KILLS, plan: PLAN });
    expect(found.violations).toEqual([]);
    expect(found.tasks).toBeGreaterThan(0);
  });

for (const [what, { engine, patches }] of Object.entries(MUTANTS)) {
  if (!both.includes(engine)) continue;
  whenChanged(...patches)(`${engine}: a mutant ${what} is found out`, async () => {
    const { violations } = await withMutant(patches, root =>
      measure(engine, { kills: MUTANT_KILLS, plan: MUTANT_PLAN, root }),
    );
    expect(violations).not.toEqual([]);
  });
}

interface Measuring {
  kills: number;
  plan: Plan;
  root?: string;
}

async function measure(engine: Engine, { kills, plan, root }: Measuring) {
  const options = { engine, seed: SEED, ...(root ? { root } : program && { program }) };
  const world = await TaskWorld.start(options);
  const found = { violations: [] as string[], runs: 0, tasks: 0, unknown: 0, lateResults: 0 };
  const killed = () => Object.values(world.kills).reduce((sum, count) => sum + count, 0);
  try {
    do {
      const { violations, ...counted } = await world.round(plan);
      found.violations.push(...violations);
      if (root === undefined) for (const each of violations) console.log(each);
      for (const [name, count] of Object.entries(counted)) found[name as keyof typeof counted] += count;
    } while (killed() < kills && !(root !== undefined && found.violations.length > 0));
    return found;
  } finally {
    const { violations, ...counted } = found;
    figures(`P31 ${engine}${root ? ' mutant' : ''}`, {
      seed: SEED,
      operations: found.tasks,
      faults: killed(),
      ...world.kills,
      ...counted,
      violations: violations.length,
    });
    await world.close();
  }
}
