// A key with Connected Tools whose tools people look at before they accept them, for tests of the first look.

import { type Answered, auditOf, connect, LegacyClient, RecordingUpstream, text } from '../support/mcp.ts';
import type { Reply, TestService } from '../support/service.ts';

// biome-ignore lint/suspicious/noExplicitAny: a definition is whatever a server shows
type Any = any;

export const tool = (name: string, more: object = {}) => ({
  name,
  description: `Does ${name}.`,
  inputSchema: { type: 'object' },
  ...more,
});

/** As `GET …/tools` shows one. */
export interface ShownTool {
  name: string;
  definition: Any;
  digest: string;
  accepted: { by: string; at: string | null; digest: string } | null;
  difference: { mark: string; text: string }[] | null;
  findings: { kind: string; where: string; text: string }[];
  heldFor: string[];
}

export interface Server {
  upstream: RecordingUpstream;
  /** The path of the Connected Tool, or of the tool server, below `/admin/v1`. */
  path: string;
}

export class Reviewing {
  readonly service: TestService;
  readonly key: string;
  readonly keyId: string;
  readonly client: LegacyClient;
  readonly #upstreams: RecordingUpstream[] = [];

  private constructor(
    service: TestService,
    { key, keyId }: { key: string; keyId: string },
    client: LegacyClient,
  ) {
    this.service = service;
    this.key = key;
    this.keyId = keyId;
    this.client = client;
  }

  static async start(
    service: TestService,
    rules: Any[] = [{ tool: '*', action: 'allow' }],
  ): Promise<Reviewing> {
    const made = await service.newKey(rules);
    return new Reviewing(service, made, await LegacyClient.open(service, made.key));
  }

  /** The same key, asked of another replica. */
  at(service: TestService): Reviewing {
    return new Reviewing(service, this, this.client.at(service));
  }

  /** Connects a server with these tools. Without `trust`, it is what the API begins with. */
  async connect(name: string, tools: Any[], trust?: 'first' | 'reviewed'): Promise<Server> {
    const upstream = new RecordingUpstream({ tools });
    this.#upstreams.push(upstream);
    const where = { transport: 'http', url: upstream.url, ...(trust && { trust }) };
    const id = await connect(this.service, this.keyId, name, where);
    return { upstream, path: `/keys/${this.keyId}/connected-tools/${id}` };
  }

  /** The same with a tool server that other keys could have, too. */
  async connectShared(name: string, tools: Any[], trust?: 'first' | 'reviewed'): Promise<Server> {
    const upstream = new RecordingUpstream({ tools });
    this.#upstreams.push(upstream);
    const own = `s-${crypto.randomUUID().slice(0, 8)}`;
    const server = { name: own, transport: 'http', url: upstream.url, ...(trust && { trust }) };
    const made = await this.service.admin('POST', '/tool-servers', server);
    if (made.status !== 201) throw new Error(`not registered: ${made.text}`);
    await connect(this.service, this.keyId, name, { toolServerId: made.body.id });
    return { upstream, path: `/tool-servers/${made.body.id}` };
  }

  /** From now on the server shows these tools, and the service has seen them. */
  async shows({ upstream }: Server, tools: Any[]): Promise<void> {
    upstream.options.tools = tools;
    await this.client.tools();
  }

  /** Has the service ask the server for its tools at once, as somebody does who tests it. */
  ask({ path }: Server): Promise<Reply> {
    return this.service.admin('POST', `${path}/test`);
  }

  async tools({ path }: Server, query = ''): Promise<ShownTool[]> {
    const { status, body, text: said } = await this.service.admin('GET', `${path}/tools${query}`);
    if (status !== 200) throw new Error(`not shown: ${said}`);
    return body.tools;
  }

  async tool(server: Server, name: string): Promise<ShownTool> {
    const found = (await this.tools(server)).find(each => each.name === name);
    if (found === undefined) throw new Error(`there is no tool ${name}`);
    return found;
  }

  accept({ path }: Server, tools: readonly { name: string; digest: string }[]) {
    const body = { tools: tools.map(({ name, digest }) => ({ name, digest })) };
    return this.service.admin('POST', `${path}/accept`, body);
  }

  /** What became of a call: `ran`, or the decision that was in its way. */
  async call(name: string, args: object = {}): Promise<string> {
    return outcomeOf(await this.client.call(name, args));
  }

  /** The reason of the last call. */
  async reason(): Promise<string> {
    return (await auditOf(this.service, this.keyId)).at(-1)?.reason ?? '';
  }

  async approve(referenceId: string): Promise<void> {
    const reply = await this.service.admin('POST', `/approvals/${referenceId}/resolve`, {
      action: 'approve',
    });
    if (reply.status !== 200) throw new Error(`not approved: ${reply.text}`);
  }

  /** How many calls reached the servers. */
  get ran(): number {
    return this.#upstreams.reduce((sum, each) => sum + each.calls.length, 0);
  }

  async end(): Promise<void> {
    for (const each of this.#upstreams) await each.stop();
  }
}

export function outcomeOf(answered: Answered): string {
  const { result, error } = answered;
  if (result?.structuredContent?.status === 'pending') return 'pending';
  if (result?.isError === true)
    return text(answered).startsWith('Blocked by policy') ? 'denied' : text(answered);
  return result === undefined ? `error: ${error?.message}` : 'ran';
}

export const pendingOf = (answered: Answered): string => answered.result.structuredContent.referenceId;

/** The lines of the difference that are not in both definitions. */
export const changedLines = ({ difference }: ShownTool) =>
  difference?.filter(({ mark }) => /[-+]/.test(mark)).map(({ mark, text }) => `${mark} ${text.trim()}`);
