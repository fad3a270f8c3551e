// An upstream of the older HTTP transport, for tests: it names its endpoint on the stream, takes messages there, and
// says on the stream what it is told to.

// biome-ignore lint/suspicious/noExplicitAny: a message is whatever came
type Any = any;

export interface SseOptions {
  /** The address it names for messages; its own unless told. */
  endpoint?: string;
  /** What it does with a call, besides taking it; answers with an empty result unless told. */
  onCall?: (message: Any, upstream: SseUpstream) => void;
  /** Answers to our own requests are held open, as by a server that does not take them. */
  holdsAnswers?: boolean;
}

export class SseUpstream {
  readonly heard: Any[] = [];
  readonly #options: SseOptions;
  readonly #server: Bun.Server<undefined>;
  #stream: ReadableStreamDefaultController<Uint8Array> | null = null;
  /** Streams that were opened so far. */
  opened = 0;
  /** Posts of answers to its requests that are under way, and the most there were. */
  held = 0;
  mostHeld = 0;

  constructor(options: SseOptions = {}) {
    this.#options = options;
    this.#server = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      idleTimeout: 0,
      fetch: request => (request.method === 'GET' ? this.#open() : this.#take(request)),
    });
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}/sse`;
  }

  say(message: Any): void {
    this.#write(`event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`);
  }

  answer(id: Any, text = ''): void {
    this.say({ id, result: { content: [{ type: 'text', text }] } });
  }

  stop(): Promise<void> {
    return this.#server.stop(true);
  }

  #open(): Response {
    const { endpoint = '/messages' } = this.#options;
    const body = new ReadableStream<Uint8Array>({
      start: controller => {
        this.#stream = controller;
        this.opened++;
        this.#write(`event: endpoint\ndata: ${endpoint}\n\n`);
      },
    });
    return new Response(body, { headers: { 'Content-Type': 'text/event-stream' } });
  }

  async #take(request: Request): Promise<Response> {
    const message: Any = await request.json();
    this.heard.push(message);
    const { id, method, params } = message;
    if (method === 'initialize') {
      const { protocolVersion } = params;
      const serverInfo = { name: 'sse', version: '1' };
      this.say({ id, result: { protocolVersion, capabilities: { tools: {} }, serverInfo } });
    } else if (method === 'tools/list') {
      this.say({ id, result: { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] } });
    } else if (method === 'tools/call') {
      if (this.#options.onCall === undefined) this.answer(id);
      else this.#options.onCall(message, this);
    } else if (method === undefined && this.#options.holdsAnswers) return this.#hold(request);
    return new Response(null, { status: 202 });
  }

  #hold(request: Request): Promise<Response> {
    this.held++;
    this.mostHeld = Math.max(this.mostHeld, this.held);
    request.signal.addEventListener('abort', () => this.held--);
    return new Promise(() => {});
  }

  #write(text: string): void {
    this.#stream?.enqueue(new TextEncoder().encode(text));
  }
}
