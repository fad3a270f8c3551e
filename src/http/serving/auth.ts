// Authenticates a request by its Authorization header or sign-in cookie, and checks that the route allows the caller.
// The prefix of a token says its kind, so that no kind works in place of another. Browsers send cookies by themselves,
// so changes with a cookie are accepted only from pages of this service.

import { auditFailed, GuardError } from '../../core/errors.ts';
import { authenticate, isPersonsToken } from '../../guard/credentials.ts';
import { actingAs, requireSignIn, signInEnded } from '../../guard/people/acting.ts';
import { recognise, requireRole, type SignedIn } from '../../guard/people/sign-ins.ts';
import { hashToken, sameText, tokenKind } from '../../guard/secrets.ts';
import { StoreError } from '../../store/engine/db.ts';
import type { Role } from '../../store/operators.ts';
import { readCookie } from './cookie.ts';
import { bearerIn, carriedKey } from './key-headers.ts';
import { requireSender } from './origin.ts';
import type { Route, Who } from './route.ts';
import type { Services } from './services.ts';

const NEEDED: Record<'own' | 'view' | 'resolve' | 'admin', Role> = {
  own: 'user',
  view: 'viewer',
  resolve: 'approver',
  admin: 'admin',
};

export function identify(
  services: Services,
  request: Request,
  { access, anyKeyHeader }: Pick<Route, 'access' | 'anyKeyHeader'>,
): Who | Promise<Who> {
  switch (access) {
    case 'public':
      return { kind: 'nobody' };
    case 'agent':
      return agent(services, request, anyKeyHeader ? carriedKey(request.headers) : null);
    case 'door':
      return atDoor(agent(services, request, anyKeyHeader ? carriedKey(request.headers) : null));
    case 'key':
      return keyOnly(services, request);
    case 'own':
    case 'view':
    case 'resolve':
    case 'admin':
      return operator(services, request, NEEDED[access]);
  }
}

/** A remembered credential only saves a look-up: the transaction of a check reads key and session again. */
function agent(services: Services, request: Request, carried: string | null): Who | Promise<Who> {
  const header = carried === null ? (request.headers.get('authorization') ?? '') : `Bearer ${carried}`;
  const known = services.principals.recall(header);
  if (known !== undefined) return { kind: 'agent', principal: known };
  const token = agentToken(services, carried ?? bearer(request));
  return services.principals.learn(token).then(
    principal => ({ kind: 'agent', principal }),
    // While the store is away, a replica that does not know the credential answers like one that cannot record the
    // decision.
    error => Promise.reject(error instanceof StoreError ? auditFailed(error) : error),
  );
}

/** Tokens that act for a person, from us or from the company, are for /mcp and /v1/check alone. */
function atDoor(who: Who | Promise<Who>): Who | Promise<Who> {
  if (who instanceof Promise) return who.then(atDoor);
  if (who.kind !== 'agent' || !isPersonsToken(who.principal)) return who;
  throw new GuardError(
    'forbidden',
    'A person’s token works on /mcp and /v1/check only. Here, use a key (tg_key_…) or a session token (tg_ses_…).',
  );
}

/** Using the admin token for calls is a common mistake, so it gets a message of its own. */
function agentToken(services: Services, token: string): string {
  if (tokenKind(token) === 'admin' || sameText(hashToken(token), services.adminTokenHash)) {
    throw new GuardError(
      'unauthenticated',
      'This is the admin token. Calls are made with a key (tg_key_…) or a session token (tg_ses_…).',
    );
  }
  return token;
}

async function keyOnly(services: Services, request: Request): Promise<Who> {
  const principal = await authenticate(services.deps, agentToken(services, bearer(request)));
  if (principal.kind !== 'key') {
    throw new GuardError(
      'forbidden',
      'A session token cannot do this; use the long-lived key it was made from.',
    );
  }
  return { kind: 'agent', principal };
}

async function operator(services: Services, request: Request, needed: Role): Promise<Who> {
  const cookie = request.headers.has('authorization') ? null : readCookie(services.config, request);
  if (cookie === null) return adminToken(services, request);
  if (!SAFE_METHODS.includes(request.method)) requireSender(services.config, request, 'own page');
  const signedIn = await recognise(services.deps, cookie);
  if (signedIn === null) throw signInEnded();
  requireRole(signedIn, needed);
  return { kind: 'operator', actor: `operator:${signedIn.email}`, signedIn, needed };
}

/** The services that a route works with. */
export function servicesFor(services: Services, who: Who): Services {
  if (who.kind !== 'operator' || who.signedIn === null) return services;
  return operatorServices(services, who.signedIn, who.needed);
}

/** Services through which nothing is changed once the operator's sign-in has ended, or their role is lower. */
export function operatorServices(services: Services, operator: SignedIn, needed: Role): Services {
  const deps = actingAs(services.deps, operator, needed);
  return { ...services, deps, serverSignIns: services.serverSignIns.with(deps) };
}

/** Throws if the operator's sign-in has ended or their role is too low by now, as when their body came slowly. */
export async function lookAgain({ deps }: Services, who: Who): Promise<void> {
  if (who.kind === 'operator' && who.signedIn !== null) await requireSignIn(deps, who.signedIn, who.needed);
}

async function adminToken(services: Services, request: Request): Promise<Who> {
  const token = bearer(request);
  if (sameText(hashToken(token), services.adminTokenHash)) {
    return { kind: 'operator', actor: 'admin', signedIn: null, needed: 'admin' };
  }
  const kind = tokenKind(token);
  if (kind === 'key' || kind === 'session' || kind === 'access') {
    await authenticate(services.deps, token);
    throw new GuardError(
      'forbidden',
      'The administration is for operators; an agent credential cannot enter.',
    );
  }
  throw new GuardError('unauthenticated', 'The admin token is missing or wrong.');
}

/** The signed-in operator of a request to a public route, and the services for what anybody may do; or null. */
export async function signedInOperator(
  services: Services,
  request: Request,
): Promise<{ operator: SignedIn; services: Services } | null> {
  const cookie = readCookie(services.config, request);
  const operator = cookie === null ? null : await recognise(services.deps, cookie);
  return operator === null ? null : { operator, services: operatorServices(services, operator, 'user') };
}

const SAFE_METHODS = ['GET', 'HEAD'];

const noBearer = (what: string): GuardError =>
  new GuardError('unauthenticated', `${what} Send it as "Authorization: Bearer <key>".`);

export function bearer(request: Request): string {
  const header = request.headers.get('authorization');
  if (header === null) throw noBearer('The Authorization header is missing.');
  const token = bearerIn(header);
  if (token === null) throw noBearer('The Authorization header has another form than it should.');
  return token;
}
