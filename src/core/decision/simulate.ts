// Tries a policy on one call: it asks the same `decide` as the service, without grants or approvals. trace.ts says of
// each rule whether it applies, and why. The command line and the dashboard's policy editor use it, and store nothing.

import { agentCallOf, agentOf } from '../agents/acts-of.ts';
import { TriedRun } from '../flows/tried-run.ts';
import type { CompiledPolicy } from '../policy/compiled-policy.ts';
import { unitsOf } from '../policy/limit.ts';
import type { Situation, ToolCall } from '../policy/situation.ts';
import { ANY_SERVER, joinName, splitName } from '../text/name.ts';
import type { JsonObject } from '../wire/json.ts';
import { type Brings, broughtBy } from './brings.ts';
import { consider } from './consider.ts';
import { type Decided, decide } from './decide.ts';
import { reasonText } from './reason-text.ts';
import { hasRoom, type TraceStep, traceOf, type Used } from './trace.ts';

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
  /** The working folder of a coding agent, whose own tool is called. */
  folder?: string | undefined;
  used?: Used | undefined;
  /** What the session was minted with. */
  attributes?: JsonObject | undefined;
  /** The marks of the run. */
  marks?: readonly string[] | undefined;
  /** Texts that somebody who is trusted wrote in the run. */
  known?: readonly string[] | undefined;
}

export interface Simulated extends Omit<Decided, 'reason'> {
  /** For people. */
  reason: string;
  /** Nothing where the call is denied. */
  brings: Brings;
  trace: TraceStep[];
}

/** `run` is what earlier calls have left, where several are tried in one run; by default it begins with this one. */
export function simulate(
  policy: CompiledPolicy,
  call: ToolCall,
  tried: Tried,
  run: TriedRun = runOf(tried),
): Simulated {
  const { used = {}, scopeTools = null } = tried;
  const situation = { ...situationOf(call, tried), run };
  const considered = consider(policy, call, scopeTools === null ? null : new Set(scopeTools), situation);
  const usedUp = considered.meter !== null && !hasRoom(considered.meter, used);
  const outcome = decide(considered, { drift: null, freedom: null, approvalLimit: null, usedUp });
  return {
    ...outcome,
    reason: reasonText(outcome.reason, call).replaceAll(joinName(ANY_SERVER, ''), ''),
    brings: outcome.decision === 'deny' ? NOTHING : broughtBy(considered, outcome.ruleIndex),
    trace: traceOf(considered, situation, used),
  };
}

/** The run as it is before the first call. */
export function runOf({ marks = [], known = [] }: Pick<Tried, 'marks' | 'known'>): TriedRun {
  const run = new TriedRun();
  run.mark(marks);
  for (const text of known) run.learn(text);
  return run;
}

const NOTHING: Brings = { marks: [], knownResults: false };

/** What is wrong with an amount that is said to be used of a limit, or null. */
export function usedFault({ limits = {} }: CompiledPolicy, name: string, amount: string): string | null {
  const limit = Object.hasOwn(limits, name) ? limits[name] : undefined;
  if (limit === undefined) {
    const names = Object.keys(limits).join(', ');
    return `the policy has no limit "${name}"${names === '' ? '' : `; it has ${names}`}`;
  }
  if (unitsOf(limit, amount) !== null) return null;
  const unit = limit.calls === undefined ? `a multiple of ${limit.unit ?? 1}` : 'a whole number';
  return `what is used of the limit "${name}" must be ${unit} that is not negative`;
}

/** What a policy may know of a call that is tried. */
export function situationOf(call: ToolCall, tried: Tried): Situation {
  const { at, args, session, attributes, keyName = '', person, folder = null } = tried;
  const isInSession = session !== undefined || attributes !== undefined;
  const own = agentOf(call);
  return {
    now: at,
    surface: own?.agent ?? 'check',
    agent: own === null ? undefined : agentCallOf(own.agent, own.tool, args, folder),
    args,
    keyId: 'key',
    keyName,
    session: isInSession ? { id: 'session', label: session ?? '', attributes } : null,
    person: person === undefined ? null : { email: person, groups: [] },
    annotations: null,
  };
}
