// One key of several on a service, with a model of what it owns: sessions, approvals, grants, Connected Tools and
// connections. It does random things with them, and tries its luck with those of others; each act answers with
// what it saw or changed that it must not.

import { connect, LegacyClient, postMcp, RecordingUpstream, text } from '../support/mcp.ts';
import type { Reply, TestService } from '../support/service.ts';

interface Session {
  id: string;
  token: string;
}

interface Approval {
  referenceId: string;
  tool: string;
  approved: boolean;
}

/** Of one spelling to the eye; all need approval. */
const TOOLS = ['deploy', 'Deploy', 'd\u0435ploy', 'deploy_', 'deploy\u200b'];
/** Names of Connected Tools, the same for everybody. */
const SERVERS = ['files', 'files-a', 'file-s', 'f'];

type Act = (others: Tenant[]) => Promise<string[]>;

export class Tenant {
  readonly service: TestService;
  readonly #chance: () => number;
  /** Part of everything that is this key's alone, so that it can be recognised in what others get to see. */
  readonly mark = crypto.randomUUID();
  readonly upstream: RecordingUpstream;
  readonly keyId: string;
  readonly #key: string;
  sessions: Session[] = [];
  approvals: Approval[] = [];
  readonly #granted = new Set<string>();
  readonly #servers = new Map<string, string>();
  connections: LegacyClient[] = [];
  #calls = 0;

  private constructor(service: TestService, chance: () => number, key: { key: string; keyId: string }) {
    this.service = service;
    this.#chance = chance;
    this.#key = key.key;
    this.keyId = key.keyId;
    const echo = { name: 'echo', description: `of ${this.mark}`, inputSchema: { type: 'object' } };
    this.upstream = new RecordingUpstream({
      tools: [echo],
      onCall: () => ({ content: [{ type: 'text', text: this.mark }] }),
    });
  }

  static async create(service: TestService, name: string, chance: () => number): Promise<Tenant> {
    const made = await service.newKey(
      [
        { tool: 'echo', action: 'allow' },
        { tool: '*', action: 'require_approval' },
      ],
      { name },
    );
    const tenant = new Tenant(service, chance, made);
    await tenant.#connectTool();
    return tenant;
  }

  close(): Promise<void> {
    return this.upstream.stop();
  }

  act(others: Tenant[]): Promise<string[]> {
    const acts: Act[] = [
      () => this.#mint(),
      others => this.#list(others),
      () => this.#end(),
      others => this.#endAnothers(this.#one(others)),
      others => this.#ask(others),
      others => this.#ask(others),
      () => this.#answer(),
      () => this.#spend(),
      others => this.#spendAnothers(this.#one(others)),
      () => this.#open(),
      others => this.#tools(others),
      others => this.#call(others),
      others => this.#continueAnothers(this.#one(others), others),
      () => this.#reconnectTool(),
    ];
    return this.#one(acts)(others);
  }

  /** What must not turn up in an answer to anybody else. */
  secrets(): string[] {
    return [
      this.mark,
      this.keyId,
      ...this.sessions.map(each => each.id),
      ...this.approvals.map(each => each.referenceId),
      ...this.connections.map(each => each.sessionId),
    ];
  }

  #one<T>(list: readonly T[]): T {
    return list[Math.floor(this.#chance() * list.length)] as T;
  }

  #seen(others: Tenant[], said: string, act: string): string[] {
    const seen = others.flatMap(other => other.secrets()).filter(secret => said.includes(secret));
    return seen.map(secret => `${act} showed ${secret} of another`);
  }

  // --- sessions ----------------------------------------------------------------------------------

  async #mint(): Promise<string[]> {
    const label = `run ${this.mark}`;
    const { body } = await this.service.json('POST', '/v1/sessions', this.#key, { label });
    this.sessions.push({ id: body.id, token: body.token });
    return [];
  }

  async #list(others: Tenant[]): Promise<string[]> {
    const reply = await this.service.json('GET', '/v1/sessions', this.#key);
    const listed: string[] = reply.body.sessions.map((each: Session) => each.id).sort();
    const wanted = this.sessions.map(each => each.id).sort();
    const leaks = this.#seen(others, reply.text, 'a list of sessions');
    return listed.join() === wanted.join() ? leaks : [...leaks, 'a list of sessions is not the key’s own'];
  }

  async #end(): Promise<string[]> {
    const session = this.sessions.shift();
    if (session === undefined) return [];
    const { status } = await this.service.json('DELETE', `/v1/sessions/${session.id}`, this.#key);
    return status === 204 ? [] : [`an own session could not be ended: ${status}`];
  }

  async #endAnothers(other: Tenant): Promise<string[]> {
    if (other.sessions.length === 0) return [];
    const { id, token } = this.#one(other.sessions);
    const { status } = await this.service.json('DELETE', `/v1/sessions/${id}`, this.#key);
    const after = await this.service.check(token, 'prod', 'echo');
    const lives = after.status === 200 && after.body.decision === 'allow';
    return status === 404 && lives
      ? []
      : [`another’s session: ${status}, and it ${lives ? 'lives' : 'ended'}`];
  }

  // --- approvals and grants ----------------------------------------------------------------------

