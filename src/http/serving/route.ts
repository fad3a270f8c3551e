// What a route is: method, path, who may call it, what it accepts and what it answers. The server dispatches requests
// by these definitions, the OpenAPI document is made from them, and tests go through all of them. There are no other
// routes.

import type { z } from 'zod';
import { GuardError } from '../../core/errors.ts';
import type { Span } from '../../core/wire/span.ts';
import type { Answerer } from '../../guard/approvals/approvers.ts';
import type { Principal } from '../../guard/credentials.ts';
import type { Actor } from '../../guard/deps.ts';
import type { SignedIn } from '../../guard/people/sign-ins.ts';
import { type Caller, keyName, type RequestRation } from '../../guard/rations/rations.ts';
import type { Role } from '../../store/operators.ts';
import { clientIp } from './client-ip.ts';
import type { Services } from './services.ts';

/**
 * Who may call a route. `agent`: a key, a session, or a token of a person. `door`: a key or a session. `key`: a key only.
 * `own`, `view`, `resolve`, `admin`: operators, from the lowest role to the highest; `own` is for what is about themselves.
 */
export type Access = 'public' | 'agent' | 'door' | 'key' | 'own' | 'view' | 'resolve' | 'admin';

export type Who =
  | { kind: 'nobody' }
  | { kind: 'agent'; principal: Principal }
  /** `signedIn` is null for the admin token. `needed` is the role that the route needs. */
  | { kind: 'operator'; actor: Actor; signedIn: SignedIn | null; needed: Role };

export interface Incoming<Body, Query> {
  services: Services;
  request: Request;
  /** `performance.now()` at arrival. */
  startedAt: number;
  /** How long the authentication took. */
  identifyMs: number;
  /** The span of the request, if it is traced or carries a trace. */
  span: Span | undefined;
  who: Who;
  /** Counts the memory that the request takes of its caller's share until it is answered. */
  ration: RequestRation;
  /** The server, which knows the address of a request and can change its time-out. */
  server: Bun.Server<undefined>;
  params: Record<string, string>;
  body: Body;
  query: Query;
}

export interface AnswerShape {
  description: string;
  schema?: z.ZodType;
  /** The content type, if it is not JSON. */
  type?: string;
}

/** Throws unless the body is signed as it has to be. */
export type Signed = (body: Uint8Array, request: Request, services: Services) => void;

type BodyLimit = 'checkBodyLimit' | 'resultBodyLimit' | 'policyBodyLimit' | 'bodyLimit';

export interface Route {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'ANY';
  /** The path, with `:name` for parameters, and perhaps `/*` at its end. */
  path: string;
  access: Access;
  tag: string;
  /** The OpenAPI document has another spelling of this path, and not this one. */
  unlisted?: true;
  summary: string;
  description?: string;
  body?: z.ZodType;
  /** The body may be left out; it then counts as `{}`. */
  bodyOptional?: boolean;
  bodyLimit?: BodyLimit;
  /** How many values the JSON body may have, if that is more or less than usual. */
  maxValues?: number;
  /**
   * Texts in the body are not tested for what cannot be stored: the schema does that for those that reach the store.
   */
  anyText?: boolean;
  /**
   * The body may also be encoded like a browser's form; `only`: it must be. A function makes the body from the fields
   * of the form, where they are not the body already.
   */
  form?: true | 'only' | ((params: URLSearchParams) => Record<string, unknown>);
  /** The route exists only if this setting is on. */
  onlyWith?: 'oauth';
  /** Pages of any origin may call it with their scripts (CORS), without cookies. */
  cors?: true;
  /** A 401 says where a client can sign in, if people can connect clients. */
  challenges?: true;
  /** The key may also come as `x-api-key` or as the password of Basic authentication, where Bearer cannot be set. */
  anyKeyHeader?: true;
  /** Verifies the signature over the bytes of the body, before they are parsed. */
  signed?: Signed;
  /** Refuses foreign hosts and pages before anything else. */
  checksOrigin?: boolean;
  /** While too many checks wait, requests are refused before anything else, so that refusing them costs little. */
  sheds?: boolean;
  /** Counts against the limit per client address. */
  rateLimited?: boolean;
  /**
   * Shows an error as a page if a person will read it, or in the language of another protocol; null: as a problem body.
   * `body` is what was read before the error, if anything.
   */
  refusal?: (error: GuardError, request: Request, body?: unknown) => Response | null;
  query?: z.ZodObject;
  answers: Record<number, AnswerShape>;
  handle: (incoming: Incoming<never, never>) => Response | Promise<Response>;
  /** A faster way to the same answer for the usual request; null for any other. */
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

/** The agent that calls a route, for routes with access `agent` or `key`. */
export function agentOf(incoming: { who: Who }): Principal {
  if (incoming.who.kind !== 'agent') throw new Error('the route has no agent: its access is wrong');
  return incoming.who.principal;
}

export function actorOf(incoming: { who: Who }): Actor {
  if (incoming.who.kind !== 'operator') throw new Error('the route has no operator: its access is wrong');
  return incoming.who.actor;
}

/** Who answers an approval through the administration. */
export function answererOf(incoming: { who: Who }): Answerer {
  if (incoming.who.kind !== 'operator') throw new Error('the route has no operator: its access is wrong');
  return incoming.who.signedIn ?? 'admin';
}

/** The operator who signed in. It throws for the admin token, which has no sign-ins and no password. */
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

/** For whose share a request counts. */
export function callerOf(
  incoming: Pick<Incoming<unknown, unknown>, 'services' | 'request' | 'server' | 'who'>,
): Caller {
  const { who } = incoming;
  switch (who.kind) {
    case 'agent':
      return { name: keyName(who.principal.keyId), anonymous: false };
    case 'operator':
      return { name: who.actor, anonymous: false };
    case 'nobody':
      return { name: `address ${clientOf(incoming)}`, anonymous: true };
  }
}

/** Lets an answer take longer: otherwise the server closes a connection that is silent for 10 s. */
export function holdOpen({ request, server }: Pick<Incoming<unknown, unknown>, 'request' | 'server'>): void {
  server.timeout(request, 0);
}
