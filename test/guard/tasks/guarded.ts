// Calls of clients that know tasks, decided by several processes on one store, with time in the test's hands.

import type { Rule } from '../../../src/core/policy/policy.ts';
import { resolveByOperator } from '../../../src/guard/approvals/approvals.ts';
import { createPolicy, replacePolicy } from '../../../src/guard/check/policies.ts';
import type { CheckRequest, Verdict } from '../../../src/guard/check/request.ts';
import type { Principal } from '../../../src/guard/credentials.ts';
import type { Deps } from '../../../src/guard/deps.ts';
import { newId } from '../../../src/guard/ids.ts';
import { createKey } from '../../../src/guard/keys.ts';
import { mintSession } from '../../../src/guard/sessions.ts';
import type { Db } from '../../../src/store/engine/db.ts';
import { NOW } from '../../store/stores.ts';
import { untimed } from '../check/untimed.ts';
import { depsAt } from '../deps.ts';
import { decidedBy } from '../group.ts';

export const ASKS: readonly Rule[] = [
  { tool: 'look', action: 'allow' },
  { tool: '*', action: 'require_approval' },
];

export type Answer = Verdict | Error;

export class Guarded {
  now = NOW;
  readonly one: Deps;
  readonly two: Deps;
  policyId = '';
  keyId = '';
  sessionId = '';

  constructor(db: Db) {
    this.one = depsAt(db, () => this.now);
    this.two = depsAt(db, () => this.now);
  }

  /** A key of its own, with a session. */
  async begin(more: { tasks?: boolean; approveHere?: boolean } = {}): Promise<this> {
    const name = newId();
    this.policyId = (await createPolicy(this.one, 'admin', { name, description: '', rules: ASKS })).id;
    const input = { name, policyId: this.policyId, requireSignInToApprove: false, expiresAt: null };
    const made = await createKey(this.one, 'admin', { ...input, notify: null, forward: [], ...more });
    this.keyId = made.key.id;
    this.sessionId = await this.newSession();
    return this;
  }

  async newSession(): Promise<string> {
    const ofKey: Principal = { kind: 'key', keyId: this.keyId, sessionId: null, scope: null };
    return (await mintSession(this.one, ofKey, { label: '', ttlMinutes: 60, scopeTools: null })).session.id;
  }

  rule(rules: readonly Rule[]) {
    const { policyId: id } = this;
    return replacePolicy(this.one, 'admin', id, { name: id, description: '', rules });
  }

  principal(sessionId = this.sessionId): Principal {
    return { kind: 'session', keyId: this.keyId, sessionId, scope: null };
  }

  request(more: Partial<CheckRequest> = {}): CheckRequest {
    return {
      principal: this.principal(),
      surface: 'mcp',
      call: { serverName: 'prod', toolName: 'deploy' },
      args: { target: 'blue' },
      referenceId: null,
      taskable: true,
      tracked: true,
      startedAt: performance.now(),
      ...more,
    };
  }

  /** All of them in one group of a process. */
  async judged(deps: Deps, ...requests: CheckRequest[]): Promise<Answer[]> {
    return (await decidedBy(deps.db, untimed(deps), requests)) as Answer[];
  }

  async judge(more: Partial<CheckRequest> = {}, deps = this.one): Promise<Answer> {
    return (await this.judged(deps, this.request(more)))[0] as Answer;
  }

  async verdict(more: Partial<CheckRequest> = {}, deps = this.one): Promise<Verdict> {
    const answer = await this.judge(more, deps);
    if (answer instanceof Error) throw answer;
    return answer;
  }

  /** A call that waits as a task of a process; the id of both. */
  async waiting(more: Partial<CheckRequest> = {}, deps = this.one): Promise<string> {
    const { task, referenceId } = await this.verdict(more, deps);
    if (task !== true || referenceId === undefined) throw new Error('it is no task');
    return referenceId;
  }

  approve(referenceId: string, grantMs: number | null = null) {
    return resolveByOperator(this.one, 'admin', referenceId, { action: 'approve', grantMs });
  }

  async approved(more: Partial<CheckRequest> = {}, deps = this.one): Promise<string> {
    const id = await this.waiting(more, deps);
    await this.approve(id);
    return id;
  }

  /** Submits the held call of a task again. */
  resume(id: string, deps = this.one, more: Partial<CheckRequest> = {}): Promise<Answer> {
    return this.judge({ resumes: id, referenceId: id, ...more }, deps);
  }
}
