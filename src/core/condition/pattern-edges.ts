// The ways through the program of a pattern that take no character, forwards and backwards.

import { ALT, ALT_MATCH, CAPTURE, EMPTY_WIDTH, MATCH, NOP, type Program } from './pattern-program.ts';

/** What follows an instruction without a character, and what comes before it. */
export class Edges {
  readonly start: number;
  readonly ends: number[] = [];
  /** Whether some instruction asserts what is around it. */
  readonly asserts: boolean;
  readonly #out: number[][] = [];
  readonly #into: number[][] = [];
  /** What an instruction asserts; 0 for most. */
  readonly #asserted: number[] = [];

  constructor(program: Program) {
    this.start = program.start;
    const count = program.numInst();
    for (let each = 0; each < count; each++) {
      const { op, out, arg } = program.getInst(each);
      if (op === MATCH) this.ends.push(each);
      const branches = op === ALT || op === ALT_MATCH;
      const goesOn = branches || op === NOP || op === CAPTURE || op === EMPTY_WIDTH;
      this.#out.push(branches ? [out, arg] : goesOn ? [out] : []);
      this.#asserted.push(op === EMPTY_WIDTH ? arg : 0);
      this.#into.push([]);
    }
    this.#out.forEach((following, each) => {
      for (const next of following) this.#into[next]?.push(each);
    });
    this.asserts = this.#asserted.some(each => each !== 0);
  }

  /** Whether the end can be reached without a character, whatever is around. */
  matchesNothing(): boolean {
    const reached = this.after([this.start], -1);
    return this.ends.some(end => reached.has(end));
  }

  /** What can be reached from there without a character, where these assertions hold. */
  after(from: Iterable<number>, around: number): Set<number> {
    const reached = new Set(from);
    for (const each of reached)
      if (this.#passes(each, around)) for (const next of this.#out[each]!) reached.add(next);
    return reached;
  }

  /** Whence something of these can be reached without a character. */
  before(to: Iterable<number>, around: number): Set<number> {
    const reached = new Set(to);
    for (const each of reached)
      for (const from of this.#into[each]!) if (this.#passes(from, around)) reached.add(from);
    return reached;
  }

  #passes(each: number, around: number): boolean {
    return (this.#asserted[each]! & ~around) === 0;
  }
}
