// Patterns of RE2's syntax as programs, with the parser and compiler of @bufbuild/re2. pattern-match.ts and pattern-find.ts
// run them.

import { RE2JS } from '@bufbuild/re2';
import { ConditionFault } from './fault.ts';

const MAX_INSTRUCTIONS = 1_000;
/** The package expands repetitions before anybody can ask how large the program is. */
const MAX_EXPANDED = 100_000;

// The instructions of a program, as @bufbuild/re2 numbers them. Tests compare with that package's own matcher.
export const ALT = 1;
export const ALT_MATCH = 2;
export const CAPTURE = 3;
export const EMPTY_WIDTH = 4;
export const MATCH = 6;
export const NOP = 7;
export const RUNE = 8;

export type Program = ReturnType<RE2JS['re2']>['prog'];

export function newProgram(pattern: string, offset: number): Program {
  let repeated = 1;
  for (const [, least, most] of pattern.matchAll(/\{([0-9]+)(?:,([0-9]*))?\}/g)) {
    repeated = Math.min(1_000, repeated * Math.max(1, Number(least), Number(most ?? 0)));
  }
  const tooLarge = (compiled: number) => new ConditionFault('the pattern is too large', offset, compiled);
  if (pattern.length * repeated > MAX_EXPANDED) throw tooLarge(0);
  let program: Program;
  try {
    program = RE2JS.compile(pattern).re2().prog;
  } catch (error) {
    const why = error instanceof Error ? error.message.replace(/^error parsing regexp: /, '') : '';
    throw new ConditionFault(`the pattern is not valid: ${why}`, offset);
  }
  if (program.numInst() > MAX_INSTRUCTIONS) throw tooLarge(program.numInst());
  return program;
}

/** The assertions that hold between two characters, of which -1 is none: the flags of an EMPTY_WIDTH instruction. */
export function assertions(before: number, after: number): number {
  const lines =
    (before < 0 ? 0x05 : before === 0x0a ? 0x01 : 0) | (after < 0 ? 0x0a : after === 0x0a ? 0x02 : 0);
  return lines | (isWord(before) === isWord(after) ? 0x20 : 0x10);
}

function isWord(rune: number): boolean {
  return (
    (rune >= 0x61 && rune <= 0x7a) ||
    (rune >= 0x41 && rune <= 0x5a) ||
    (rune >= 0x30 && rune <= 0x39) ||
    rune === 0x5f
  );
}
