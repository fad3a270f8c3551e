// Speaks JSON-RPC with a program, one message in a line: Codex's app server and Gemini CLI as editors start it.

type Program = Bun.Subprocess<'pipe', 'pipe', 'ignore'>;

export class JsonLines {
  readonly #program: Program;
  readonly #lines: AsyncGenerator<string, void>;
  #id = 0;

  constructor(program: Program) {
    this.#program = program;
    this.#lines = linesOf(program.stdout);
  }

  /** Sends a request, without waiting for its answer. */
  send(method: string, params: object): number {
    const id = ++this.#id;
    this.#program.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    this.#program.stdin.flush();
    return id;
  }

  async ask<T>(method: string, params: object): Promise<T> {
    const id = this.send(method, params);
    // Not by `for await`, which would end the lines with this answer.
    for (let line = await this.#lines.next(); !line.done; line = await this.#lines.next()) {
      const { id: of, result, error } = JSON.parse(line.value);
      if (of !== id) continue;
      if (error !== undefined) throw new Error(`${method}: ${JSON.stringify(error)}`);
      return result;
    }
    throw new Error(`the program ended before it answered ${method}`);
  }
}

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string, void> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of stream) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = parts.pop() ?? '';
    yield* parts.filter(part => part.startsWith('{'));
  }
}
