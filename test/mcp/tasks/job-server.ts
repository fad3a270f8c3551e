// A tool server of the newer era that answers calls with tasks. What it says of a task is whatever the test lets it say.

import { error, type Heard, RecordingUpstream, type UpstreamOptions } from '../../support/mcp.ts';
import { TASKS } from '../../support/tasks.ts';

// biome-ignore lint/suspicious/noExplicitAny: a server answers anything
type Any = any;

export const NAMES = ['job', 'gated', 'hidden', 'args', 'page', 'contacts', 'send'];
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';

export const knowsTasks = ({ params }: Heard): boolean =>
  params._meta[CAPABILITIES].extensions?.[TASKS] !== undefined;

export const text = (said: string): Any => ({ content: [{ type: 'text', text: said }] });
export const completed = (result: Any): Any => ({
  status: 'completed',
  result: { resultType: 'complete', ...result },
});

export class JobServer extends RecordingUpstream {
  /** What it says of its tasks, or a function that does, by the argument `n` of the call. */
  readonly says = new Map<string, Any>();
  /** What the answer to the next call has in place of a usual task. */
  creates: Any = null;
  readonly #names = new Map<string, string>();

  constructor(options: UpstreamOptions = {}) {
    super({
      era: 'modern',
      tools: NAMES.map(name => ({ name, inputSchema: { type: 'object' } })),
      onCall: heard => this.#create(heard),
      others: {
        'tasks/get': heard => this.#about(heard, () => this.#state(heard)),
        'tasks/update': heard => this.#about(heard, () => ({})),
        'tasks/cancel': heard => this.#about(heard, () => ({})),
      },
      ...options,
    });
  }

  /** What the server calls the task of this call. */
  idOf(n: string): string {
    const [id] = [...this.#names].find(([, name]) => name === n) ?? [];
    if (id === undefined) throw new Error(`no call with ${n} came`);
    return id;
  }

  /** How often it was asked about the task of this call. */
  asked(method: string, n: string): Heard[] {
    return this.of(method).filter(each => each.params.taskId === this.idOf(n));
  }

  #state(heard: Heard): Any {
    const said = this.says.get(this.#names.get(heard.params.taskId) as string);
    return typeof said === 'function' ? said(heard) : (said ?? { status: 'working' });
  }

  #create({ params }: Heard): Any {
    const id = `job-${crypto.randomUUID()}`;
    this.#names.set(id, params.arguments.n);
    const at = new Date().toISOString();
    const times = { createdAt: at, lastUpdatedAt: at, ttlMs: 60_000, pollIntervalMs: 100 };
    const more = this.creates;
    this.creates = null;
    return { resultType: 'task', taskId: id, status: 'working', ...times, ...more };
  }

  async #about(heard: Heard, answer: () => Any): Promise<Any> {
    if (!knowsTasks(heard)) return error(heard, -32021, 'not declared');
    if (heard.headers['mcp-name'] !== heard.params.taskId) return error(heard, -32020, 'another name');
    const said = await answer();
    if (said instanceof Response) return said;
    return { resultType: 'complete', ...said, ...(said.status && { taskId: heard.params.taskId }) };
  }
}
