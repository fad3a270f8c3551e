// Where a pattern of RE2's syntax matches in a text: every character that a match covers is part of a find, whichever
// match it is. So nothing depends on which of several matches is preferred, and the time is linear whatever the pattern
// is: one walk from the end notes where a match can be completed, and one from the start follows those that begin. Finds
// that overlap are one; finds that only touch are two.

import type { Spent } from '../detectors/find.ts';
import { ConditionFault } from './fault.ts';
import { Edges } from './pattern-edges.ts';
import { assertions, newProgram, type Program, RUNE } from './pattern-program.ts';

/** The most instructions that are looked at for one result beyond what is remembered; it takes about a tenth of a second. */
const MOST_WORK = 4_000_000;
/** The instructions of all remembered states of a pattern, between two texts. */
const MAX_REMEMBERED = 20_000;
const ASCII = 128;
/** How many sets of assertions there are, and how many characters, hence kinds of them. */
const AROUND = 64;
const KINDS = 0x110000;

export interface Searcher {
  /** In UTF-16 units; null if the text takes too much work, with what was spent on others before. */
  (text: string, spent?: Spent): { from: number; to: number }[] | null;
  /** How many instructions its program has. */
  readonly size: number;
}

/** Throws a ConditionFault for a pattern that is not valid, or that matches the empty text. */
export function compileSearcher(pattern: string): Searcher {
  const program = newProgram(pattern, 0);
  const edges = new Edges(program);
  if (edges.matchesNothing()) throw new ConditionFault('the pattern matches an empty text', 0);
  let search: Search | null = null;
  const find = (text: string, spent: Spent = { work: 0 }) => {
    search ??= new Search(program, edges);
    return search.find(text, spent);
  };
  return Object.assign(find, { size: program.numInst() });
}

/** The instructions from which a match can be completed at one place of the text. */
interface State {
  readonly instructions: ReadonlySet<number>;
  /** Whether a match begins there. */
  readonly begins: boolean;
  /** The state before each kind of character that leads here. */
  readonly before: Map<number, number>;
  readonly steps: Map<number, Step>;
}

/** What a character means for the matches that are under way. */
interface Step {
  /** The number of the instructions that they have reached behind it. */
  readonly under: number;
  /** Whether a match that began before goes on, and whether any match covers the character. */
  readonly continues: boolean;
  readonly covers: boolean;
}

class Search {
  readonly #program: Program;
  readonly #edges: Edges;
  /** The instructions that take a character. */
  readonly #takes: number[] = [];
  #states: State[] = [];
  readonly #numbers = new Map<string, number>();
  /** Sets of instructions that matches under way have reached. */
  #sets: ReadonlySet<number>[] = [new Set()];
  readonly #setNumbers = new Map([['', NONE]]);
  readonly #kindNumbers = new Map<string, number>();
  readonly #ascii = new Int32Array(ASCII).fill(-1);
  #work = 0;
  #remembered = 0;

  constructor(program: Program, edges: Edges) {
    this.#program = program;
    this.#edges = edges;
    for (let each = 0; each < program.numInst(); each++)
      if (program.getInst(each).op >= RUNE) this.#takes.push(each);
  }

  find(text: string, spent: Spent): { from: number; to: number }[] | null {
    if (this.#remembered > MAX_REMEMBERED) this.#forget();
    this.#work = spent.work;
    const states = this.#completions(text);
    const finds = states === null ? null : this.#follow(text, states);
    spent.work = this.#work;
    return finds;
  }

  #forget(): void {
    this.#states = [];
    this.#numbers.clear();
    this.#sets = [new Set()];
    this.#setNumbers.clear();
    this.#setNumbers.set('', NONE);
    this.#remembered = 0;
  }

  /** The number of the state at each place of the text, from the end; an empty list if no match begins anywhere. */
  #completions(text: string): Int32Array | null {
    const found = new Int32Array(text.length + 1);
    // Which characters beyond ASCII a text has is forgotten with the text.
    const kinds = new Map<number, number>();
    let begins = false;
    let after = -1;
    let at = text.length;
    let rune = runeBefore(text, at);
    let number = this.#stateOf(this.#edges.ends, this.#around(rune, after));
    found[at] = number;
    while (rune >= 0) {
      at -= rune > 0xffff ? 2 : 1;
      const before = runeBefore(text, at);
      const kind = this.#kindOf(rune, kinds);
      const around = this.#around(before, rune);
      const state = this.#states[number]!;
      const key = kind * AROUND + around;
      let next = state.before.get(key);
      if (next === undefined) {
        next = this.#stateOf([...this.#edges.ends, ...this.#taking(rune, state.instructions)], around);
        state.before.set(key, next);
        if (this.#work > MOST_WORK) return null;
      }
      number = next;
      found[at] = number;
      begins ||= this.#states[number]!.begins;
      after = rune;
      rune = before;
    }
    return begins ? found : NOWHERE;
  }

