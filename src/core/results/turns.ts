// Looking at a long result takes its time, so it is done in turns: whoever has it looked at may let others go on at each
// `yield`, or wait for nobody.

/** Work that can pause. */
export type InTurns<Result> = Generator<void, Result, void>;

/** Does all of it at once. */
export function atOnce<Result>(work: InTurns<Result>): Result {
  for (;;) {
    const turn = work.next();
    if (turn.done) return turn.value;
  }
}
