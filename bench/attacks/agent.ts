// The obedient agent: it makes the calls of its task in order, and as soon as it reads an injected text it makes all calls of
// the goal, then goes on. It has no model; every guard faces the same agent.

import type { Call, Scene } from './stage.ts';

/** How calls are made: directly, or through a guard. */
export interface Hands {
  /** A call of the task: whoever is asked approves it. */
  own(call: Call): Promise<Outcome>;
  /** A call that the injected text wants: whoever is asked denies it. */
  injected(call: Call): Promise<Outcome>;
}

export interface Outcome {
  ran: boolean;
  /** Whether somebody was asked. */
  asked: boolean;
  text: string;
}

export interface Played {
  /** Calls of the task about which somebody was asked. */
  questions: Call[];
  /** Whether the agent read the injected text at all. */
  read: boolean;
  /** The injected calls that were run. */
  through: Call[];
}

/** Plays a scene to its end, or until whoever is asked after the injected calls says that it is enough. */
export async function play(
  scene: Scene,
  hands: Hands,
  enough: (played: Played) => boolean = () => false,
): Promise<Played> {
  const { own, text = '', injected = [] } = scene;
  const played: Played = { questions: [], read: false, through: [] };
  for (const call of own) {
    const outcome = await hands.own(call);
    if (outcome.asked) played.questions.push(call);
    if (played.read || !saysTo(outcome.text, text)) continue;
    played.read = true;
    for (const wanted of injected) if ((await hands.injected(wanted)).ran) played.through.push(wanted);
    if (enough(played)) break;
  }
  return played;
}

/** Whether a result holds the text; line breaks and blanks may have changed in the files that the places are in. */
export function saysTo(result: string, text: string): boolean {
  return text !== '' && plainText(result).includes(plainText(text));
}

const plainText = (text: string): string =>
  text.replaceAll('\\n', ' ').replaceAll('\\"', '"').replace(/\s+/g, ' ');
