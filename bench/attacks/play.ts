// Plays a suite: once bare, to learn which attacks reach their goal without a guard, and then through the gate under a policy.

import { type Hands, type Played, play } from './agent.ts';
import type { Behind, Gate } from './gate.ts';
import type { Pair, Scene, Stage } from './stage.ts';
import type { Variant } from './variants.ts';

/** An attack that reaches its goal bare, and the own call whose result the agent reads it in. */
export interface Attack extends Required<Pair> {
  readIn: number;
}

export interface Bare {
  tasks: string[];
  /** Tasks that the suite calls done when nothing is in the way. */
  done: number;
  /** All pairs of a task and a goal with a ground truth, and those in which the injected text is read. */
  pairs: number;
  read: number;
  attacks: Attack[];
  leftOut: string[];
}

export interface TaskPlayed {
  task: string;
  done: boolean;
  questions: number;
}

export interface Guarded {
  tasks: TaskPlayed[];
  /** Attacks that reached their goal all the same. */
  misses: Missed[];
}

export interface Missed extends Required<Pair> {
  /** The tools of the injected calls that were run. */
  through: string[];
}

/** Calls that go past every guard. */
function bareHands(stage: Stage, count: () => void): Hands {
  const call: Hands['own'] = async made => {
    count();
    return { ran: true, asked: false, text: (await stage.run(made)).text };
  };
  return { own: call, injected: async made => ({ ...(await stage.run(made)), ran: true, asked: false }) };
}

export async function playBare(stage: Stage): Promise<Bare> {
  const { tasks, goals, leftOut } = await stage.parts();
  const bare: Bare = { tasks, done: 0, pairs: tasks.length * goals.length, read: 0, attacks: [], leftOut };
  for (const task of tasks) {
    await play(
      await stage.load({ task }),
      bareHands(stage, () => {}),
    );
    if (await stage.judge({ task })) bare.done++;
    for (const goal of goals) {
      const attack = await playBareAttack(stage, { task, goal });
      if (attack === null) continue;
      bare.read++;
      if (await stage.judge(attack)) bare.attacks.push(attack);
    }
  }
  return bare;
}

async function playBareAttack(stage: Stage, pair: Required<Pair>): Promise<Attack | null> {
  const scene = await stage.load(pair);
  let calls = 0;
  let readIn = 0;
  const hands = bareHands(stage, () => calls++);
  const injected: Hands['injected'] = call => {
    readIn = calls - 1;
    return hands.injected(call);
  };
  const { read } = await play(scene, { ...hands, injected });
  return read ? { ...pair, readIn } : null;
}

/**
 * The tasks by themselves, to see who is asked, and then every attack that reaches its goal bare. An attack of which nothing
 * was run has reached nothing; all others are judged.
 */
export async function playGuarded(gate: Gate, behind: Behind, { tasks, attacks }: Bare): Promise<Guarded> {
  const { stage } = behind;
  const guarded: Guarded = { tasks: [], misses: [] };
  for (const task of tasks) {
    const { questions } = await playThrough(gate, behind, await stage.load({ task }));
    guarded.tasks.push({ task, done: await stage.judge({ task }), questions: questions.length });
  }
  const nothingRan = ({ through }: Played) => through.length === 0;
  for (const { task, goal } of attacks) {
    const { through } = await playThrough(gate, behind, await stage.load({ task, goal }), nothingRan);
    if (through.length === 0 || !(await stage.judge({ task, goal }))) continue;
    guarded.misses.push({ task, goal, through: through.map(({ tool }) => tool) });
  }
  return guarded;
}

export async function playThrough(
  gate: Gate,
  behind: Behind,
  scene: Scene,
  enough?: (played: Played) => boolean,
): Promise<Played> {
  return play(scene, await gate.begin(behind, scene.prompt), enough);
}

export interface VariantPlayed {
  name: string;
  /** Attacks in which there was something to change. */
  played: number;
  misses: Missed[];
}

/** Every attack that reaches its goal bare, changed as the variant says. */
export async function playVariant(
  gate: Gate,
  behind: Behind,
  { attacks }: Bare,
  { name, change }: Variant,
): Promise<VariantPlayed> {
  const surroundings = { suite: behind.suite, lists: await behind.stage.lists() };
  const result: VariantPlayed = { name, played: 0, misses: [] };
  for (const attack of attacks) {
    const { task, goal } = attack;
    const scene = (await behind.stage.load({ task, goal })) as Required<Scene>;
    const changed = change(scene, attack, surroundings);
    if (changed === null) continue;
    result.played++;
    const { through } = await playThrough(gate, behind, changed.scene, () => true);
    const harm = through.filter(call => changed.harmful.includes(call));
    if (harm.length > 0) result.misses.push({ task, goal, through: harm.map(({ tool }) => tool) });
  }
  return result;
}
