// The service as it is measured: how it is started on a store, the key and the policy of the load, and the request that
// is repeated. subjects.ts and the studies define the lines.

import * as path from 'node:path';
import type { Request } from './load.ts';
import { type Server, script, startServer } from './process.ts';

/** The surroundings of a measurement: its folder, its PostgreSQL, and what is cleaned up at the end. */
export interface Place {
  folder: string;
  resources: AsyncDisposableStack;
  postgres: Database | null;
  tell(text: string): void;
}

export interface Database {
  createDatabase(): Promise<string>;
  version: string;
  /** CPU time of all its processes; null if we cannot see them. */
  cpuMicroseconds(): number | null;
}

export type Engine = 'sqlite' | 'postgres';

export const SERVE = [path.join(import.meta.dirname, '../src/cli/main.ts'), 'serve'];
const ADMIN_TOKEN = 'bench-admin-token-of-more-than-32-characters';
const HEADERS = { 'content-type': 'application/json' };

/** The arguments of every call, as for a typical tool. */
export const ARGUMENTS = {
  owner: 'example',
  repo: 'example',
  title: 'The importer stops at the first empty line',
  body: 'Steps: import the attached file, which has an empty line after the header. Expected: it is skipped.',
  labels: ['bug', 'import'],
};

const CALL = JSON.stringify({ serverName: 'github', toolName: 'create_issue', args: ARGUMENTS });

export async function start(name: string, command: string[], env: Env, place: Place): Promise<Server> {
  const server = await startServer(command, env, path.join(place.folder, `${name}.log`));
  place.resources.defer(() => server.stop());
  return server;
}

export function startEcho(name: string, file: string, place: Place): Promise<Server> {
  return start(name, script(path.join(import.meta.dirname, file)), {}, place);
}

type Env = Record<string, string>;

/** The settings of a service with a store of its own. */
export async function settings(name: string, engine: Engine, place: Place): Promise<Env> {
  const dataDir = path.join(place.folder, name);
  return {
    TOOLGATE_DATA_DIR: dataDir,
    TOOLGATE_DATABASE_URL: await storeFor(dataDir, engine, place),
    TOOLGATE_ADMIN_TOKEN: ADMIN_TOKEN,
    TOOLGATE_LOG_LEVEL: 'warn',
  };
}

async function storeFor(dataDir: string, engine: Engine, { postgres }: Place): Promise<string> {
  if (engine === 'sqlite') return `sqlite:${path.join(dataDir, 'bench.db')}`;
  if (!postgres) throw new Error('no PostgreSQL was found');
  return postgres.createDatabase();
}

export const echoRequest = ({ url }: Server): Request => ({ url: `${url}/`, headers: HEADERS, body: CALL });

export function checkRequest({ url }: Server, key: string): Request {
  return { url: `${url}/v1/check`, headers: { ...HEADERS, authorization: `Bearer ${key}` }, body: CALL };
}

/** Verifies one answer in full, because a load with fast but wrong answers would look good. */
export async function checkAnswer({ url, headers, body }: Request): Promise<void> {
  const response = await fetch(url, { method: 'POST', headers, body });
  const text = await response.text();
  if (response.status !== 200 || (JSON.parse(text) as { decision: string }).decision !== 'allow') {
    throw new Error(`Expected an allow from ${url}, got ${response.status}: ${text}`);
  }
}

const FEW_RULES = 10;

/** Patterns as people write them: mostly single tools, some whole servers, some kinds of tools on every server. */
export function usualPattern(index: number): string {
  if (index % 10 === 3) return `server${index}__*`;
  if (index % 10 === 7) return `*__drop_${index}`;
  return `server${index % 100}__tool_${index}`;
}

/** Makes a key whose policy allows the call by its last rule, so that all other rules have to be excluded. */
export async function createKey(
  url: string,
  tool = 'github__create_issue',
  count = FEW_RULES,
  pattern = usualPattern,
): Promise<{ id: string; key: string }> {
  const others = Array.from({ length: count - 1 }, (_, index) => ({ tool: pattern(index), action: 'deny' }));
  const rules = [...others, { tool, action: 'allow' }];
  const policy = await administer(url, 'policies', { name: 'bench', rules });
  return administer(url, 'keys', { name: 'bench', policyId: policy.id });
}

export async function administer(
  url: string,
  what: string,
  body: object,
): Promise<{ id: string; key: string }> {
  const response = await fetch(`${url}/admin/v1/${what}`, {
    method: 'POST',
    headers: { ...HEADERS, authorization: `Bearer ${ADMIN_TOKEN}` },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`POST ${what} answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as { id: string; key: string };
}
