// Tries a policy on one call: it asks the same `decide` as the service, without grants or approvals, and says of each rule
// that matches by name whether it applies, and why. The command line and the dashboard's policy editor use it. Nothing of
// it is stored, so it may show the values that conditions read.

import type { CompiledPolicy } from './compiled-policy.ts';
import { Steps } from './condition/condition.ts';
import { type Considered, consider, Examiner } from './consider.ts';
import { type Decided, decide } from './decide.ts';
import type { Json, JsonObject } from './json.ts';
import { unitsAllowed, unitsOf } from './limit.ts';
import { joinName, splitName } from './name.ts';
import { type Situation, scopeOf, type ToolCall } from './situation.ts';
import { safeJson } from './visible.ts';

// A bare name is tried on a server whose name no pattern can contain, so that only a `*` matches it.
const ANY_SERVER = '\u0000';

/** The call that a name stands for: a full name splits at its first `__`; anything else is a bare tool name. */
export function callOf(tool: string): ToolCall {
  return splitName(tool) ?? { serverName: ANY_SERVER, toolName: tool };
}

/** Who makes the call that is tried, when, and with which arguments. */
export interface Tried {
  /** In milliseconds since 1970. */
  at: number;
  args?: JsonObject | undefined;
  scopeTools?: readonly string[] | null | undefined;
  /** The label of the session. */
  session?: string | undefined;
  keyName?: string | undefined;
  /** The e-mail address of whoever signed in. */
  person?: string | undefined;
  /** How much of limits is used, by their names, as decimal numbers. */
  used?: Readonly<Record<string, string>> | undefined;
}

export interface TraceStep {
  ruleIndex: number;
  /** Null when a condition could not be evaluated, or when no arguments were given and the rule depends on them. */
  applies: boolean | null;
  conditions: (boolean | 'error')[];
  why: string;
}

export interface Simulated extends Decided {
  /** The rules that match by name, up to the one that decides. */
  trace: TraceStep[];
}

export function simulate(policy: CompiledPolicy, call: ToolCall, tried: Tried): Simulated {
  const situation = situationOf(tried);
  const scope = tried.scopeTools == null ? null : new Set(tried.scopeTools);
  const considered = consider(policy, call, scope, situation);
  const outcome = decide(considered, {
    drift: null,
    freedom: null,
    approvalLimit: null,
    usedUp: isUsedUp(considered, tried.used ?? {}),
  });
  return {
    ...outcome,
    reason: outcome.reason.replaceAll(joinName(ANY_SERVER, ''), ''),
    trace: considered.inScope ? traceOf(considered, situation, tried.args === undefined) : [],
  };
}

function situationOf({ at, args, session, keyName = '', person }: Tried): Situation {
  return {
    now: at,
    surface: 'check',
    args,
    keyId: 'key',
    keyName,
    session: session === undefined ? null : { id: 'session', label: session },
    person: person === undefined ? null : { email: person, groups: [] },
    annotations: null,
  };
}

function isUsedUp({ meter }: Considered, used: Readonly<Record<string, string>>): boolean {
  if (meter === null || !Object.hasOwn(used, meter.limit.name)) return false;
  const { limit, name } = meter.limit;
  return (unitsOf(limit, used[name] as string) ?? 0) + meter.units > unitsAllowed(limit);
}

function traceOf(
  { policy, call, name, index: last }: Considered,
  situation: Situation,
  bare: boolean,
): TraceStep[] {
  const steps: TraceStep[] = [];
  const examiner = new Examiner(policy.id, call, situation);
  const scope = scopeOf(call, situation);
  for (const ruleIndex of policy.index.candidatesFor(name, call.toolName)) {
    const rule = policy.compiled.get(ruleIndex);
    if (rule === undefined) {
      steps.push({ ruleIndex, applies: true, conditions: [], why: 'it has no conditions' });
      break;
    }
    const conditions = rule.conditions.map(each => {
      const result = each.evaluate(scope, new Steps());
      return typeof result === 'boolean' ? result : ('error' as const);
    });
    const read = rule.limit?.sum ? [...rule.conditions, rule.limit.sum] : rule.conditions;
    const { applies, why } = examiner.examine(rule);
    const depends = bare && read.some(each => each.reads.some(({ path }) => path[0] === 'args'));
    const values = new Map(read.flatMap(each => each.readings(scope)).map(each => [each.text, each.value]));
    const shown = Array.from(values, ([text, value]) => `${text} ${shownValue(value)}`).join(', ');
    const said = depends ? 'depends on arguments' : why || 'it applies';
    steps.push({
      ruleIndex,
      applies: depends ? null : applies,
      conditions,
      why: depends || shown === '' ? said : `${said} (${shown})`,
    });
    if (ruleIndex === last) break;
  }
  return steps;
}

const MOST_SHOWN = 80;

function shownValue(value: Json | undefined): string {
  if (value === undefined) return 'is absent';
  const text = safeJson(value);
  return `is ${text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text}`;
}
