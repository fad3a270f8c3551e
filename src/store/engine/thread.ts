// A dedicated thread for blocking work. The runtime's thread pool has as many threads as the machine has cores, and
// every DNS look-up and file read of the process waits there; work that must never wait for those gets its own thread.
// Its code is a small module, loaded as text so that a bundle and an executable contain it.

interface Refusal {
  message: string;
  code: string | null;
}

/** The message with which a thread's module answers each order. It processes orders one after another. */
type Reply<Result> = { result: Result } | { refusal: Refusal };

export class Thread<Order, Result> {
  readonly #worker: Worker;
  /** The orders without an answer, in the order in which they will be answered. */
  readonly #waiting: PromiseWithResolvers<Result>[] = [];
  #ended: Error | null = null;

  constructor(module: string) {
    const url = URL.createObjectURL(new Blob([module], { type: 'application/typescript' }));
    // The thread ends with the process and does not keep it alive.
    this.#worker = new Worker(url, { smol: true, ref: false });
    this.#worker.onmessage = ({ data }: MessageEvent<Reply<Result>>) => this.#take(data);
    this.#worker.onerror = ({ message }) => this.#end(new Error(`a thread ended: ${message}`));
    this.#worker.addEventListener('close', () => this.#end(new Error('a thread ended')));
    // The URL must not be revoked sooner: a thread reports that it is open before it has read its module.
    this.#worker.addEventListener('message', () => URL.revokeObjectURL(url), { once: true });
  }

  get ended(): boolean {
    return this.#ended !== null;
  }

  ask(order: Order): Promise<Result> {
    if (this.#ended !== null) return Promise.reject(this.#ended);
    const asked = Promise.withResolvers<Result>();
    this.#waiting.push(asked);
    this.#worker.postMessage(order);
    return asked.promise;
  }

  /** Ends the thread and rejects all orders that are still waiting. */
  end(): void {
    this.#end(new Error('the thread was ended'));
    this.#worker.terminate();
  }

  #take(answer: Reply<Result>): void {
    const asked = this.#waiting.shift();
    if ('result' in answer) asked?.resolve(answer.result);
    else asked?.reject(Object.assign(new Error(answer.refusal.message), { code: answer.refusal.code }));
  }

  #end(error: Error): void {
    this.#ended ??= error;
    for (const asked of this.#waiting.splice(0)) asked.reject(error);
  }
}
