// `matches`: whether a pattern of RE2's syntax matches. The compiled program is run here and not by the package that
// compiled it, because its work has to be counted in steps and its memory bounded whatever the text is: a program of n
// instructions may need n of them for each character. Sets of instructions that were seen before are remembered, by kinds
// of characters, so that usually a character costs one look-up.

import { utf8Length } from '../text/text-length.ts';
import {
  ALT,
  ALT_MATCH,
  assertions,
  CAPTURE,
  EMPTY_WIDTH,
  MATCH,
  NOP,
  newProgram,
  type Program,
  RUNE,
} from './pattern-program.ts';
import type { Steps } from './steps.ts';
import { Failure, TOO_MUCH_WORK } from './values.ts';

const MAX_BYTES = 4_096;
/** Remembered instructions and transitions of one pattern. */
const MAX_REMEMBERED = 20_000;
const INSTRUCTIONS_PER_STEP = 16;

const TOO_LONG = new Failure('A text given to matches() is longer than 4 KiB.');

interface State {
  readonly instructions: readonly number[];
  readonly isMatch: boolean;
  /** Some instructions are assertions such as `^` or `\b`, so what follows depends on both neighbours. */
  readonly asserts: boolean;
  readonly next: Map<number, Transition>;
}

/** What follows after a character. */
interface Transition {
  /** Null if the pattern is matched. */
  readonly state: State | null;
  readonly cost: number;
  /** Each check pays for it once, whether it was remembered or not: the result must not depend on earlier checks. */
  paidBy: number;
}

/** Characters beyond ASCII are looked up anew each time. */
const KINDS = 128;
/** The end of the text is a kind of its own. */
const END = KINDS;
const NOT_KEPT = -1;

/** Stands among instructions for one that says that the pattern is matched. */
const FOUND = -1;

export interface Matcher {
  (text: string, steps: Steps): boolean | Failure;
  /** How many instructions its program has. */
  readonly size: number;
}

export function compilePattern(pattern: string, offset: number): Matcher {
  const program = kept.get(pattern) ?? newProgram(pattern, offset);
  keep(pattern, program);
  // Most of its cost is to tell characters apart, for which whoever only checks a policy has no use.
  let machine: Machine | null = null;
  const matches = (text: string, steps: Steps) => {
    if (text.length > MAX_BYTES || utf8Length(text) > MAX_BYTES) return TOO_LONG;
    machine ??= new Machine(program);
    return machine.matches(text, steps);
  };
  return Object.assign(matches, { size: program.numInst() });
}

/** A pattern that was checked when its policy was saved: it is compiled when it is first compared with a text. */
export function checkedPattern(pattern: string, offset: number): Matcher {
  let matcher: Matcher | null = null;
  const matches = (text: string, steps: Steps) => {
    matcher ??= compilePattern(pattern, offset);
    return matcher(text, steps);
  };
  return Object.assign(matches, { size: 0 });
}

/** The programs that were used last: a policy that is saved is read, linted and used with the same patterns. */
const kept = new Map<string, Program>();
/** Instructions of all of them together. */
const MAX_KEPT = 100_000;
let keptSize = 0;

function keep(pattern: string, program: Program): void {
  if (kept.delete(pattern)) keptSize -= program.numInst();
  kept.set(pattern, program);
  keptSize += program.numInst();
  for (const [oldest, each] of kept) {
    if (keptSize <= MAX_KEPT) break;
    keptSize -= each.numInst();
    kept.delete(oldest);
  }
}

class Machine {
  readonly #program: Program;
  readonly #states = new Map<string, State>();
  #start: State | null = null;
  #remembered = 0;
  /** Which instructions the current walk has seen: those with its number. */
  readonly #seen: Uint32Array;
  #walk = 0;

  /** For each ASCII character, the first one that the pattern does not tell from it. */
  readonly #kinds: Uint8Array;

  constructor(program: Program) {
    this.#program = program;
    this.#kinds = kindsOf(program);
    this.#seen = new Uint32Array(program.numInst());
  }

