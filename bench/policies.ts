// The policies that checks are measured with. The last rule of each allows the call, so that all others have to be
// excluded first. service.ts makes them on a running service.

export interface Policy {
  rules: object[];
  limits?: Record<string, object>;
  results?: object[];
}

const MANY_RULES = 10_000;
const FEW_RULES = 10;
const MOST_CONDITIONS = 2_000;
const TOOL = 'github__create_issue';
const IN_HOURS = 'mon-sun 00:00-24:00 Europe/Berlin';

/** Three conditions that hold for the arguments of the load. */
const HOLDING = [
  'size(args.title) <= 200',
  'args.owner == "example" && args.repo in ["example", "website"]',
  'args.labels.all(label, label != "security")',
];

/** Patterns as people write them: mostly single tools, some whole servers, some kinds of tools on every server. */
function usualPattern(index: number): string {
  if (index % 10 === 3) return `server${index}__*`;
  if (index % 10 === 7) return `*__drop_${index}`;
  return `server${index % 100}__tool_${index}`;
}

/** A pattern with a star in the middle, which cannot be looked up in a table. */
const middlePattern = (index: number): string => `server${index}__*_tool_${index}`;

function denying(count: number, pattern: (index: number) => string): { tool: string; action: string }[] {
  return Array.from({ length: count - 1 }, (_, index) => ({ tool: pattern(index), action: 'deny' }));
}

export function plainPolicy(tool = TOOL, count = FEW_RULES, pattern = usualPattern): Policy {
  return { rules: [...denying(count, pattern), { tool, action: 'allow' }] };
}

export const manyRules = (): Policy => plainPolicy(TOOL, MANY_RULES);
export const manyStars = (): Policy => plainPolicy(TOOL, MANY_RULES, middlePattern);

/** Every rule has a condition, as far as a policy may have so many; the others have hours. */
function conditional(count: number): Policy {
  const others = denying(count, usualPattern).map((rule, index) =>
    index < MOST_CONDITIONS - HOLDING.length
      ? { ...rule, when: HOLDING[index % HOLDING.length] }
      : { ...rule, during: IN_HOURS },
  );
  return { rules: [...others, { tool: TOOL, action: 'allow', when: HOLDING }] };
}

export const conditions = (): Policy => conditional(FEW_RULES);
export const manyConditions = (): Policy => conditional(MANY_RULES);

/** The limit is never used up. */
export function limited(per: 'key' | 'policy', { rules } = plainPolicy()): Policy {
  const last = { ...rules.at(-1), limit: 'issues' };
  return { rules: [...rules.slice(0, -1), last], limits: { issues: { calls: 1e12, within: '1h', per } } };
}

/** What an allowed call can have at once. */
export const everything = (): Policy => limited('key', conditions());

/** A person is asked about the call, and shown its arguments. */
export function asking(): Policy {
  const { rules } = plainPolicy();
  return { rules: [...rules.slice(0, -1), { tool: TOOL, action: 'require_approval', show: 'all' }] };
}

export const MARKING_TOOL = 'search_issues';

/** The call is allowed by the marks of its run, which a call of another tool gives. */
export const marked = (when = ['"untrusted" in marks']): Policy => {
  const { rules } = plainPolicy();
  const marking = { tool: `github__${MARKING_TOOL}`, action: 'allow', marks: 'untrusted' };
  return { rules: [marking, ...rules.slice(1, -1), { tool: TOOL, action: 'allow', when }] };
};

/** The same, if three values of its arguments are known in the run. */
export const known = (): Policy =>
  marked(['"untrusted" in marks', 'known([args.owner, args.title, args.labels[0]])']);

/** The policy that hides secrets in what a tool of the upstream returns, or in what others return. */
export function hiding(tool: string, of = tool): Policy {
  return { ...plainPolicy(tool), results: [{ tool: of, hide: 'secrets' }] };
}

export const OTHER_TOOL = 'list_issues';

/** The same policy with a further tool, which has no limit. */
export const withOther = ({ rules, ...more }: Policy): Policy => ({
  rules: [...rules, { tool: OTHER_TOOL, action: 'allow' }],
  ...more,
});
