// What the tests of approvals share: a service (or several on one store) whose approval links arrive at a
// receiver of ours, and the steps of a person and an agent: ask, open, answer.

import { createHash } from 'node:crypto';
import { rmSync } from 'node:fs';
import type { Rule } from '../../src/core/policy/policy.ts';
import { newDataDir, StoreFromOutside, sql, until } from '../support/faults.ts';
import { freePort } from '../support/port.ts';
import { Receiver } from '../support/receiver.ts';
import { type Reply, type ServiceOptions, startService, type TestService } from '../support/service.ts';

export const ASK_ALL: Rule[] = [{ tool: '*', action: 'require_approval' }];

export interface Asked {
  referenceId: string;
  /** The capability in the link. */
  token: string;
  approveUrl: string;
}

export interface GateOptions extends ServiceOptions {
  replicas?: number;
}

export class Gate {
  readonly services: TestService[];
  readonly inbox: Receiver;
  readonly #dataDirs: string[];
  readonly #store: StoreFromOutside;

  constructor(services: TestService[], inbox: Receiver, dataDirs: string[]) {
    this.services = services;
    this.#store = new StoreFromOutside(this.service.databaseUrl);
    this.inbox = inbox;
    this.#dataDirs = dataDirs;
  }

  get service(): TestService {
    return this.services[0] as TestService;
  }

  async key(rules = ASK_ALL, more: Record<string, unknown> = {}): Promise<string> {
    return (await this.service.newKey(rules, more)).key;
  }

  /** A pending call, and the link that was sent for it. */
  async ask(token: string, toolName = 'deploy', more: Record<string, unknown> = {}): Promise<Asked> {
    const verdict = await this.service.check(token, 'prod', toolName, more);
    if (verdict.body.decision !== 'pending') throw new Error(`not held: ${verdict.text}`);
    return this.link(verdict.body.referenceId);
  }

  async link(referenceId: string): Promise<Asked> {
    const found = () => this.inbox.arrivals.find(each => each.json?.referenceId === referenceId);
    await until('the link arrived', () => found() !== undefined);
    const { approveUrl } = found()?.json ?? {};
    const token = /\/v1\/approve\/(tg_apr_\w+)\?/.exec(approveUrl)?.[1] ?? '';
    return { referenceId, token, approveUrl };
  }

  open(token: string, query = '', init: RequestInit = {}, service = this.service): Promise<Reply> {
    return service.request('GET', `/v1/approve/${token}${query}`, from(init));
  }

  answer(token: string, body: unknown, headers: Record<string, string> = {}, service = this.service) {
    return service.request('POST', `/v1/approve/${token}`, {
      ...from({ headers: { 'Content-Type': 'application/json', ...headers } }),
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  }

  async approve(token: string, duration?: string): Promise<void> {
    const reply = await this.answer(token, { action: 'approve', ...(duration && { duration }) });
    if (reply.status !== 200) throw new Error(`not approved: ${reply.text}`);
  }

  async statusOf(referenceId: string): Promise<string> {
    const [row] = await this.rows<{ status: string }>(
      `SELECT status FROM approvals WHERE id = '${referenceId}'`,
    );
    return row?.status ?? 'none';
  }

  /** The time of every open question is over as of now; a test that waits for a short one may be too slow for it. */
  async lapse(): Promise<void> {
    await this.rows(`UPDATE approvals SET expires_at = ${Date.now()} WHERE status = 'pending'`);
  }

  rows<T>(statement: string): Promise<T[]> {
    return this.#store.rows<T>(statement);
  }

  /** Waits until nothing is on its way to approvers, so that the store is at rest. */
  async quiet(): Promise<void> {
    const waiting = `SELECT id FROM notifications WHERE status = 'pending'`;
    await until('notifications settled', async () => (await this.rows(waiting)).length === 0);
  }

  async close(): Promise<void> {
    await this.#store.close();
    for (const service of this.services) await service.close();
    await this.inbox.close();
    for (const dataDir of this.#dataDirs) rmSync(dataDir, { recursive: true, force: true });
  }
}

export async function openGate({ replicas = 1, ...options }: GateOptions = {}): Promise<Gate> {
  const inbox = await Receiver.start();
  const env = {
    TOOLGATE_NOTIFY_URL: inbox.url,
    // Every request may come from an address of its own; the limit has tests of its own.
    TOOLGATE_TRUSTED_PROXIES: '127.0.0.1/32',
    ...options.env,
  };
  // Under another address than its own, a service must be told its port.
  const placed = async () =>
    options.env?.['TOOLGATE_PUBLIC_URL'] === undefined
      ? env
      : { ...env, TOOLGATE_PORT: String(await freePort()) };
  const first = await startService({ ...options, env: await placed() });
  const services = [first];
  const dataDirs: string[] = [];
  while (services.length < replicas) {
    const dataDir = newDataDir();
    dataDirs.push(dataDir);
    services.push(
      await startService({ ...options, env: await placed(), databaseUrl: first.databaseUrl, dataDir }),
    );
  }
  return new Gate(services, inbox, dataDirs);
}

/** The request as if from some other client. */
export function from(init: RequestInit): RequestInit {
  const part = () => Math.floor(Math.random() * 256);
  const headers = { 'X-Forwarded-For': `10.${part()}.${part()}.${part()}`, ...init.headers };
  return { ...init, headers };
}

const TABLES: Record<string, string> = {
  sqlite: `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name`,
  postgres: `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename`,
};

/** Every row of every table, as text. */
export async function dump(databaseUrl: string): Promise<Record<string, string[]>> {
  const engine = databaseUrl.startsWith('sqlite:') ? 'sqlite' : 'postgres';
  const tables: Record<string, string[]> = {};
  for (const { name } of await sql<{ name: string }>(databaseUrl, TABLES[engine] ?? '')) {
    const rows = await sql(databaseUrl, `SELECT * FROM ${name}`);
    tables[name] = rows.map(row => JSON.stringify(row)).sort();
  }
  return tables;
}

/** About no approval: where a person goes on after signing in, how often clients asked, what the background makes. */
const BESIDE = [
  'return_targets',
  'request_counts',
  'rollups',
  'context_rollups',
  'marks',
  'leases',
  'seals',
  'seal_nodes',
  'sealing',
  'checkpoints',
];

/** One hash of all that is stored, but for what says nothing about an approval. */
export async function fingerprint(databaseUrl: string): Promise<string> {
  const tables = await dump(databaseUrl);
  for (const beside of BESIDE) delete tables[beside];
  return createHash('sha256').update(JSON.stringify(tables)).digest('hex');
}
