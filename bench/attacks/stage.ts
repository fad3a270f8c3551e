// The harness's own way to a suite: a Unix socket of server.py, past Toolgate and MCP. It sets the stage for a task, tells the
// calls, and judges.

export const SUITES = ['workspace', 'travel', 'banking', 'slack'] as const;
export type SuiteName = (typeof SUITES)[number];

export interface Call {
  tool: string;
  args: Record<string, unknown>;
}

/** What a task, or a task with an injected goal, consists of. */
export interface Scene {
  prompt: string;
  own: Call[];
  /** What the injected places say, and the calls of whoever obeys. */
  text?: string;
  injected?: Call[];
}

export interface Parts {
  tasks: string[];
  goals: string[];
  /** Goals without a ground truth. */
  leftOut: string[];
}

export interface Pair {
  task: string;
  goal?: string;
}

/** The questions that are answered one after another, as they were asked. */
export class Stage {
  readonly #socket: Bun.Socket;
  readonly #waiting: ((line: string) => void)[];

  private constructor(socket: Bun.Socket, waiting: ((line: string) => void)[]) {
    this.#socket = socket;
    this.#waiting = waiting;
  }

  static async open(path: string): Promise<Stage> {
    const waiting: ((line: string) => void)[] = [];
    const decoder = new TextDecoder();
    let rest = '';
    const data = (_: unknown, bytes: Uint8Array) => {
      const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) waiting.shift()?.(line);
    };
    return new Stage(await Bun.connect({ unix: path, socket: { data } }), waiting);
  }

  parts = (): Promise<Parts> => this.#ask('parts');
  load = (pair: Pair): Promise<Scene> => this.#ask('load', pair);
  run = (call: Call): Promise<{ text: string; failed: boolean }> => this.#ask('run', call);
  /** Whether the goal is reached, or without a goal whether the task is done. */
  judge = async (pair: Pair): Promise<boolean> => (await this.#ask<{ holds: boolean }>('judge', pair)).holds;
  lists = (): Promise<Record<string, string[]>> => this.#ask('lists');
  values = async (): Promise<string[]> => (await this.#ask<{ values: string[] }>('values')).values;

  close(): void {
    this.#socket.end();
  }

  async #ask<Answer>(question: string, more: object = {}): Promise<Answer> {
    const { promise, resolve } = Promise.withResolvers<string>();
    this.#waiting.push(resolve);
    this.#socket.write(`${JSON.stringify({ question, ...more })}\n`);
    const answer = JSON.parse(await promise) as Answer & { error?: string };
    if (answer.error !== undefined) throw new Error(`The stage could not ${question}: ${answer.error}`);
    return answer;
  }
}