  #token(): string {
    return this.sessions.length > 0 && this.#chance() < 0.5 ? this.#one(this.sessions).token : this.#key;
  }

  #check(tool: string, more: Record<string, unknown> = {}): Promise<Reply> {
    return this.service.check(this.#token(), 'prod', tool, { args: { n: 1 }, ...more });
  }

  async #ask(others: Tenant[]): Promise<string[]> {
    const tool = this.#one(TOOLS);
    const reply = await this.#check(tool);
    const wanted = this.#granted.has(tool) ? 'allow' : 'pending';
    const leaks = this.#seen(others, reply.text, 'a verdict');
    if (reply.body.decision !== wanted) leaks.push(`${tool} is ${reply.text}, not ${wanted}`);
    const { referenceId } = reply.body;
    if (wanted === 'pending') this.approvals.push({ referenceId, tool, approved: false });
    return leaks;
  }

  /** A person answers: for one call, or now and then for a while. */
  async #answer(): Promise<string[]> {
    const approval = this.approvals.find(each => !each.approved);
    if (approval === undefined) return [];
    const forAWhile = this.#granted.size < 2 && this.#chance() < 0.2;
    const body = { action: 'approve', ...(forAWhile && { duration: '1h' }) };
    const path = `/approvals/${approval.referenceId}/resolve`;
    const { status } = await this.service.admin('POST', path, body);
    if (forAWhile) {
      this.#granted.add(approval.tool);
      this.approvals = this.approvals.filter(each => each !== approval);
    } else approval.approved = true;
    return status === 200 ? [] : [`an approval could not be answered: ${status}`];
  }

  async #spend(): Promise<string[]> {
    const approval = this.approvals.find(each => each.approved && !this.#granted.has(each.tool));
    if (approval === undefined) return [];
    this.approvals = this.approvals.filter(each => each !== approval);
    const { body } = await this.#check(approval.tool, { referenceId: approval.referenceId });
    return body.decision === 'allow' ? [] : [`an own approval does not free: ${JSON.stringify(body)}`];
  }

  async #spendAnothers(other: Tenant): Promise<string[]> {
    const approval = other.approvals.find(each => each.approved && !this.#granted.has(each.tool));
    if (approval === undefined) return [];
    const { referenceId, tool } = approval;
    const { body } = await this.#check(tool, { referenceId });
    if (body.decision === 'allow') return ['another’s approval frees a call'];
    if (body.decision === 'pending')
      this.approvals.push({ referenceId: body.referenceId, tool, approved: false });
    return [];
  }

  // --- Connected Tools and connections -----------------------------------------------------------

  async #connectTool(): Promise<void> {
    const name = this.#one(SERVERS.filter(each => !this.#servers.has(each)));
    this.#servers.set(name, await connect(this.service, this.keyId, name, this.upstream.url));
  }

  async #reconnectTool(): Promise<string[]> {
    if (this.#servers.size < 2) await this.#connectTool();
    else {
      const [name, id] = this.#one([...this.#servers]);
      await this.service.admin('DELETE', `/keys/${this.keyId}/connected-tools/${id}`);
      this.#servers.delete(name);
    }
    return [];
  }

  async #open(): Promise<string[]> {
    if (this.connections.length > 3) this.connections.shift();
    this.connections.push(await LegacyClient.open(this.service, this.#key));
    return [];
  }

  async #tools(others: Tenant[]): Promise<string[]> {
    if (this.connections.length === 0) return [];
    const said = await this.#one(this.connections).request('tools/list');
    const listed: string[] = said.result.tools.map((each: { name: string }) => each.name).sort();
    const wanted = [...this.#servers.keys()].map(name => `${name}__echo`).sort();
    const leaks = this.#seen(others, said.text, 'a list of tools');
    return listed.join() === wanted.join() ? leaks : [...leaks, `${listed} are listed, not ${wanted}`];
  }

  async #call(others: Tenant[]): Promise<string[]> {
    if (this.connections.length === 0) return [];
    const server = this.#one(SERVERS);
    const said = await this.#one(this.connections).call(`${server}__echo`, {});
    const leaks = [...this.#seen(others, said.text, 'a call'), ...others.flatMap(other => other.#reached())];
    const own = this.#servers.has(server);
    if (own) this.#calls++;
    if (own && text(said) !== this.mark) leaks.push(`a call was answered ${said.text}`);
    return [...leaks, ...this.#reached()];
  }

  /** Calls that reached this key's server and were not its own. */
  #reached(): string[] {
    const extra = this.upstream.calls.length - this.#calls;
    this.#calls = this.upstream.calls.length;
    return extra === 0 ? [] : [`${extra} calls more than its own reached a server`];
  }

  async #continueAnothers(other: Tenant, others: Tenant[]): Promise<string[]> {
    if (other.connections.length === 0) return [];
    const { sessionId } = this.#one(other.connections);
    const headers = { 'Mcp-Session-Id': sessionId };
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
    const said = await postMcp(this.service, this.#key, body, { headers });
    const leaks = this.#seen(others, said.text.replaceAll(sessionId, ''), 'another’s connection');
    return said.status === 404 ? leaks : [...leaks, `another’s connection is continued: ${said.status}`];
  }
}
