// The decider as one function, for tests that look at decisions only: the program's own, or that of a mutant.

import { join } from 'node:path';
import type * as consideration from '../../src/core/decision/consider.ts';
import type * as decision from '../../src/core/decision/decide.ts';
import type { Reason } from '../../src/core/decision/reason.ts';
import type * as texts from '../../src/core/decision/reason-text.ts';
import type * as recording from '../../src/core/decision/recorded-reason.ts';
import type { RecordedCall } from '../../src/core/foresight/evidence.ts';
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

/** A decision with its reason for people, as a code, and as it is stored. */
export interface Said extends Omit<decision.Decided, 'reason'> {
  reason: string;
  code: Reason;
  recorded: string;
}

export interface Decider {
  compilePolicy: typeof compiled.compilePolicy;
  considered(policy: compiled.CompiledPolicy, call: ToolCall, facts?: Facts): consideration.Considered;
  decide(policy: compiled.CompiledPolicy, call: ToolCall, facts?: Facts): Said;
}

export async function deciderIn(root = join(import.meta.dir, '../..')): Promise<Decider> {
  const load = (file: string) => import(join(root, 'src/core', file));
  const { compilePolicy } = (await load('policy/compiled-policy.ts')) as typeof compiled;
  const { consider } = (await load('decision/consider.ts')) as typeof consideration;
  const { decide } = (await load('decision/decide.ts')) as typeof decision;
  const { reasonText } = (await load('decision/reason-text.ts')) as typeof texts;
  const { recordedReason } = (await load('decision/recorded-reason.ts')) as typeof recording;
  const considered: Decider['considered'] = (policy, call, { scope = null, situation } = {}) =>
    consider(policy, call, scope, { ...PLAIN, ...situation });
  return {
    compilePolicy,
    considered,
    decide(policy, call, { scope, situation, ...facts } = {}) {
      const about = considered(policy, call, { scope: scope ?? null, situation: situation ?? {} });
      const known = { drift: null, freedom: null, approvalLimit: null, usedUp: false, ...facts };
      const { reason: code, ...decided } = decide(about, known);
      return { ...decided, reason: reasonText(code, call), code, recorded: recordedReason(code) };
    },
  };
}

/** What the audit log says about a call. */
export function recordOf(
  { serverName, toolName }: ToolCall,
  { decision, recorded: reason, ruleIndex }: Pick<Said, 'decision' | 'recorded' | 'ruleIndex'>,
  personId: string | null = null,
): RecordedCall {
  const about = { keyId: 'k', policyId: 'p', policyVersion: 1, personId };
  return { ...about, serverName, toolName, decision, reason, ruleIndex };
}
