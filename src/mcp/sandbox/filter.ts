// Makes the seccomp filter: a program of the classic BPF machine that the kernel runs before each system call of a
// confined command. system-calls.ts says what is refused.

import type { Plan } from './plan.ts';
import {
  ALWAYS,
  type ArgumentTest,
  type CallName,
  ERRNO,
  FORKS,
  LIMITED_MEMORY,
  LIMITED_WRITE,
  NO_NETWORK,
  numberOf,
  type Rule,
} from './system-calls.ts';

interface Instruction {
  code: number;
  ifTrue: number;
  ifFalse: number;
  value: number;
}

const LOAD = 0x20;
const AND = 0x54;
const JUMP_IF_EQUAL = 0x15;
const JUMP_IF_AT_LEAST = 0x35;
const RETURN = 0x06;

const ALLOW = 0x7fff0000;
const ASK_SUPERVISOR = 0x7fc00000;
const REFUSE = 0x00050000;

const AUDIT_ARCH = process.arch === 'arm64' ? 0xc00000b7 : 0xc000003e;
/** Calls of the x32 convention have this bit in their numbers. */
const X32_BIT = 0x40000000;
/** Places in `struct seccomp_data`. */
const NUMBER_AT = 0;
const ARCH_AT = 4;
const ARGUMENTS_AT = 16;

const does = (code: number, value: number, ifTrue = 0, ifFalse = 0): Instruction => ({
  code,
  ifTrue,
  ifFalse,
  value,
});
const refuse = (refusal: Rule['refusal']) => does(RETURN, REFUSE | ERRNO[refusal]);

/** `asks`: the supervisor is asked before a process or thread is made. */
export type Filtered = Pick<Plan, 'network' | 'write' | 'memory' | 'asks'>;

export function filterOf({ network, write, memory, asks }: Filtered): Uint8Array {
  const rules = [
    ...ALWAYS,
    ...(network ? [] : NO_NETWORK),
    ...(write === null ? [] : LIMITED_WRITE),
    ...(memory === null ? [] : LIMITED_MEMORY),
  ];
  const named = new Set(rules.flatMap(({ calls }) => calls));
  const others = asks ? FORKS.filter(name => !named.has(name)) : [];
  const instructions = [
    // Calls of another architecture, such as 32-bit ones, have other numbers.
    does(LOAD, ARCH_AT),
    does(JUMP_IF_EQUAL, AUDIT_ARCH, 1, 0),
    refuse('ENOSYS'),
    does(LOAD, NUMBER_AT),
    does(JUMP_IF_AT_LEAST, X32_BIT, 0, 1),
    refuse('ENOSYS'),
    ...rules.flatMap(rule => rule.calls.flatMap(name => ofCall(name, rule, asks))),
    ...others.flatMap(name => onCall(name, [does(RETURN, ASK_SUPERVISOR)])),
    does(RETURN, ALLOW),
  ];
  return encoded(instructions);
}

function ofCall(name: CallName, { refusal, when }: Rule, asks: boolean): Instruction[] {
  if (when === undefined) return onCall(name, [refuse(refusal)]);
  const otherwise = asks && FORKS.includes(name) ? ASK_SUPERVISOR : ALLOW;
  return onCall(name, [...when.flatMap(test => ofTest(test, refusal)), does(RETURN, otherwise)]);
}

/** What is done for this call alone. It has to end in a return on every way. */
function onCall(name: CallName, then: Instruction[]): Instruction[] {
  const number = numberOf(name);
  return number === null ? [] : [does(JUMP_IF_EQUAL, number, 0, then.length), ...then];
}

function ofTest({ argument, mask, is = [], isNot }: ArgumentTest, refusal: Rule['refusal']): Instruction[] {
  const loaded = [does(LOAD, ARGUMENTS_AT + 8 * argument), ...(mask === undefined ? [] : [does(AND, mask)])];
  if (isNot === undefined)
    return [...loaded, ...is.flatMap(value => [does(JUMP_IF_EQUAL, value, 0, 1), refuse(refusal)])];
  const passes = isNot.map((value, at) => does(JUMP_IF_EQUAL, value, isNot.length - at, 0));
  return [...loaded, ...passes, refuse(refusal)];
}

function encoded(instructions: readonly Instruction[]): Uint8Array {
  const view = new DataView(new ArrayBuffer(8 * instructions.length));
  instructions.forEach(({ code, ifTrue, ifFalse, value }, index) => {
    view.setUint16(8 * index, code, true);
    view.setUint8(8 * index + 2, ifTrue);
    view.setUint8(8 * index + 3, ifFalse);
    view.setUint32(8 * index + 4, value >>> 0, true);
  });
  return new Uint8Array(view.buffer);
}
