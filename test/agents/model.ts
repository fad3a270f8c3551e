// A model on loopback whose every answer is said by a test. An agent asks it for what to do next; its request waits until
// the test names the tool calls, and the next request brings their results. What the requests and answers look like is
// left to the dialects: anthropic.ts, openai.ts and gemini.ts.

import { createServer } from 'node:net';

export interface Call {
  name: string;
  /** The MCP server of the tool, where a vendor names it apart. */
  namespace?: string;
  args: Record<string, unknown>;
}

export interface Offered {
  name: string;
  args: string[];
}

/** One vendor's interface. */
export interface Dialect {
  /** The results of tool calls in a request, or null if it is none of the conversation: it gets what `aside` says. */
  results(path: string, body: Record<string, unknown>): string[] | null;
  aside(path: string, body: Record<string, unknown>): Response;
  /** The tools that a request offers the model, with the names of their arguments. */
  offered(body: Record<string, unknown>): Offered[];
  /** An answer with these calls, or one that ends the conversation if there are none. */
  answer(calls: Call[], turn: number): Response;
}

interface Asked {
  results: string[];
  body: Record<string, unknown>;
  reply(response: Response): void;
}

/** Longer than any test waits. */
const NO_LIMIT = 0;

export class Model {
  readonly #dialect: Dialect;
  readonly #server: Bun.Server<undefined>;
  readonly #waiting: Asked[] = [];
  #arrived = () => {};
  #turn = 0;
  /** What a command that an agent runs can call, to show that it runs: `<url>/ran`. */
  onRun: () => Promise<void> = async () => {};
  /** The first question, which has the prompt and the tools that there are. */
  first: Record<string, unknown> | null = null;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
    this.#server = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      idleTimeout: NO_LIMIT,
      fetch: request => this.#take(request),
    });
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}`;
  }

  async #take(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (pathname === '/ran') {
      await this.onRun();
      return new Response('it ran\n');
    }
    const text = await request.text();
    const body = text.startsWith('{') ? JSON.parse(text) : {};
    const results = this.#dialect.results(pathname, body);
    if (results === null) return this.#dialect.aside(pathname, body);
    this.first ??= body;
    return new Promise(reply => {
      this.#waiting.push({ results, body, reply });
      this.#arrived();
    });
  }

  /** The agent's question that has no answer yet, as soon as there is one; `ended` fails if the agent ends before. */
  async #question(ended: Promise<never>): Promise<Asked> {
    for (;;) {
      const [first] = this.#waiting;
      if (first !== undefined) return first;
      await Promise.race([new Promise<void>(resolve => (this.#arrived = resolve)), ended]);
    }
  }

  /** Has the agent make these calls, and gives the results that it sends back. */
  async call(ended: Promise<never>, calls: Call[]): Promise<string[]> {
    await this.#answer(ended, calls);
    return (await this.#question(ended)).results;
  }

  /** Until the agent asks what to do. */
  async asked(ended: Promise<never>): Promise<void> {
    await this.#question(ended);
  }

  /** Has nothing more to ask for. */
  async finish(ended: Promise<never>): Promise<void> {
    await this.#answer(ended, []);
  }

  async #answer(ended: Promise<never>, calls: Call[]): Promise<void> {
    const question = await this.#question(ended);
    this.#waiting.shift();
    question.reply(this.#dialect.answer(calls, this.#turn++));
  }

  /** The tools that the agent has. */
  get offered(): Offered[] {
    return this.#dialect.offered(this.first ?? {});
  }

  close(): Promise<void> {
    return this.#server.stop(true);
  }
}

/** Events of a streamed answer. */
export function eventStream(events: { event?: string; data: unknown }[]): Response {
  const text = events.map(
    ({ event, data }) =>
      `${event === undefined ? '' : `event: ${event}\n`}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`,
  );
  return new Response(text.join(''), { headers: { 'Content-Type': 'text/event-stream' } });
}

/** Stands for the rest of the network: a proxy that lets nothing through, and knows who was asked for. */
export async function deadEnd(): Promise<{ url: string; wanted: string[]; close(): void }> {
  const wanted: string[] = [];
  const server = createServer(socket => {
    socket.once('data', data => {
      wanted.push(data.toString('latin1').split('\r\n')[0] ?? '');
      socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n');
    });
    socket.on('error', () => {});
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  return { url: `http://127.0.0.1:${port}`, wanted, close: () => server.close() };
}
