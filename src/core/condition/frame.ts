// What a compiled condition runs with, and the shape of its parts.

import type { Steps } from './steps.ts';
import type { Type } from './types.ts';
import type { Value } from './values.ts';

/** The values of the declared variables. An absent field is missing or undefined. */
export type Scope = Readonly<Record<string, unknown>>;

export interface Frame {
  readonly scope: Scope;
  readonly steps: Steps;
  /** The variables of macros, by their depth. */
  readonly locals: Value[];
}

export type Run = (frame: Frame) => Value;

/** A part of a condition, checked and compiled. */
export interface Part {
  readonly type: Type;
  readonly run: Run;
  readonly offset: number;
  /** The value, if the part is a literal. */
  readonly literal?: Value;
}

/** Something about a condition that is valid, but probably not what its author meant. */
export interface Remark {
  readonly message: string;
  readonly offset: number;
}
