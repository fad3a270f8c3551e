// Compares what the tool server has done with what is recorded, and with what is told of every task: nothing ran twice,
// nothing ran without a committed entry, and each task ended in what happened, or is said to be unknown.

import { StoreFromOutside } from '../../support/faults.ts';
import type { TestService } from '../../support/service.ts';
import { TasksClient } from '../../support/tasks.ts';
import type { Run } from './ledger.ts';
import type { Note, Order } from './orders.ts';

export const UNKNOWN = 'It is not known whether this call ran';
export const RESULT_GONE = 'It ran, but its result is no longer held';
export const CALL_GONE = 'Approved, but the call is no longer held: call again';

/** What is recorded of a call that was allowed. */
interface Allowed {
  id: string;
  tool: string;
  surface: string;
  outcome: string | null;
}

/** What is recorded of a task. */
interface Task {
  id: string;
  sessionId: string | null;
  toolCallId: string | null;
  tool: string | null;
  approvalStatus: string | null;
  outcome: string | null;
}

/** What is told of it. */
interface Told {
  status: string;
  text: string;
}

export interface Round {
  keyId: string;
  /** By the id of its session; that of the key has the name `key`. */
  tokens: Map<string, string>;
  /** Credentials that made none of the calls. */
  strangers: string[];
  orders: readonly Order[];
  notes: readonly Note[];
  runs: readonly Run[];
}

export class Truth {
  readonly violations: string[] = [];
  tasks = 0;
  unknown = 0;
  readonly #round: Round;
  readonly #runs: Map<string, Run[]>;
  #allowed: Allowed[] = [];
  #tasks: Task[] = [];

