// One call of a client, from its first attempt to its end. A client that does not know what became of a call may repeat it
// only where that is safe: with the same arguments while a question is open, or with an idempotency key.

import { type Answer, Wire } from '../../support/load.ts';
import { hasKey, type Note, needsApproval, type Order, type Orders, serverName } from './orders.ts';

const META = 'io.modelcontextprotocol/';
const ENDED = ['completed', 'failed', 'cancelled'];
/** As the contract has it: the same call is then freed by the approval. */
const NO_LONGER_HELD = 'Approved, but the call is no longer held: call again';
/** How many answers a call with a key gets, of which each is the same. */
const ANSWERS = 2;
/** How often a call without a verdict is made again. A tool server that was away often is left alone for a minute. */
const MOST_REFUSALS = 15;
/** It is asked about a task less and less often, because a key may ask 600 times a minute. */
const PAUSE_MS = 40;
const MOST_PAUSE_MS = 1000;

// biome-ignore lint/suspicious/noExplicitAny: messages of MCP
type Any = any;

export class Flow {
  readonly #orders: Orders;
  readonly #order: Order;
  readonly #chance: () => number;
  readonly #note: (note: Note) => void;
  readonly #earlier: readonly Note[];
  #answers: number;
  #taskId: string | null;
  #isFreed: boolean;
  #pauses = 0;
  #refusals = 0;

  constructor(
    orders: Orders,
    order: Order,
    earlier: readonly Note[],
    chance: () => number,
    note: (note: Note) => void,
  ) {
    this.#orders = orders;
    this.#order = order;
    this.#earlier = earlier;
    this.#chance = chance;
    this.#note = note;
    this.#answers = earlier.filter(({ step }) => step === 'answered').length;
    const last = earlier.findLast(({ step }) => step === 'task' || step === 'ended');
    this.#taskId = last?.step === 'task' ? last.taskId : null;
    this.#isFreed = earlier.some(each => each.step === 'ended' && each.text === NO_LONGER_HELD);
  }

  async run(): Promise<void> {
    const { kind, args } = this.#order;
    const { n } = args;
    if (kind === 'once') await this.#once();
    else if (kind === 'checked') while (this.#answers < ANSWERS) await this.#check();
    else if (needsApproval(this.#order)) await this.#untilEnded();
    else while (this.#answers < ANSWERS) await this.#answered();
    this.#note({ n, step: 'done' });
  }

  /** Nobody knows what became of a call that was sent before, so it is not sent again. */
  async #once(): Promise<void> {
    if (this.#earlier.length === 0) await this.#call();
    if (this.#taskId !== null) await this.#follow(this.#taskId);
  }

  async #untilEnded(): Promise<void> {
    for (;;) {
      if (this.#taskId === null && this.#answers > 0) return;
      if (this.#taskId === null && !(await this.#call())) continue;
      if (this.#taskId === null) return;
      if ((await this.#follow(this.#taskId)) !== NO_LONGER_HELD || this.#isFreed) return;
      this.#isFreed = true;
      this.#taskId = null;
    }
  }

  async #answered(): Promise<void> {
    if (this.#taskId === null && !(await this.#call())) return;
    if (this.#taskId === null) return;
    await this.#follow(this.#taskId);
    this.#taskId = null;
    this.#answers++;
  }

  /** Makes the call; false if there was no answer that says anything about it. */
  async #call(): Promise<boolean> {
    const { tool, args } = this.#order;
    const { n } = args;
    this.#note({ n, step: 'sent' });
    const message = await this.#ask('tools/call', `${serverName}__${tool}`, {
      name: `${serverName}__${tool}`,
      arguments: args,
    });
    const { result, error } = message ?? {};
    if (result?.resultType === 'task') {
      this.#taskId = result.taskId;
      this.#note({ n, step: 'task', taskId: result.taskId });
      return true;
    }
    if (
      result === undefined &&
      (error === undefined || (isRefusal(error) && this.#refusals++ < MOST_REFUSALS))
    )
      return false;
    this.#answers++;
    this.#note({
      n,
      step: 'answered',
      text: result?.content?.[0]?.text ?? error?.message ?? JSON.stringify(message),
    });
    return true;
  }

  /** Returns what the task ended with. */
  async #follow(taskId: string): Promise<string> {
    const { args, cancels, repeats, kind } = this.#order;
    const { n } = args;
    for (;;) {
      const { result, error } = (await this.#ask('tasks/get', taskId, { taskId })) ?? {};
      const status = error?.code === -32602 ? 'unknown' : result?.status;
      if (status === 'unknown' || ENDED.includes(status)) {
        const text = result?.result?.content?.[0]?.text ?? result?.error?.message ?? '';
        this.#note({ n, step: 'ended', taskId, status, text });
        return text;
      }
      if (cancels && this.#chance() < 0.1) await this.#ask('tasks/cancel', taskId, { taskId });
      // The call is then held by the replica that was asked last, or spends the approval itself.
      if (repeats && kind === 'asked' && this.#chance() < 0.2) {
        await this.#call();
        if (this.#taskId !== null && this.#taskId !== taskId) return this.#follow(this.#taskId);
      }
      await this.#pause();
    }
  }

  async #check(): Promise<void> {
    const { tool, args } = this.#order;
    const { n } = args;
    const body = JSON.stringify({ serverName, toolName: tool, args });
    const answer = await this.#send({ path: '/v1/check', body, headers: this.#keyHeader() });
    if (answer?.status !== 200) return this.#pause();
    const { decision, toolCallId } = JSON.parse(answer.text);
    this.#answers++;
    this.#note({ n, step: 'answered', text: decision, toolCallId });
  }

  async #ask(method: string, name: string, params: Any): Promise<Any | null> {
    const _meta = {
      [`${META}protocolVersion`]: '2026-07-28',
      [`${META}clientCapabilities`]: { extensions: { [`${META}tasks`]: {} } },
    };
    const headers =
      'Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n' +
      `Mcp-Method: ${method}\r\nMcp-Name: ${name}\r\n${method === 'tools/call' ? this.#keyHeader() : ''}`;
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } });
    const answer = await this.#send({ path: '/mcp', body, headers });
    if (answer === null || answer.status === 429 || answer.status >= 500) {
      await this.#pause();
      return null;
    }
    return JSON.parse(answer.text);
  }

  async #send(asked: { path: string; body: string; headers: string }): Promise<Answer | null> {
    const { urls } = this.#orders;
    const { token } = this.#order;
    const wire = await Wire.open(urls[Math.floor(this.#chance() * urls.length)] as string);
    const answer = (await wire?.ask({ token, ...asked })) ?? null;
    wire?.close();
    if (answer === null) await this.#pause();
    return answer;
  }

  #keyHeader(): string {
    return hasKey(this.#order) ? `Idempotency-Key: ${this.#order.args.n}\r\n` : '';
  }

  #pause(): Promise<void> {
    const ms = Math.min(PAUSE_MS * 1.2 ** this.#pauses++, MOST_PAUSE_MS);
    return Bun.sleep(ms * (0.5 + this.#chance()));
  }
}

/**
 * There was no verdict, so the call was not made: it could not be recorded, or the tool server was away when its tools were
 * listed.
 */
const isRefusal = ({ message, code }: { message: string; code: number }): boolean =>
  message.includes('could not be recorded') || message.startsWith('Unknown tool') || code === -32000;
