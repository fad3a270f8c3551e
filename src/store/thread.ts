// A thread of its own for work that blocks. The runtime's pool has as many threads as the machine has cores, and
// whoever looks up a name or reads a file anywhere in the process waits there: what must never wait for others gets
// a thread. What it does is a small module, loaded as text so that a bundle and an executable carry it.

interface Refusal {
  message: string;
  code: string | null;
}

/** What a thread's module sends for each order: it takes them one after another. */
type Answer<Result> = { result: Result } | { refusal: Refusal };

export class Thread<Order, Result> {
  readonly #worker: Worker;
  /** In the order that they will be answered in. */
  readonly #waiting: PromiseWithResolvers<Result>[] = [];
  #ended: Error | null = null;

  constructor(module: string) {
    const url = URL.createObjectURL(new Blob([module], { type: 'application/typescript' }));
    // It ends with the process and never keeps it alive.
    this.#worker = new Worker(url, { smol: true, ref: false });
    this.#worker.onmessage = ({ data }: MessageEvent<Answer<Result>>) => this.#take(data);
    this.#worker.onerror = ({ message }) => this.#end(new Error(`a thread ended: ${message}`));
    this.#worker.addEventListener('close', () => this.#end(new Error('a thread ended')));
    // Not sooner: a thread tells that it is open before it has read its module.
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

  /** Whoever still waits is told so. */
  end(): void {
    this.#end(new Error('the thread was ended'));
    this.#worker.terminate();
  }

  #take(answer: Answer<Result>): void {
    const asked = this.#waiting.shift();
    if ('result' in answer) asked?.resolve(answer.result);
    else asked?.reject(Object.assign(new Error(answer.refusal.message), { code: answer.refusal.code }));
  }

  #end(error: Error): void {
    this.#ended ??= error;
    for (const asked of this.#waiting.splice(0)) asked.reject(error);
  }
}
