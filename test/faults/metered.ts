// What the tests of limits share: policies with limits, the calls that count against them, and what the audit log says
// about it. The log has no arguments, so a tool's name says its amount: `spend_125` is called with 1.25.

import type { Limit } from '../../src/core/policy/limit.ts';
import type { Limits, Rule } from '../../src/core/policy/policy.ts';
import { sql } from '../support/faults.ts';

export interface Version {
  rules: Rule[];
  limits: Limits;
}

const RULES: Rule[] = [
  { tool: 'rolling', action: 'allow', limit: 'rolling' },
  { tool: 'hourly', action: 'allow', limit: 'hourly' },
  { tool: 'spend_*', action: 'allow', limit: 'spent' },
  { tool: 'asked', action: 'allow', limit: 'asked' },
];

const LIMITS = {
  rolling: { calls: 12, within: '3m' },
  hourly: { calls: 30, each: 'hour', per: 'policy' },
  spent: { sum: 'args.amount', unit: 0.01, atMost: 10, within: '1m', per: 'session' },
  asked: { calls: 5, within: '1m', beyond: 'require_approval' },
} satisfies Limits;

const FIRST: Version = { rules: RULES, limits: LIMITS };

/** Each is in force for a while: the same, more calls, fewer calls, and another window, unit or subject. */
export const VERSIONS: readonly Version[] = [
  FIRST,
  { rules: RULES.toReversed(), limits: LIMITS },
  { rules: RULES, limits: { ...LIMITS, rolling: { ...LIMITS.rolling, calls: 16 } } },
  { rules: RULES, limits: { ...LIMITS, rolling: { ...LIMITS.rolling, calls: 9 } } },
  {
    rules: RULES,
    limits: {
      ...LIMITS,
      rolling: { calls: 9, within: '4m' },
      spent: { ...LIMITS.spent, unit: 0.001 },
      hourly: { ...LIMITS.hourly, per: 'key' },
    },
  },
];

export const AMOUNTS = [1, 7, 10, 125, 230, 301];
export const TOOLS = ['rolling', 'hourly', 'asked', ...AMOUNTS.map(cents => `spend_${cents}`)];

export function argsOf(toolName: string): { amount?: number } {
  const cents = /^spend_(\d+)$/.exec(toolName)?.[1];
  return cents === undefined ? {} : { amount: Number(cents) / 100 };
}

/** An allowed call of the log, with what it must have counted for. */
interface Allowed {
  limitName: string;
  limit: Limit;
  subject: string;
  units: number;
  /** By the clock of the replica that recorded it. */
  at: number;
  /** Freed by an approval or a grant, which may exceed the limit. */
  freed: boolean;
}

interface Row {
  at: number;
  key_id: string;
  session_id: string | null;
  tool_name: string;
  policy_version: number;
  rule_index: number;
  reference_id: string | null;
}

async function allowedIn(databaseUrl: string, policyId: string, versions: readonly Version[]) {
  const rows = await sql<Row>(
    databaseUrl,
    `SELECT at, key_id, session_id, tool_name, policy_version, rule_index, reference_id FROM audit
     WHERE decision = 'allow' AND policy_id = '${policyId}' ORDER BY at`,
  );
  return rows.map((row): Allowed => {
    const { rules, limits } = versions[row.policy_version - 1] as Version;
    const limitName = rules[row.rule_index]?.limit ?? '';
    const limit = limits[limitName] as Limit;
    const subjects = { key: row.key_id, session: row.session_id ?? '', policy: policyId, person: '' };
    return {
      limitName,
      limit,
      subject: subjects[limit.per ?? 'key'],
      units: unitsOf(limit, row.tool_name),
      at: Number(row.at),
      freed: row.reference_id !== null,
    };
  });
}

const unitsOf = ({ unit = 1, calls }: Limit, toolName: string): number =>
  calls === undefined ? Math.round((argsOf(toolName).amount ?? 0) / unit) : 1;
const unitsAllowed = ({ unit = 1, calls, atMost = 0 }: Limit): number => calls ?? Math.round(atMost / unit);

export interface Found {
  allowed: number;
  freed: number;
  violations: string[];
}

/** Compares the log with the limits and, if no call is under way, with the counts. */
export async function meteredFaults(
  databaseUrl: string,
  policyId: string,
  versions: readonly Version[],
  underWay: boolean,
): Promise<Found> {
  const allowed = await allowedIn(databaseUrl, policyId, versions);
  const freed = allowed.filter(each => each.freed).length;
  const counts = underWay ? [] : await miscounted(databaseUrl, policyId, allowed);
  return { allowed: allowed.length, freed, violations: [...counts, ...exceeded(allowed)] };
}

async function miscounted(databaseUrl: string, policyId: string, allowed: Allowed[]): Promise<string[]> {
  const counted = await sql<{ name: string; subject: string; amount: number }>(
    databaseUrl,
    `SELECT name, subject, CAST(sum(amount) AS bigint) AS amount FROM limit_counts WHERE policy_id = '${policyId}'
     GROUP BY name, subject`,
  );
  // A limit that got another unit has counts of both units: they are added up here and there alike.
  const sums = new Map<string, { log: number; counts: number }>();
  const sumOf = (name: string, subject: string) => {
    const of = `${name} of ${subject}`;
    const sum = sums.get(of) ?? { log: 0, counts: 0 };
    sums.set(of, sum);
    return sum;
  };
  for (const { limitName, subject, units } of allowed) sumOf(limitName, subject).log += units;
  for (const { name, subject, amount } of counted) sumOf(name, subject).counts += Number(amount);
  return [...sums]
    .filter(([, { log, counts }]) => log !== counts)
    .map(([of, { log, counts }]) => `${of}: the log allows ${log}, and ${counts} are counted`);
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** What a new version must keep, for the counts to go on. */
const kindOf = ({ limitName, subject, limit: { sum, unit, within, each, per } }: Allowed): string =>
  JSON.stringify([limitName, subject, sum, unit, within, each, per]);

function exceeded(allowed: Allowed[]): string[] {
  const kinds = Map.groupBy(
    allowed.filter(each => !each.freed),
    kindOf,
  );
  return [...kinds.values()].flatMap(calls => {
    const each = calls[0]?.limit.each;
    const windows = each === undefined ? rollingWindows(calls) : hours(calls);
    return windows.filter(isTooMuch).map(told);
  });
}

/** One window for each call: it ends with the call. */
function rollingWindows(calls: Allowed[]): Allowed[][] {
  const length = Number.parseInt(calls[0]?.limit.within ?? '', 10) * MINUTE;
  return calls.map(({ at }) => calls.filter(each => each.at <= at && each.at > at - length));
}

function hours(calls: Allowed[]): Allowed[][] {
  return [...Map.groupBy(calls, ({ at }) => Math.floor(at / HOUR)).values()];
}

const sumOf = (calls: Allowed[]): number => calls.reduce((sum, { units }) => sum + units, 0);
/** Whichever call was committed last has seen all others of its window, and its own version's limit held them. */
const mostOf = (calls: Allowed[]): number => Math.max(...calls.map(({ limit }) => unitsAllowed(limit)));
const isTooMuch = (calls: Allowed[]): boolean => sumOf(calls) > mostOf(calls);

function told(calls: Allowed[]): string {
  const { limitName = '', subject = '', at = 0 } = calls.at(-1) ?? {};
  return `${limitName} of ${subject}: ${sumOf(calls)} of ${mostOf(calls)} before ${new Date(at).toISOString()}`;
}
