// Two worlds for P28: the same policies, keys and traffic, but in one of them the key has a shadow. A step is made once and
// then happens in both. What can be seen of a world afterwards has names in place of its random ids.

import { join } from 'node:path';
import type { Limits, Rule } from '../../src/core/policy/policy.ts';
import type { Json } from '../../src/core/wire/json.ts';
import { resolveByOperator } from '../../src/guard/approvals/approvals.ts';
import type { GroupWork } from '../../src/guard/check/group-work.ts';
import { createPolicy, replacePolicy } from '../../src/guard/check/policies.ts';
import type { CheckRequest, Verdict } from '../../src/guard/check/request.ts';
import type { Deps } from '../../src/guard/deps.ts';
import { changeKey, createKey } from '../../src/guard/keys.ts';
import { createWebhook } from '../../src/guard/outgoing/webhooks.ts';
import { mintSession } from '../../src/guard/sessions.ts';
import { connectTool } from '../../src/guard/tool-servers/connected-tools.ts';
import { compareDefinitions } from '../../src/guard/tool-servers/definitions.ts';
import type { ConnectedTool } from '../../src/store/connected-tools.ts';
import { depsAt } from '../guard/deps.ts';
import { decidedBy } from '../guard/group.ts';
import { openStore, type TestStore } from '../store/stores.ts';
import { type Engine, ROOT } from '../support/service.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

type Principal = CheckRequest['principal'];

interface Content {
  rules: Rule[];
  limits?: Limits;
}

const BUSY = 'args.list.all(x, args.list.all(y, x == y))';

/** What either policy may say: every kind of rule, with limits of every subject. */
const CONTENTS: Content[] = [
  { rules: [{ tool: '*', action: 'allow' }] },
  {
    rules: [
      { tool: 'pay', action: 'allow', limit: 'few' },
      { tool: 'pay', action: 'require_approval' },
      { tool: 'drop', action: 'deny', reason: 'Never.' },
      { tool: 'deploy', action: 'require_approval' },
      { tool: 'busy', action: 'allow', when: BUSY },
      { tool: '*', action: 'allow', when: 'args.amount < 6' },
    ],
    limits: { few: { calls: 3, within: '1h', beyond: 'require_approval' } },
  },
  {
    rules: [
      { tool: 'pay', action: 'allow', limit: 'sum' },
      { tool: 'look', action: 'allow', limit: 'looks' },
      { tool: 'busy', action: 'deny', when: BUSY },
      { tool: '*', action: 'require_approval', timeout: '30m' },
    ],
    limits: {
      sum: { sum: 'args.amount', atMost: 20, within: '2h', per: 'policy' },
      looks: { calls: 4, within: '1h', per: 'session' },
    },
  },
  {
    rules: [
      { tool: 'deploy', action: 'allow', during: 'Mon-Sun 08:00-18:00 UTC' },
      { tool: 'look', action: 'allow', when: 'tool.annotations.readOnlyHint == true' },
      { tool: '*', action: 'require_approval', when: 'has(session.label)' },
      { tool: '*', action: 'deny' },
    ],
  },
];

const TOOLS = ['pay', 'look', 'deploy', 'drop', 'busy', 'other'];

interface Call {
  tool: string;
  args: Json;
  caller: number;
  surface: 'check' | 'mcp';
  /** Of the last approvals, the one whose call is made again instead, with its name. */
  again: number | null;
}

/** How many of the newest approvals are answered and named. */
const RECENT = 6;

export type Step =
  | { kind: 'calls'; calls: Call[] }
  | { kind: 'answer'; which: number; how: 'approve' | 'grant' | 'deny' }
  | { kind: 'pass'; ms: number }
  | { kind: 'version'; of: 'real' | 'shadow'; content: Content }
  | { kind: 'shows'; readOnlyHint: boolean };

export function nextStep(chance: () => number): Step {
  const upTo = (count: number) => Math.floor(chance() * count);
  const pick = <T>(list: readonly T[]): T => list[upTo(list.length)] as T;
  const call = (tool: string): Call => ({
    tool,
    args: tool === 'busy' ? { list: new Array(60).fill(1) } : { amount: upTo(9) },
    caller: upTo(3),
    surface: pick(['check', 'check', 'mcp']),
    again: chance() < 0.4 ? upTo(RECENT) : null,
  });
  const kind = chance();
  if (kind < 0.05) return { kind: 'calls', calls: Array.from({ length: 12 }, () => call('busy')) };
  if (kind < 0.55)
    return { kind: 'calls', calls: Array.from({ length: 1 + upTo(6) }, () => call(pick(TOOLS))) };
  if (kind < 0.75)
    return { kind: 'answer', which: upTo(RECENT), how: pick(['approve', 'approve', 'grant', 'deny']) };
  if (kind < 0.85) return { kind: 'pass', ms: upTo(90) * MINUTE };
  if (kind < 0.97) return { kind: 'version', of: pick(['real', 'shadow']), content: pick(CONTENTS) };
  return { kind: 'shows', readOnlyHint: chance() < 0.5 };
}

