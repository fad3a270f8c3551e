// The decider's specification in its most naive form: a table for the matcher, a linear scan for the rules. It is slow
// and obvious on purpose, and shares no code with what it tests. It also makes the random texts for the tests.

import type { Action, Rule } from '../../src/core/policy/policy.ts';
import type { JsonObject } from '../../src/core/wire/json.ts';
import type { Decider } from './decider.ts';

/** `reached[j]`: the pattern read so far matches the first j characters of the name. */
export function oracleMatches(pattern: string, name: string): boolean {
  let reached = Array.from({ length: name.length + 1 }, (_, j) => j === 0);
  for (const char of pattern.split('')) {
    const next: boolean[] = [];
    for (let j = 0; j <= name.length; j++) {
      if (char === '*') next.push(reached[j] === true || next[j - 1] === true);
      else next.push(j > 0 && reached[j - 1] === true && name[j - 1] === char);
    }
    reached = next;
  }
  return reached[name.length] === true;
}

/** By the full name; a pattern without `__` in it also by the bare name. */
export function oracleApplies(pattern: string, serverName: string, toolName: string): boolean {
  if (oracleMatches(pattern, `${serverName}__${toolName}`)) return true;
  return pattern.indexOf('__') === -1 && oracleMatches(pattern, toolName);
}

/** The conditions of random rules. With ARGS the first one is true, and the second one false. */
const YES = 'args.yes';
const NO = '!args.yes';
export const ARGS: JsonObject = { yes: true };

export function oracleFirst(rules: readonly Rule[], serverName: string, toolName: string): number {
  return rules.findIndex(
    ({ tool, when = [] }) => ![when].flat().includes(NO) && oracleApplies(tool, serverName, toolName),
  );
}

const DECISION = { allow: 'allow', deny: 'deny', require_approval: 'pending' } as const;

export function oracleDecision(rules: readonly Rule[], serverName: string, toolName: string) {
  const ruleIndex = oracleFirst(rules, serverName, toolName);
  const rule = rules[ruleIndex];
  if (rule === undefined) return { decision: 'deny', ruleIndex: null } as const;
  return { decision: DECISION[rule.action], ruleIndex } as const;
}

/** A small generator of random numbers (mulberry32): the same seed, the same run. */
export function seeded(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return below => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

export type Random = ReturnType<typeof seeded>;

export function randomText(random: Random, alphabet: string, maxLength: number, minLength = 0): string {
  let text = '';
  for (let left = minLength + random(maxLength - minLength + 1); left > 0; left--) {
    text += alphabet[random(alphabet.length)];
  }
  return text;
}

const ACTIONS: readonly Action[] = ['allow', 'deny', 'require_approval'];

export function randomRules(random: Random, maxRules: number): Rule[] {
  return Array.from({ length: random(maxRules + 1) }, () => ({
    tool: randomText(random, 'ab_*', 7, 1),
    action: ACTIONS[random(ACTIONS.length)] as Action,
  }));
}

/** The same with conditions that are true or false, on about half of the rules. */
export function randomConditions(random: Random, rules: readonly Rule[]): Rule[] {
  const pick = () => (random(2) === 0 ? YES : NO);
  return rules.map(rule => {
    const when = [undefined, undefined, pick(), [pick(), pick()]][random(4)];
    return when === undefined ? rule : { ...rule, when };
  });
}

export interface Comparison {
  decisions: number;
  pairs: number;
  mismatches: string[];
}

/** Random policies and calls through the decider and through the oracle. */
export function compare(decider: Decider, seed: number, policies: number, callsEach: number): Comparison {
  const random = seeded(seed);
  const result: Comparison = { decisions: 0, pairs: 0, mismatches: [] };
  for (let policy = 0; policy < policies; policy++) {
    const plain = randomRules(random, 24);
    const rules = policy % 2 === 0 ? plain : randomConditions(random, plain);
    const compiled = decider.compilePolicy({ id: 'p', name: 'p', version: 1, rules });
    for (let call = 0; call < callsEach; call++) {
      const serverName = randomText(random, 'ab', 2, 1);
      const toolName = randomText(random, 'ab_*', 6, 1);
      const got = decider.decide(compiled, { serverName, toolName }, { situation: { args: ARGS } });
      const want = oracleDecision(rules, serverName, toolName);
      result.decisions++;
      result.pairs += want.ruleIndex === null ? rules.length : want.ruleIndex + 1;
      if (got.decision === want.decision && got.ruleIndex === want.ruleIndex) continue;
      result.mismatches.push(
        `${serverName}__${toolName} with ${JSON.stringify(rules)}: ${got.ruleIndex}, not ${want.ruleIndex}`,
      );
    }
  }
  return result;
}
