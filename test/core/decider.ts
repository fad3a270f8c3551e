// The decider as one function, for tests that look at decisions only: the program's own, or that of a mutant.

import { join } from 'node:path';
import type * as consideration from '../../src/core/decision/consider.ts';
import type * as decision from '../../src/core/decision/decide.ts';
import type { RecordedCall } from '../../src/core/foresight/reasons.ts';
import type * as compiled from '../../src/core/policy/compiled-policy.ts';
import type { Situation, ToolCall } from '../../src/core/policy/situation.ts';

/** A call with a key, without a session and without arguments. */
export const PLAIN: Situation = {
  now: Date.UTC(2026, 10, 16, 12),
  surface: 'check',
  args: undefined,
  keyId: 'key',
  keyName: 'agent',
  session: null,
  person: null,
  annotations: null,
};

export interface Facts extends Partial<decision.Facts> {
  scope?: ReadonlySet<string> | null;
  situation?: Partial<Situation>;
}

export interface Decider {
  compilePolicy: typeof compiled.compilePolicy;
  considered(policy: compiled.CompiledPolicy, call: ToolCall, facts?: Facts): consideration.Considered;
  decide(policy: compiled.CompiledPolicy, call: ToolCall, facts?: Facts): decision.Decided;
}

export async function deciderIn(root = join(import.meta.dir, '../..')): Promise<Decider> {
  const load = (file: string) => import(join(root, 'src/core', file));
  const { compilePolicy } = (await load('policy/compiled-policy.ts')) as typeof compiled;
  const { consider } = (await load('decision/consider.ts')) as typeof consideration;
  const { decide } = (await load('decision/decide.ts')) as typeof decision;
  const considered: Decider['considered'] = (policy, call, { scope = null, situation } = {}) =>
    consider(policy, call, scope, { ...PLAIN, ...situation });
  return {
    compilePolicy,
    considered,
    decide(policy, call, { scope, situation, ...facts } = {}) {
      const about = considered(policy, call, { scope: scope ?? null, situation: situation ?? {} });
      return decide(about, { drift: null, freedom: null, approvalLimit: null, usedUp: false, ...facts });
    },
  };
}

/** What the audit log says about a call. */
export function recordOf(
  { serverName, toolName }: ToolCall,
  { decision, reason, ruleIndex }: decision.Decided,
  personId: string | null = null,
): RecordedCall {
  const about = { keyId: 'k', policyId: 'p', policyVersion: 1, personId };
  return { ...about, serverName, toolName, decision, reason, ruleIndex };
}