/** What is compared at the end, in the order in which it was made. */
const SEEN = {
  entries: `SELECT key_id, session_id, surface, server_name, tool_name, decision, reason, policy_id, policy_version,
    rule_index, reference_id FROM audit ORDER BY id`,
  approvals: `SELECT id, key_id, session_id, tool_name, reason, status, created_at, expires_at, resolved_at, spent_at,
    grant_expires_at FROM approvals ORDER BY id`,
  grants: 'SELECT reference_id, key_id, tool_name, created_at, expires_at, used FROM grants ORDER BY id',
  counts:
    'SELECT policy_id, name, subject, ends_at, amount FROM limit_counts ORDER BY name, subject, ends_at',
  events: 'SELECT type, reference_id, body, created_at FROM events ORDER BY id',
  deliveries: 'SELECT event_id, status FROM deliveries ORDER BY id',
  notifications:
    'SELECT approval_id, key_id, channel, status, next_attempt_at FROM notifications ORDER BY id',
};

const ID = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g;

export class World {
  readonly #store: TestStore;
  readonly #deps: Deps;
  readonly #work: Pick<GroupWork<CheckRequest, Verdict>, 'decideGroup'>;
  readonly #clock: { now: number };
  /** The approvals so far, newest first, with the calls that they are about. */
  readonly #asked: { referenceId: string; call: Call }[] = [];
  #principals: Principal[] = [];
  #policies = { real: '', shadow: '' };
  /** The Connected Tool of each key. */
  #tools: ConnectedTool[] = [];
  #keyId = '';
  readonly #names = new Map<string, string>();

  private constructor(store: TestStore, deps: Deps, work: never, clock: { now: number }) {
    this.#store = store;
    this.#deps = deps;
    this.#work = work;
    this.#clock = clock;
  }

  /** `root` is the source by which calls are decided. */
  static async begin(engine: Engine, shadowed: boolean, now: number, root = ROOT): Promise<World> {
    const store = await openStore(engine);
    const clock = { now };
    const base = depsAt(store.db, () => clock.now);
    const settings = { ...base.settings, toolDrift: 'require_approval' as const, maxOpenApprovalsPerKey: 12 };
    const deps = { ...base, settings: { ...settings, approvalTimeout: HOUR, approvedFor: 2 * HOUR } };
    const { CheckWork } = await import(join(root, 'src/guard/check/check.ts'));
    const world = new World(store, deps, new CheckWork(deps, undefined, false, () => 0) as never, clock);
    await world.#setUp(shadowed);
    return world;
  }