  matches(text: string, steps: Steps): boolean | Failure {
    if (!steps.characters(4 * text.length)) return TOO_MUCH_WORK;
    // Memory is freed only between two texts: what one text adds is bounded by the steps that its check may take.
    if (this.#remembered > MAX_REMEMBERED) this.#forget();
    this.#start ??= this.#stateOf([this.#program.start]);
    let state = this.#start;
    let before = -1;
    for (let at = 0; !state.isMatch; ) {
      const rune = at < text.length ? text.codePointAt(at)! : -1;
      const around = state.asserts ? assertions(before, rune) : 0;
      if (rune < 0 && !state.asserts) return false;
      const kind = rune < 0 ? END : rune < KINDS ? this.#kinds[rune]! : NOT_KEPT;
      const transition = state.next.get(kind * 64 + around) ?? this.#step(state, rune, around, kind);
      if (transition.paidBy !== steps.check) {
        transition.paidBy = steps.check;
        if (!steps.spend(transition.cost)) return TOO_MUCH_WORK;
      }
      if (transition.state === null) return true;
      if (rune < 0) return false;
      state = transition.state;
      before = rune;
      at += rune > 0xffff ? 2 : 1;
    }
    return true;
  }

  #step(from: State, rune: number, around: number, kind: number): Transition {
    const reached = from.asserts ? this.#closure(from.instructions, around) : from.instructions;
    const state = reached.includes(FOUND)
      ? null
      : rune < 0
        ? from
        : this.#stateOf(this.#after(reached, rune));
    const instructions = reached.length + (state?.instructions.length ?? 0);
    const transition = { state, cost: Math.ceil(instructions / INSTRUCTIONS_PER_STEP), paidBy: 0 };
    if (kind !== NOT_KEPT) {
      from.next.set(kind * 64 + around, transition);
      this.#remembered++;
    }
    return transition;
  }

  /** A match may also begin after the character, so the start is always among them. */
  #after(reached: readonly number[], rune: number): number[] {
    const following = [this.#program.start];
    for (const each of reached) {
      const instruction = this.#program.getInst(each);
      if (instruction.op >= RUNE && instruction.matchRune(rune)) following.push(instruction.out);
    }
    return following;
  }

  #stateOf(from: readonly number[]): State {
    const instructions = this.#closure(from, null).sort((a, b) => a - b);
    const name = String.fromCharCode(...instructions);
    const known = this.#states.get(name);
    if (known !== undefined) return known;
    const has = (op: number) => instructions.some(each => this.#program.getInst(each).op === op);
    const state: State = { instructions, isMatch: has(MATCH), asserts: has(EMPTY_WIDTH), next: new Map() };
    this.#remembered += 1 + instructions.length;
    this.#states.set(name, state);
    return state;
  }

  /** What can be reached without a character. Assertions are passed, or not, once it is known which of them hold. */
  #closure(from: readonly number[], around: number | null): number[] {
    // The numbers start anew before they exceed 32 bits.
    if (this.#walk === 0xffff_ffff) this.#seen.fill(0);
    this.#walk = this.#walk === 0xffff_ffff ? 1 : this.#walk + 1;
    const walk = this.#walk;
    const reached: number[] = [];
    const waiting = [...from];
    for (let each = waiting.pop(); each !== undefined; each = waiting.pop()) {
      if (this.#seen[each] === walk) continue;
      this.#seen[each] = walk;
      const { op, out, arg } = this.#program.getInst(each);
      if (op === ALT || op === ALT_MATCH) waiting.push(out, arg);
      else if (op === NOP || op === CAPTURE) waiting.push(out);
      else if (op === EMPTY_WIDTH && around !== null) {
        if ((arg & ~around) === 0) waiting.push(out);
      } else if (op === MATCH && around !== null) reached.push(FOUND);
      else reached.push(each);
    }
    return reached;
  }

  #forget(): void {
    this.#states.clear();
    this.#start = null;
    this.#remembered = 0;
  }
}

/**
 * What is remembered must not tell which characters a text had, because a text is an argument. So it is kept by kinds of
 * characters that the pattern alone makes.
 */
function kindsOf(program: Program): Uint8Array {
  const instructions = Array.from({ length: program.numInst() }, (_, each) => program.getInst(each));
  const runes = instructions.filter(({ op }) => op >= RUNE);
  const first = new Map<string, number>();
  return Uint8Array.from({ length: KINDS }, (_, rune) => {
    const matched = runes.map(each => (each.matchRune(rune) ? '1' : '0')).join('');
    if (!first.has(matched)) first.set(matched, rune);
    return first.get(matched)!;
  });
}
