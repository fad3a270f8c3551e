// An upstream in memory, for tests of what stands before it: a channel that carries messages both ways, answers the
// first words by itself, and does with the rest what the test says.

import type { Principal } from '../../src/guard/credentials.ts';
import { Rations } from '../../src/guard/rations/rations.ts';
import { Duplex } from '../../src/mcp/duplex.ts';
import type { ClientRequest } from '../../src/mcp/services.ts';
import { SharedWork } from '../../src/mcp/shared-work.ts';
import { Upstream, type UpstreamLimits } from '../../src/mcp/upstream.ts';
import { StdioServers } from '../../src/settings/stdio-servers.ts';
import { connectedTool } from '../store/stores.ts';

// biome-ignore lint/suspicious/noExplicitAny: a message is whatever was sent
type Any = any;

export const PLENTY: UpstreamLimits = { connectMs: 60_000, startMs: 60_000, patienceMs: 60_000 };

/** Of nobody else. */
export const newRation = () => new Rations().answer('key');

/** Of a hub that is made by itself, without commands. */
const unused = () => Promise.reject(new Error('no server here wants a sign-in'));

export const HUB_SETTINGS = {
  rules: { allowPrivate: true },
  rations: new Rations(),
  stdioServers: new StdioServers({}),
  stdioStderr: 'drop' as const,
  onStderrDropped: () => {},
  upstreamStart: 60_000,
  serverSignIns: { authorization: unused, refused: unused },
};

/** A request of a client, and what goes with it. */
export function clientRequest(
  request: Request,
  principal: Principal,
  rations = new Rations(),
): ClientRequest {
  const ration = rations.answer(principal.keyId);
  const once = { ration, shared: new SharedWork(), reading: () => {}, waiting: () => {} };
  return { request, principal, startedAt: performance.now(), confirm: async () => {}, ...once };
}

export class Channel extends Duplex {
  readonly sent: Any[] = [];
  ended = 0;
  listened = 0;
  override triesModern = false;
  /** What comes of a message before it counts as taken. */
  onWrite: (text: string) => Promise<void> | void = () => {};
  /** The answer to a request; none where it gives nothing. */
  readonly #answers: Record<string, (message: Any) => Any>;

  constructor(
    answers: Record<string, (message: Any) => Any> = {},
    ration = newRation,
    isShared?: () => boolean,
  ) {
    super(ration, isShared);
    const first = () => ({ result: { protocolVersion: '2025-06-18', capabilities: { tools: {} } } });
    this.#answers = { initialize: first, ...answers };
  }

  of(method: string): Any[] {
    return this.sent.filter(each => each.method === method);
  }

  /** The upstream says something. What waits for room is taken when the promise resolves. */
  say(message: Any): Promise<void> | null {
    return this.take(typeof message === 'string' ? message : JSON.stringify({ jsonrpc: '2.0', ...message }));
  }

  /** The channel breaks by itself. */
  breaks(reason: string): void {
    this.broken(reason);
  }

  override listen(): void {
    this.listened++;
  }

  protected async write(text: string): Promise<void> {
    const message = JSON.parse(text);
    this.sent.push(message);
    await this.onWrite(text);
    const answer = this.#answers[message.method]?.(message);
    if (answer !== undefined) this.say({ id: message.id, ...answer });
  }

  protected end(): void {
    this.ended++;
  }
}

export interface Made {
  upstream: Upstream;
  /** Every channel that was opened, the newest last. */
  opened: Channel[];
  changed: () => number;
}

/** A connection to what `open` gives. */
export function upstreamOn(
  open: (signal: AbortSignal) => Promise<Channel> | Channel,
  {
    transport = 'stdio',
    limits = PLENTY,
    now = Date.now,
    id = 'id',
  }: { transport?: 'stdio' | 'http'; limits?: UpstreamLimits; now?: () => number; id?: string } = {},
): Made {
  const opened: Channel[] = [];
  let changed = 0;
  const upstream = new Upstream(
    connectedTool({ id, transport, target: '' }),
    async (_tool, signal) => {
      const channel = await open(signal);
      channel.triesModern = transport === 'http';
      opened.push(channel);
      return channel;
    },
    newRation,
    now,
    () => changed++,
    limits,
  );
  return { upstream, opened, changed: () => changed };
}
