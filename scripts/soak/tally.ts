// The counts of a generator, in constant memory however long it runs. Each answer is compared with the right one for
// its kind of check.

export interface Kind {
  token: string;
  tool: string;
  /** The right decision; null when there may be no verdict at all. */
  decision: 'allow' | 'deny' | null;
}

export interface Tally {
  /** The number of verdicts in each second. */
  verdictsPerSecond: number[];
  statuses: Record<string, number>;
  sent: number;
  /** Checks that were due while every connection was busy, and so were never sent. */
  notSent: number;
  /** Checks that were due while nobody listened on the replica's port. */
  unreachable: number;
  /** Checks that were sent, but the connection ended before the answer. */
  lost: number;
  wrong: string[];
  /** Milliseconds from the time a check was due until its verdict, its 503, its 500, and until it was sent. */
  verdictMs: number[];
  shedMs: number[];
  failedMs: number[];
  lateMs: number[];
  /** The slowest answer: milliseconds since the check was sent, and the second in which the answer arrived. */
  slowest: { ms: number; status: number; second: number };
}

/** Slower answers count as this slow. */
const SLOWEST_MS = 20_000;

export function newTally(): Tally {
  const times = () => new Array<number>(SLOWEST_MS + 1).fill(0);
  return {
    verdictsPerSecond: [],
    statuses: {},
    sent: 0,
    notSent: 0,
    unreachable: 0,
    lost: 0,
    wrong: [],
    verdictMs: times(),
    shedMs: times(),
    failedMs: times(),
    lateMs: times(),
    slowest: { ms: 0, status: 0, second: 0 },
  };
}

export function note(times: number[], ms: number): void {
  const slot = Math.min(SLOWEST_MS, Math.max(0, Math.ceil(ms)));
  times[slot] = (times[slot] as number) + 1;
}

export function count(times: readonly number[]): number {
  return times.reduce((sum, each) => sum + each, 0);
}

/** The milliseconds within which this share of all was answered. */
export function quantile(times: readonly number[], share: number): number {
  let left = Math.ceil(count(times) * share);
  const found = times.findIndex(each => {
    left -= each;
    return left <= 0;
  });
  return Math.max(found, 0);
}

export function statusText(statuses: Tally['statuses']): string {
  return (
    Object.entries(statuses)
      .map(([status, times]) => `${times} x ${status}`)
      .join(', ') || 'no answer'
  );
}

/** What is wrong with an answer; null when this kind of check may get it. */
export function fault(kind: Kind, status: number, head: string, body: string): string | null {
  if (status === 200) return decisionOf(body) === kind.decision ? null : `${kind.tool} was answered ${body}`;
  if (decisionOf(body) !== null) return `a verdict with status ${status}: ${body}`;
  if (status === 503) return /\r\nretry-after: *\d/i.test(head) ? null : `503 without Retry-After: ${head}`;
  if (status === 500 || (status === 401 && kind.decision === null)) return null;
  return `${kind.tool} was answered ${status} ${body}`;
}

function decisionOf(body: string): string | null {
  return /"decision":"(\w+)"/.exec(body)?.[1] ?? null;
}
