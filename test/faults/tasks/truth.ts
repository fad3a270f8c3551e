// Compares what the tool server has done with what is recorded, and with what is told of every task: nothing ran twice,
// nothing ran without a committed entry, and each task ended in what happened, or is said to be unknown.

import { StoreFromOutside, until } from '../../support/faults.ts';
import type { TestService } from '../../support/service.ts';
import { TasksClient } from '../../support/tasks.ts';
import type { Run } from './ledger.ts';
import type { Note, Order } from './orders.ts';

const UNKNOWN = 'It is not known whether this call ran';
const RESULT_GONE = 'It ran, but its result is no longer held';
const CALL_GONE = 'Approved, but the call is no longer held: call again';
/** What a tool server that dies in the middle of a call leaves behind. */
const NO_RESULT = ['upstream_failure', 'timed_out', 'tool_error'];

/** Tasks that are asked about at a time: a replica takes seconds to find out that nobody holds a result. */
const AT_ONCE = 16;
/** How long a replica may believe that nobody holds a result. */
const BELIEVED_MS = 90_000;
const AGAIN_MS = 2000;

/** What is recorded of a call that was allowed. */
interface Allowed {
  call: string;
  surface: string;
  outcome: string | null;
}

/** What is recorded of a task. */
interface Task {
  id: string;
  keyId: string;
  sessionId: string | null;
  toolCallId: string | null;
  /** The key and the tool, which name one order. */
  call: string;
  /** `withdrawn` also if its client cancelled it after the approval, before its call began. */
  approvalStatus: string | null;
  outcome: string | null;
}

/** What is told of it. */
interface Told {
  status: string;
  text: string;
}

/** By the ids of keys and sessions. */
export type Tokens = ReadonlyMap<string, string>;

export interface Round {
  tokens: Tokens;
  /** Credentials that made none of the calls: another key, and by the ids of keys other sessions of them. */
  stranger: string;
  siblings: Tokens;
  orders: readonly Order[];
  notes: readonly Note[];
  runs: readonly Run[];
}

const callOf = ({ keyId, tool }: Pick<Order, 'keyId' | 'tool'>): string => `${keyId} ${tool}`;
const isNonce = (text: string): boolean => /^[0-9a-f-]{36}$/.test(text);

export class Truth {
  readonly violations: string[] = [];
  unknown = 0;
  /** Results that a replica did not find although another one held them. */
  late = 0;
  readonly #round: Round;
  readonly #runs: Map<string, Run[]>;
  #allowed: Allowed[] = [];
  #tasks: Task[] = [];

  constructor(round: Round) {
    this.#round = round;
    const orders = new Map(round.orders.map(order => [order.args.n, callOf(order)]));
    this.#runs = Map.groupBy(round.runs, ({ n }) => orders.get(n) ?? '');
  }

  get tasks(): number {
    return this.#tasks.length;
  }

  /** Reads what is recorded, and judges what needs no process to be asked. */
  async recorded(databaseUrl: string): Promise<void> {
    const store = new StoreFromOutside(databaseUrl);
    const keys = [...new Set(this.#round.orders.map(({ keyId }) => `'${keyId}'`))].join(',');
    try {
      this.#allowed = await store.rows(
        `SELECT e.key_id || ' ' || e.tool_name AS call, e.surface, o.outcome
         FROM audit e LEFT JOIN outcomes o ON o.tool_call_id = e.id WHERE e.decision = 'allow' AND e.key_id IN (${keys})`,
      );
      this.#tasks = await store.rows(
        `SELECT t.id, t.key_id AS "keyId", t.session_id AS "sessionId", t.tool_call_id AS "toolCallId",
           t.key_id || ' ' || e.tool_name AS call, o.outcome,
           CASE WHEN t.state = 'gone' AND t.cancel_asked_at IS NOT NULL THEN 'withdrawn' ELSE a.status END AS "approvalStatus"
         FROM tasks t LEFT JOIN approvals a ON a.id = t.id LEFT JOIN outcomes o ON o.tool_call_id = t.tool_call_id
           LEFT JOIN audit e ON e.id = COALESCE(t.tool_call_id, a.tool_call_id) WHERE t.key_id IN (${keys})`,
      );
    } finally {
      await store.close();
    }
    const allowed = new Set(this.#allowed.map(({ call }) => call));
    for (const [call, runs] of this.#runs) {
      if (runs.length > 1) this.violations.push(`${call} ran ${runs.length} times`);
      if (!allowed.has(call)) this.violations.push(`${call} ran without an entry`);
    }
    for (const { call, surface, outcome } of this.#allowed) {
      if (surface === 'check') continue;
      if (outcome === null) this.violations.push(`${call} was allowed, and nothing says what became of it`);
      if (outcome === 'ok' && !this.#runs.has(call)) this.violations.push(`${call} is said to have run`);
    }
  }

  /** Asks about every task, on every replica, as its owner and as others. */
  async told(services: readonly TestService[]): Promise<void> {
    const waiting = [...this.#tasks];
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        for (let task = waiting.pop(); task !== undefined; task = waiting.pop())
          await this.#tellAndJudge(services, task);
      }),
    );
    await this.#hidden(services.at(-1) as TestService);
    this.#clientsSawTheTruth();
  }

