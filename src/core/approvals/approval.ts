// The states of an approval. An approval is `pending` until somebody approves or denies it, or until it times out at
// `expiresAt`. An approval with a duration opens a grant. An approval without one frees only the call that asked, and
// only once, until it expires or is withdrawn. A question whose agent cancels the call ends as `withdrawn`. The guard stores
// all of this.

export const APPROVAL_STATUSES = ['pending', 'approved', 'denied', 'timed_out', 'withdrawn'] as const;
export type ApprovalStatus = (typeof APPROVAL_STATUSES)[number];
/** How a question can have ended. */
export type Ended = Exclude<ApprovalStatus, 'pending'>;

export const RESOLUTIONS = ['approve', 'deny'] as const;
export type Resolution = (typeof RESOLUTIONS)[number];

/** The most characters that the note of an answer can have. */
export const MAX_NOTE = 500;

/** A group that has to approve, but of which too few operators may. */
export interface Lacking {
  group: string;
  /** How many have to approve. */
  needed: number;
  /** How many could. */
  able: number;
}

/** What the verdict about a held call says about it. */
export const lackingText = (lacking: Lacking): string =>
  `At present nobody can approve it: ${tooFew(lacking)}.`;

/** The same about a rule, before anybody was asked. */
export const groupWarning = (lacking: Lacking): string =>
  `At present nobody could answer: ${tooFew(lacking)}.`;

function tooFew({ group, needed, able }: Lacking): string {
  const who = needed === 1 ? 'an operator' : `${needed} operators`;
  const has = able === 0 ? 'there is none' : `there ${able === 1 ? 'is' : 'are'} only ${able}`;
  return `${who} of the group "${group}" would have to approve, and ${has}`;
}

export function statusAfter(resolution: Resolution): 'approved' | 'denied' {
  return resolution === 'approve' ? 'approved' : 'denied';
}

const REFERENCE = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;

/** Whether a value has the form of an approval's id, a UUID. */
export function isReference(value: unknown): value is string {
  return typeof value === 'string' && REFERENCE.test(value);
}

/** Who answered, in words. What is recorded is `link`, `admin`, or `operator:` with an e-mail address. */
export function answeredBy(by: string): string {
  if (by === 'link') return 'somebody with the link';
  if (by === 'admin') return 'the admin token';
  return by.replace(/^operator:/, '');
}

/** How earlier questions ended, in words: `3 approved, 1 waiting`. Outcomes with a count of zero are left out. */
export function earlierCounts(earlier: {
  asked: number;
  approved: number;
  denied: number;
  timedOut: number;
}): string {
  const { asked, approved, denied, timedOut } = earlier;
  const counts: [number, string][] = [
    [approved, 'approved'],
    [denied, 'denied'],
    [timedOut, 'timed out'],
    [asked - approved - denied - timedOut, 'waiting'],
  ];
  return counts.flatMap(([count, word]) => (count === 0 ? [] : [`${count} ${word}`])).join(', ');
}

/** How many values a grant can be bound to. */
export const MAX_SAME = 20;

/** The durations that people are offered, in the inbox and behind an approval link, with their words. */
export const GRANT_DURATIONS: readonly (readonly [string, string])[] = [
  ['15m', '15 minutes'],
  ['1h', '1 hour'],
  ['4h', '4 hours'],
  ['8h', '8 hours'],
  ['24h', '24 hours'],
  ['7d', '7 days'],
];
