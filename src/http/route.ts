// What a route is: method, path, who may call it, what it takes and gives. The server dispatches by these,
// the OpenAPI document is made from them, and the test matrix walks them: there is no route beside them.

import type { z } from 'zod';
import type { Config } from '../config.ts';
import type { VerifierKey } from '../core/checkpoint.ts';
import { GuardError } from '../core/errors.ts';
import type { GroupCommit } from '../guard/check/commit.ts';
import type { CheckRequest, Verdict } from '../guard/check/request.ts';
import type { Principal, PrincipalMemory } from '../guard/credentials.ts';
import type { Actor, Deps } from '../guard/deps.ts';
import type { TargetRules } from '../guard/outgoing/addresses.ts';
import type { Provider } from '../guard/people/provider.ts';
import type { SignedIn } from '../guard/people/sign-ins.ts';
import type { RateLimit } from '../guard/rate-limit.ts';
import type { Log } from '../log.ts';
import type { McpServices } from '../mcp/services.ts';
import type { Metrics } from '../metrics.ts';
import { clientIp } from './client-ip.ts';
import type { Feed } from './feed.ts';

/** What the routes work with; made once in main.ts. */
export interface Services {
  deps: Deps;
  checks: GroupCommit<CheckRequest, Verdict>;
  principals: PrincipalMemory;
  config: Config;
  metrics: Metrics;
  /** As text, of all processes on this port. */
  allMetrics: () => string | Promise<string>;
  log: Log;
  /** Where webhooks may lead. */
  targetRules: TargetRules;
  approveLimit: RateLimit;
  /** Null where single sign-on is not set up. */
  signOn: Provider | null;
  mcp: McpServices;
  /** What pages that are open watch. */
  feed: Feed;
  /** The hash of the admin token. */
  adminTokenHash: string;
  /** Verifies the audit log's checkpoints. */
  checkpointKey: VerifierKey;
  version: string;
}

/**
 * Who may call a route. `agent`: a key or a session. `key`: a key only. `view`, `resolve`, `admin`: the
 * administration, from the least role to the greatest.
 */
export type Access = 'public' | 'agent' | 'key' | 'view' | 'resolve' | 'admin';

export type Who =
  | { kind: 'nobody' }
  | { kind: 'agent'; principal: Principal }
  /** `signedIn` is null for the admin token. */
  | { kind: 'operator'; actor: Actor; signedIn: SignedIn | null };

export interface Incoming<Body, Query> {
  services: Services;
  request: Request;
  /** `performance.now()` at arrival. */
  startedAt: number;
  /** How long it took to find out who is asking. */
  identifyMs: number;
  who: Who;
  /** For what only the server knows about a request. */
  server: Bun.Server<undefined>;
  params: Record<string, string>;
  body: Body;
  query: Query;
}

export interface Answer {
  description: string;
  schema?: z.ZodType;
  /** Other than JSON. */
  type?: string;
}

type BodyLimit = 'checkBodyLimit' | 'policyBodyLimit' | 'bodyLimit';

export interface Route {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With `:name` for parameters. */
  path: string;
  access: Access;
  tag: string;
  summary: string;
  description?: string;
  body?: z.ZodType;
  /** The body may be left out; it then counts as `{}`. */
  bodyOptional?: boolean;
  bodyLimit?: BodyLimit;
  /** How many values its JSON may have, where that is more than usual. */
  maxValues?: number;
  /** Texts of the body may hold anything: none reaches the store unless its own schema refuses what cannot be stored. */
  anyText?: boolean;
  /** The body may also come as a browser sends a form. */
  form?: boolean;
  /** Refuses foreign hosts and pages before anything else. */
  checksOrigin?: boolean;
  /** Refused before anything else while too many checks wait: what is shed must cost little. */
  sheds?: boolean;
  /** Counts against the limit per client address. */
  rateLimited?: boolean;
  /** An error as a page, where a person meets it; null: as a problem body. */
  refusal?: (error: GuardError, request: Request) => Response | null;
  query?: z.ZodObject;
  answers: Record<number, Answer>;
  handle: (incoming: Incoming<never, never>) => Response | Promise<Response>;
  /** A shorter road to the same answer, for the usual request; null for any other. */
  quickly?: (services: Services, request: Request, startedAt: number) => Promise<Response> | null;
}

type Defined<Body extends z.ZodType, Query extends z.ZodObject> = Omit<Route, 'body' | 'query' | 'handle'> & {
  body?: Body;
  query?: Query;
  handle: (incoming: Incoming<z.output<Body>, z.output<Query>>) => Response | Promise<Response>;
};

/** Ties a handler's types to its schemas. */
export function route<Body extends z.ZodType, Query extends z.ZodObject>(
  defined: Defined<Body, Query>,
): Route {
  return defined as unknown as Route;
}

/** The agent behind a route whose access says that there is one. */
export function agentOf(incoming: { who: Who }): Principal {
  if (incoming.who.kind !== 'agent') throw new Error('the route has no agent: its access is wrong');
  return incoming.who.principal;
}

export function actorOf(incoming: { who: Who }): Actor {
  if (incoming.who.kind !== 'operator') throw new Error('the route has no operator: its access is wrong');
  return incoming.who.actor;
}

/** The operator who signed in; what is theirs alone is not for the admin token. */
export function signedInOf(incoming: { who: Who }): SignedIn {
  if (incoming.who.kind !== 'operator') throw new Error('the route has no operator: its access is wrong');
  if (incoming.who.signedIn !== null) return incoming.who.signedIn;
  throw new GuardError('conflict', 'The admin token is no operator: it has no sign-ins and no password.');
}

/** The client's address, for limits. */
export function clientOf({
  services,
  request,
  server,
}: Pick<Incoming<unknown, unknown>, 'services' | 'request' | 'server'>): string {
  const peer = server.requestIP(request)?.address ?? '';
  return clientIp(peer, request.headers.get('x-forwarded-for'), services.config.trustedProxies);
}

/** Lets the answer take its time: a connection that is silent for 10 s is cut otherwise. */
export function holdOpen({ request, server }: Pick<Incoming<unknown, unknown>, 'request' | 'server'>): void {
  server.timeout(request, 0);
}