  constructor(round: Round) {
    this.#round = round;
    const own = new Set(round.orders.map(({ args }) => args.n));
    this.#runs = Map.groupBy(
      round.runs.filter(({ n }) => own.has(n)),
      ({ tool }) => tool,
    );
  }

  /** What needs no process to be looked at. */
  async recorded(databaseUrl: string): Promise<this> {
    const store = new StoreFromOutside(databaseUrl);
    try {
      const { keyId } = this.#round;
      this.#allowed = await store.rows(
        `SELECT e.id, e.tool_name AS tool, e.surface, o.outcome FROM audit e LEFT JOIN outcomes o ON o.tool_call_id = e.id
         WHERE e.key_id = '${keyId}' AND e.decision = 'allow'`,
      );
      this.#tasks = await store.rows(
        `SELECT t.id, t.session_id AS "sessionId", t.tool_call_id AS "toolCallId", e.tool_name AS tool,
           a.status AS "approvalStatus", o.outcome
         FROM tasks t LEFT JOIN approvals a ON a.id = t.id LEFT JOIN outcomes o ON o.tool_call_id = t.tool_call_id
           LEFT JOIN audit e ON e.id = COALESCE(t.tool_call_id, a.tool_call_id)
         WHERE t.key_id = '${keyId}'`,
      );
    } finally {
      await store.close();
    }
    this.#ranOnce();
    return this;
  }

  /** Whether nothing is under way any more: every call has its outcome, and every task its end. */
  async isQuiet(service: TestService): Promise<boolean> {
    if (this.#allowed.some(({ surface, outcome }) => surface === 'mcp' && outcome === null)) return false;
    for (const task of this.#tasks)
      if (['working', 'input_required'].includes((await this.#tell(service, task)).status)) return false;
    return true;
  }

  /** What is told of each task on every replica, once it is quiet. */
  async told(services: readonly TestService[]): Promise<this> {
    this.#eachHasAnOutcome();
    this.tasks = this.#tasks.length;
    for (const task of this.#tasks) {
      const told = await Promise.all(services.map(service => this.#tell(service, task)));
      const [first] = told as [Told];
      if (told.some(each => each.status !== first.status || each.text !== first.text))
        this.#wrong(task, 'is told differently by each replica', JSON.stringify(told));
      else this.#judge(task, first);
      if (first.text === UNKNOWN) this.unknown++;
      await this.#hidden(services, task);
    }
    this.#clientsSawTheTruth();
    return this;
  }

  #ranOnce(): void {
    const allowed = Map.groupBy(this.#allowed, ({ tool }) => tool);
    for (const [tool, runs] of this.#runs) {
      if (runs.length > 1) this.violations.push(`${tool} ran ${runs.length} times`);
      if (!allowed.has(tool)) this.violations.push(`${tool} ran without an entry`);
    }
  }

  #eachHasAnOutcome(): void {
    for (const { tool, surface, outcome } of this.#allowed) {
      if (surface === 'check') continue;
      if (outcome === null) this.violations.push(`${tool} was allowed, and nothing says what became of it`);
      if (outcome === 'ok' && !this.#runs.has(tool)) this.violations.push(`${tool} is said to have run`);
    }
  }

  async #tell(service: TestService, { id, sessionId }: Task): Promise<Told> {
    const token = this.#round.tokens.get(sessionId ?? 'key') as string;
    const { result, error } = await new TasksClient(service, token).get(id);
    if (error !== undefined) return { status: 'refused', text: error.message };
    const text = result.result?.content?.[0]?.text ?? result.error?.message ?? '';
    return { status: result.status, text };
  }

  #judge(task: Task, { status, text }: Told): void {
    const { outcome, approvalStatus, toolCallId, tool } = task;
    const ran = this.#runs.get(tool ?? '') ?? [];
    const wrong = (what: string) => this.#wrong(task, what, `${status}: ${text}`);
    if (status === 'completed') {
      const isResult = ran.some(({ nonce }) => nonce === text);
      const isRefused = text.startsWith('Blocked') || /denied|not approved/i.test(text);
      if (isResult && outcome !== 'ok') wrong('has a result that is not recorded');
      if (!isResult && isRefused && approvalStatus === 'approved' && outcome !== null)
        wrong('was allowed, and is told as refused');
      if (!isResult && !isRefused && !['upstream_failure', 'timed_out', 'tool_error'].includes(outcome ?? ''))
        wrong('has ended otherwise');
    } else if (status === 'failed') {
      const expected = {
        [UNKNOWN]: outcome === 'outcome_unknown',
        [RESULT_GONE]: outcome !== null && outcome !== 'outcome_unknown',
        [CALL_GONE]: approvalStatus === 'approved' && toolCallId === null,
      }[text];
      if (!(expected ?? outcome === 'tool_error')) wrong('has failed otherwise');
    } else if (status === 'cancelled') {
      if (approvalStatus !== 'withdrawn' && outcome !== 'cancelled') wrong('was not cancelled');
      if (approvalStatus === 'withdrawn' && toolCallId !== null) wrong('was cancelled, and has a call');
    } else wrong('has no end');
  }

  /** To others it is as unknown as any task that never was. */
  async #hidden(services: readonly TestService[], { id, tool }: Task): Promise<void> {
    const service = services[0] as TestService;
    for (const stranger of this.#round.strangers) {
      const client = new TasksClient(service, stranger);
      const [theirs, none] = await Promise.all([client.get(id), client.get(crypto.randomUUID())]);
      if (JSON.stringify(theirs.error) !== JSON.stringify(none.error) || theirs.result !== undefined)
        this.violations.push(`the task of ${tool} is shown to a stranger`);
    }
  }

  #clientsSawTheTruth(): void {
    const nonces = new Set([...this.#runs.values()].flat().map(({ nonce }) => nonce));
    for (const [n, notes] of Map.groupBy(this.#round.notes, each => each.n)) {
      const ids = new Set(notes.flatMap(each => (each.step === 'answered' ? (each.toolCallId ?? []) : [])));
      if (ids.size > 1) this.violations.push(`${n} has ${ids.size} calls for one idempotency key`);
      for (const each of notes) {
        const text = each.step === 'ended' || each.step === 'answered' ? each.text : '';
        if (isNonce(text) && !nonces.has(text)) this.violations.push(`${n} has a result of no run`);
        if (each.step === 'ended' && each.status === 'unknown')
          this.violations.push(`${n}: its task was not known`);
      }
      if (!notes.some(({ step }) => step === 'done')) this.violations.push(`${n}: its client saw no end`);
    }
  }

  #wrong({ id, tool, outcome, approvalStatus }: Task, what: string, told: string): void {
    const recorded = `outcome ${outcome}, approval ${approvalStatus}`;
    this.violations.push(`the task ${id} of ${tool} ${what}: ${told} (${recorded})`);
  }
}

const isNonce = (text: string): boolean => /^[0-9a-f-]{36}$/.test(text);