  #around(before: number, after: number): number {
    return this.#edges.asserts ? assertions(before, after) : 0;
  }

  /** The instructions that take this character and lead into a set. */
  #taking(rune: number, into: ReadonlySet<number>): number[] {
    this.#work += this.#takes.length;
    return this.#takes.filter(each => {
      const instruction = this.#program.getInst(each);
      return into.has(instruction.out) && instruction.matchRune(rune);
    });
  }

  #stateOf(ends: readonly number[], around: number): number {
    const instructions = this.#edges.before(ends, around);
    this.#work += instructions.size;
    const name = nameOf(instructions);
    const known = this.#numbers.get(name);
    if (known !== undefined) return known;
    this.#remembered += 1 + instructions.size;
    const begins = instructions.has(this.#edges.start);
    const number = this.#states.push({ instructions, begins, before: new Map(), steps: new Map() }) - 1;
    this.#numbers.set(name, number);
    return number;
  }

  /** Characters that the pattern does not tell from each other are of one kind. */
  #kindOf(rune: number, kinds: Map<number, number>): number {
    const known = rune < ASCII ? this.#ascii[rune]! : (kinds.get(rune) ?? -1);
    if (known >= 0) return known;
    this.#work += this.#takes.length;
    const taken = this.#takes.map(each => (this.#program.getInst(each).matchRune(rune) ? '1' : '0')).join('');
    const kind = this.#kindNumbers.get(taken) ?? this.#kindNumbers.size;
    this.#kindNumbers.set(taken, kind);
    if (rune < ASCII) this.#ascii[rune] = kind;
    else kinds.set(rune, kind);
    return kind;
  }

  /** Follows the matches that begin, through instructions from which they can be completed. */
  #follow(text: string, states: Int32Array): { from: number; to: number }[] | null {
    const finds: { from: number; to: number }[] = [];
    const kinds = new Map<number, number>();
    let under = NONE;
    for (let at = 0; at < states.length - 1; ) {
      const { begins } = this.#states[states[at]!]!;
      if (under === NONE && !begins) {
        at++;
        continue;
      }
      const rune = text.codePointAt(at)!;
      const next = at + (rune > 0xffff ? 2 : 1);
      const around = this.#around(runeBefore(text, at), rune);
      const state = this.#states[states[next]!]!;
      const key = ((2 * under + Number(begins)) * KINDS + this.#kindOf(rune, kinds)) * AROUND + around;
      let step = state.steps.get(key);
      if (step === undefined) {
        step = this.#step(under, begins, around, rune, state.instructions);
        state.steps.set(key, step);
        if (this.#work > MOST_WORK) return null;
      }
      if (step.continues) finds.at(-1)!.to = next;
      else if (step.covers) finds.push({ from: at, to: next });
      under = step.under;
      at = next;
    }
    return finds;
  }

  #step(under: number, begins: boolean, around: number, rune: number, completing: ReadonlySet<number>): Step {
    const from = this.#sets[under]!;
    const going = this.#taken(from, around, rune, completing);
    const all = begins ? this.#taken([...from, this.#edges.start], around, rune, completing) : going;
    return { under: this.#setOf(all), continues: going.size > 0, covers: all.size > 0 };
  }

  #taken(
    from: Iterable<number>,
    around: number,
    rune: number,
    completing: ReadonlySet<number>,
  ): ReadonlySet<number> {
    const reached = this.#edges.after(from, around);
    this.#work += reached.size;
    const taken = new Set<number>();
    for (const each of reached) {
      const instruction = this.#program.getInst(each);
      if (instruction.op < RUNE || !completing.has(instruction.out)) continue;
      if (instruction.matchRune(rune)) taken.add(instruction.out);
    }
    return taken;
  }

  #setOf(instructions: ReadonlySet<number>): number {
    const name = nameOf(instructions);
    const known = this.#setNumbers.get(name);
    if (known !== undefined) return known;
    this.#remembered += 1 + instructions.size;
    const number = this.#sets.push(instructions) - 1;
    this.#setNumbers.set(name, number);
    return number;
  }
}

const nameOf = (instructions: ReadonlySet<number>): string =>
  String.fromCharCode(...[...instructions].sort((a, b) => a - b));

/** The number of the empty set. */
const NONE = 0;
const NOWHERE = new Int32Array(0);

/** The character that ends at a place, or -1 at the start. */
function runeBefore(text: string, at: number): number {
  if (at === 0) return -1;
  const unit = text.charCodeAt(at - 1);
  if ((unit & 0xfc00) !== 0xdc00 || at < 2) return unit;
  const rune = text.codePointAt(at - 2)!;
  return rune > 0xffff ? rune : unit;
}
