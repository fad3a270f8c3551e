// The service as it is measured: how it is started on a store, the key and the policy of the load, and the request that
// is repeated. subjects.ts and the studies define the lines.

import * as path from 'node:path';
import { type Request, single } from './load.ts';
import { MARKING_TOOL, type Policy, plainPolicy } from './policies.ts';
import { type Reach, type Server, script, startServer } from './process.ts';

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

export async function start(
  name: string,
  command: string[],
  env: Env,
  place: Place,
  reach?: Reach,
): Promise<Server> {
  const server = await startServer(command, env, path.join(place.folder, `${name}.log`), reach);
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
    // Checks do not use the pool, and PostgreSQL has 100 connections for all lines together.
    TOOLGATE_DATABASE_POOL: '3',
  };
}

async function storeFor(dataDir: string, engine: Engine, { postgres }: Place): Promise<string> {
  if (engine === 'sqlite') return `sqlite:${path.join(dataDir, 'bench.db')}`;
  if (!postgres) throw new Error('no PostgreSQL was found');
  return postgres.createDatabase();
}

export const echoRequest = ({ url }: Server): Request => ({ url: `${url}/`, headers: HEADERS, body: CALL });

/** One check after another, with each of the keys in turn. */
export function checkRequest({ url }: Pick<Server, 'url'>, ...keys: string[]): Request {
  return { url: `${url}/v1/check`, headers: HEADERS, credentials: keys, body: CALL };
}

/** The same call of another tool. */
export const ofTool = (toolName: string, request: Request): Request => ({
  ...request,
  body: JSON.stringify({ ...JSON.parse(request.body), toolName }),
});

/** Verifies one answer in full, because a load with fast but wrong answers would look good. */
export async function checkAnswer(request: Request): Promise<void> {
  const { url, headers, body } = single(request)[0]!;
  const response = await fetch(url, { method: 'POST', headers, body });
  const text = await response.text();
  if (response.status !== 200 || (JSON.parse(text) as { decision: string }).decision !== 'allow') {
    throw new Error(`Expected an allow from ${url}, got ${response.status}: ${text}`);
  }
}

/** Makes a key with a policy of its own. */
export async function createKey(
  url: string,
  policy: Policy = plainPolicy(),
): Promise<{ id: string; key: string }> {
  const [key] = await createKeys(url, policy, 1);
  return key!;
}

/** Makes keys that share a policy, and a shadow if there is one. */
export async function createKeys(
  url: string,
  policy: Policy,
  count: number,
  shadow?: Policy,
  name = 'bench',
): Promise<{ id: string; key: string }[]> {
  const { id: policyId } = await administer(url, 'policies', { name, ...policy });
  const judging = shadow && (await administer(url, 'policies', { name: `${name}-shadow`, ...shadow }));
  const shadowPolicyId = judging?.id ?? null;
  return Promise.all(
    Array.from({ length: count }, (_, index) =>
      administer(url, 'keys', { name: `${name}-${index}`, policyId, shadowPolicyId }),
    ),
  );
}

/** Asks for an approval and gives it for a day, so that further calls are freed. */
export async function grantTo(url: string, key: string): Promise<void> {
  const { id } = await ask(url, key);
  await administer(url, `approvals/${id}/resolve`, { action: 'approve', duration: '24h' });
}

/** Gives the run of the key the marks of a policy. */
export async function markRun(url: string, key: string): Promise<void> {
  await checkAnswer(ofTool(MARKING_TOOL, checkRequest({ url }, key)));
}

/** The same, and the person names the arguments of the load. */
export async function markAndTell(url: string, key: string): Promise<void> {
  await markRun(url, key);
  const headers = { ...HEADERS, authorization: `Bearer ${key}` };
  const body = JSON.stringify({ text: JSON.stringify(ARGUMENTS) });
  const { status } = await fetch(`${url}/v1/told`, { method: 'POST', headers, body });
  if (status !== 202) throw new Error(`POST /v1/told answered ${status}`);
}

/** A call that waits for an approval. */
export async function ask(url: string, key: string): Promise<{ id: string }> {
  const { headers, body } = single(checkRequest({ url }, key))[0]!;
  const response = await fetch(`${url}/v1/check`, { method: 'POST', headers, body });
  const { referenceId } = (await response.json()) as { referenceId?: string };
  if (referenceId === undefined) throw new Error(`Expected a pending call, got ${response.status}`);
  return { id: referenceId };
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

/** An echo server and a service on SQLite, for studies that compare the two: what is asked of each. */
export async function echoAndCheck(name: string, place: Place): Promise<{ echo: Request; check: Request }> {
  const echo = echoRequest(await startEcho(`${name}-echo`, 'echo.ts', place));
  const server = await start(name, script(...SERVE), await settings(name, 'sqlite', place), place);
  const check = checkRequest(server, (await createKey(server.url)).key);
  await checkAnswer(check);
  return { echo, check };
}