  async #tellAndJudge(services: readonly TestService[], task: Task): Promise<void> {
    const token = this.#round.tokens.get(task.sessionId ?? task.keyId) as string;
    const told = await this.#tellEach(services, token, task.id);
    const [first] = told as [Told];
    if (told.some(each => each.status !== first.status || each.text !== first.text))
      this.#wrong(task, 'is told differently by each replica', JSON.stringify(told));
    else this.#judge(task, first);
    if (first.text === UNKNOWN) this.unknown++;
  }

  /**
   * A replica that got no answer in time, because the one that holds the result was too busy, believes for a minute that
   * nobody holds it. It is asked again then.
   */
  async #tellEach(services: readonly TestService[], token: string, id: string): Promise<Told[]> {
    const clients = services.map(service => new TasksClient(service, token));
    let told: Told[] = [];
    const isEven = async () => {
      told = [];
      for (const client of clients) told.push(await tell(client, id));
      const gone = told.filter(({ text }) => text === RESULT_GONE);
      return gone.length === 0 || gone.length === told.length;
    };
    if (await isEven()) return told;
    this.late++;
    // A key may ask 600 times a minute.
    const isEvenNow = () => Bun.sleep(AGAIN_MS).then(isEven);
    await until('each replica finds the result', isEvenNow, BELIEVED_MS).catch(() => {});
    return told;
  }

  #judge(task: Task, { status, text }: Told): void {
    const { outcome, approvalStatus, toolCallId, call } = task;
    const ran = this.#runs.get(call) ?? [];
    const wrong = (what: string) => this.#wrong(task, what, `${status}: ${text}`);
    if (status === 'completed') {
      if (isNonce(text)) {
        if (!ran.some(({ nonce }) => nonce === text) || outcome !== 'ok') wrong('has a result of no run');
      } else if (text.startsWith('Blocked by policy')) {
        if (outcome !== null) wrong('is told as refused');
      } else if (!NO_RESULT.includes(outcome ?? '')) wrong('has ended otherwise');
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
  async #hidden(service: TestService): Promise<void> {
    const { stranger, siblings } = this.#round;
    const none = await tell(new TasksClient(service, stranger), crypto.randomUUID());
    for (const task of this.#tasks)
      for (const token of [stranger, siblings.get(task.keyId) as string]) {
        const told = await tell(new TasksClient(service, token), task.id);
        if (told.status !== 'refused' || told.text !== none.text)
          this.#wrong(task, 'is shown to a stranger', JSON.stringify(told));
      }
  }

  #clientsSawTheTruth(): void {
    const nonces = new Set(this.#round.runs.map(({ nonce }) => nonce));
    const notes = Map.groupBy(this.#round.notes, each => each.n);
    for (const { args, kind } of this.#round.orders) {
      const own = notes.get(args.n) ?? [];
      const ids = new Set(own.flatMap(each => (each.step === 'answered' ? (each.toolCallId ?? []) : [])));
      const wrong = (what: string) => this.violations.push(`the call ${args.n} (${kind}) ${what}`);
      if (ids.size > 1) wrong(`has ${ids.size} ids for one idempotency key`);
      for (const each of own) {
        const text = each.step === 'ended' || each.step === 'answered' ? each.text : '';
        if (isNonce(text) && !nonces.has(text)) wrong('has a result of no run');
        if (each.step === 'ended' && each.status === 'unknown') wrong('was a task that was not known');
      }
      if (!own.some(({ step }) => step === 'done')) wrong('had no end for its client');
    }
  }

  #wrong({ id, call, outcome, approvalStatus }: Task, what: string, told: string): void {
    const recorded = `outcome ${outcome}, approval ${approvalStatus}`;
    this.violations.push(`the task ${id} of ${call} ${what}: ${told} (${recorded})`);
  }
}

/**
 * A key may ask 600 times a minute, and whoever has asked more often waits, as every client does. So does whoever is told that the
 * replica that holds the result has not answered.
 */
async function tell(client: TasksClient, id: string): Promise<Told> {
  const { status, headers, result, error, text } = await client.get(id);
  if (status === 429 || status === 503) {
    await Bun.sleep(1000 * Number(headers.get('retry-after') ?? 1));
    return tell(client, id);
  }
  if (result === undefined) return { status: 'refused', text: error?.message ?? text };
  return {
    status: result.status,
    text: result.result?.content?.[0]?.text ?? result.error?.message ?? '',
  };
}

/** What is under way: questions, approved calls that somebody holds, and calls that were forwarded. */
export interface UnderWay {
  count: number;
  /** Tasks that only the tool server can end: it is asked when their client asks. */
  atServer: { id: string; whose: string }[];
}

export async function underWay(store: StoreFromOutside, keyIds: readonly string[]): Promise<UnderWay> {
  const keys = keyIds.map(id => `'${id}'`).join(',');
  const [row] = await store.rows<{ open: number }>(
    `SELECT (SELECT count(*) FROM approvals WHERE status = 'pending' AND key_id IN (${keys}))
       + (SELECT count(*) FROM tasks t JOIN approvals a ON a.id = t.id
          WHERE t.state = 'waiting' AND a.status = 'approved' AND t.key_id IN (${keys}))
       + (SELECT count(*) FROM executions WHERE unknown_at IS NULL AND key_id IN (${keys})) AS open`,
  );
  const atServer = await store.rows<UnderWay['atServer'][number]>(
    `SELECT t.id, COALESCE(t.session_id, t.key_id) AS whose FROM tasks t
       JOIN executions e ON e.tool_call_id = t.tool_call_id AND e.unknown_at IS NULL
     WHERE t.server_task_sealed IS NOT NULL AND t.key_id IN (${keys})`,
  );
  return { count: Number(row?.open), atServer };
}