  async #setUp(shadowed: boolean): Promise<void> {
    const deps = this.#deps;
    const policy = async (name: string, content?: Content) =>
      (await createPolicy(deps, 'admin', { name, description: '', rules: [], ...content })).id;
    this.#policies = { real: await policy('real', CONTENTS[1]), shadow: await policy('shadow', CONTENTS[2]) };
    const key = async (name: string, policyId: string) => {
      const notify = { emails: ['ops@example.com'] };
      const input = { name, policyId, requireSignInToApprove: false, expiresAt: null, notify, forward: [] };
      return (await createKey(deps, 'admin', input)).key.id;
    };
    this.#keyId = await key('watched', this.#policies.real);
    const counting = await key('counting', this.#policies.shadow);
    const owner = { kind: 'key' as const, keyId: this.#keyId, sessionId: null, scope: null };
    this.#principals = [owner, { ...owner, keyId: counting }];
    await this.#newSession();
    await createWebhook(deps, 'admin', { allowPrivate: true }, {
      url: 'http://127.0.0.1:9/',
      keyId: null,
      events: ['approval.created', 'approval.resolved'],
    } as never);
    const tool = { name: 'prod', transport: 'stdio' as const, target: 'x', headers: null };
    for (const keyId of [this.#keyId, counting])
      this.#tools.push(await connectTool(deps, 'admin', { allowPrivate: true }, keyId, tool));
    await this.#show(true);
    if (shadowed) await changeKey(deps, 'admin', this.#keyId, { shadowPolicyId: this.#policies.shadow });
  }

  /** Callers: the key with the shadow, the key that really uses that policy, and a session of the first. */
  async #newSession(): Promise<void> {
    const [owner, counting] = this.#principals as [Principal, Principal];
    const input = { label: 'run', ttlMinutes: 1440, scopeTools: null };
    const { session } = await mintSession(this.#deps, owner, input);
    const run = { ...owner, kind: 'session' as const, sessionId: session.id, sessionLabel: 'run' };
    this.#principals = [owner, counting, run];
  }

  async #show(readOnlyHint: boolean): Promise<void> {
    const definition = { annotations: { readOnlyHint } };
    const shown = TOOLS.map(toolName => ({ toolName, definition }));
    for (const tool of this.#tools) await compareDefinitions(this.#deps, tool, shown);
  }

  /** What is seen of the step from outside. */
  async take(step: Step): Promise<string> {
    switch (step.kind) {
      case 'calls':
        return this.#decide(step.calls);
      case 'answer':
        return this.#answer(step.which, step.how);
      case 'pass':
        this.#clock.now += step.ms;
        await this.#newSession();
        return '';
      case 'version': {
        const id = this.#policies[step.of];
        await replacePolicy(this.#deps, 'admin', id, step.content);
        return '';
      }
      case 'shows':
        await this.#show(step.readOnlyHint);
        return '';
    }
  }

  async #decide(calls: readonly Call[]): Promise<string> {
    const made = calls.map(call => this.#made(call));
    const requests = made.map(({ call, referenceId }) => this.#request(call, referenceId));
    const results = await decidedBy(this.#store.db, this.#work, requests);
    results.forEach((each, index) => {
      const { decision, referenceId } = each as Verdict;
      if (decision === 'pending' && referenceId !== undefined)
        this.#asked.unshift({ referenceId, call: made[index]?.call as Call });
    });
    return this.#named(results.map(shownResult));
  }

  #made(call: Call): { call: Call; referenceId: string | null } {
    const asked = call.again === null ? undefined : this.#asked[call.again];
    return asked ?? { call, referenceId: null };
  }

  #request({ tool, args, caller, surface }: Call, referenceId: string | null): CheckRequest {
    const principal = this.#principals[caller] as Principal;
    const connectedTool = this.#tools.find(each => each.keyId === principal.keyId) as ConnectedTool;
    return {
      principal,
      surface,
      call: { serverName: 'prod', toolName: tool },
      args,
      referenceId,
      startedAt: performance.now(),
      ...(surface === 'mcp' && { connectedTool }),
    };
  }

  async #answer(which: number, how: 'approve' | 'grant' | 'deny'): Promise<string> {
    const referenceId = this.#asked[which]?.referenceId;
    if (referenceId === undefined) return '';
    const answer =
      how === 'deny'
        ? ({ action: 'deny', note: 'No.', grantMs: null } as const)
        : ({ action: 'approve', grantMs: how === 'grant' ? HOUR : null } as const);
    try {
      const { id, status, resolvedAt, grantExpiresAt, note } = await resolveByOperator(
        this.#deps,
        'admin',
        referenceId,
        answer,
      );
      return this.#named({ id, status, resolvedAt, grantExpiresAt, note });
    } catch (error) {
      return this.#named(String(error));
    }
  }

  /** Everything that is stored and could be told to somebody. */
  async seen(): Promise<Record<string, string[]>> {
    const found: Record<string, string[]> = {};
    for (const [name, sql] of Object.entries(SEEN))
      found[name] = (await this.#store.db.all(sql)).map(row => this.#named(row));
    return found;
  }

  /** How many calls the shadow judged, and how many of them otherwise than they were decided. */
  async judged(): Promise<{ judged: number; differing: number }> {
    const [row] = await this.#store.db.all<{ judged: number; differing: number }>(
      `SELECT count(shadow_decision) AS judged,
         count(CASE WHEN shadow_decision <> decision THEN 1 END) AS differing FROM audit`,
    );
    return row ?? { judged: 0, differing: 0 };
  }

  end(): Promise<void> {
    return this.#store.close();
  }

  #named(value: unknown): string {
    return JSON.stringify(value).replace(ID, id => {
      const name = this.#names.get(id) ?? `<${this.#names.size}>`;
      this.#names.set(id, name);
      return name;
    });
  }
}

function shownResult(result: unknown): unknown {
  if (typeof result === 'symbol') return result.description;
  if (result instanceof Error) return result.message;
  const { latencyMs: _, ...verdict } = result as Verdict;
  return verdict;
}
