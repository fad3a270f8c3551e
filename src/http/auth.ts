// Who is asking: from the Authorization header to a principal or an operator, held against what the route
// allows. Kinds of tokens are told apart by their prefix, so none works where another is meant.

import { GuardError } from '../core/errors.ts';
import { authenticate, unauthenticated } from '../guard/credentials.ts';
import { hashToken, sameText, tokenKind } from '../guard/secrets.ts';
import type { Access, Services, Who } from './route.ts';

export function identify(services: Services, request: Request, access: Access): Who | Promise<Who> {
  switch (access) {
    case 'public':
      return { kind: 'nobody' };
    case 'agent':
      return agent(services, request);
    case 'key':
      return keyOnly(services, request);
    case 'view':
    case 'resolve':
    case 'admin':
      return operator(services, request);
  }
}

/** Remembered credentials only spare a look-up: a check's commit asks the store again. */
function agent(services: Services, request: Request): Who | Promise<Who> {
  const header = request.headers.get('authorization') ?? '';
  const known = services.principals.recall(header);
  if (known !== undefined) return { kind: 'agent', principal: known };
  return services.principals.learn(header, bearer(request)).then(principal => ({ kind: 'agent', principal }));
}

async function keyOnly(services: Services, request: Request): Promise<Who> {
  const principal = await authenticate(services.guard, bearer(request));
  if (principal.kind !== 'key') {
    throw new GuardError(
      'forbidden',
      'A session token cannot do this; use the long-lived key it was made from.',
    );
  }
  return { kind: 'agent', principal };
}

async function operator(services: Services, request: Request): Promise<Who> {
  const token = bearer(request);
  if (sameText(hashToken(token), services.adminTokenHash)) return { kind: 'operator', actor: 'admin' };
  const kind = tokenKind(token);
  if (kind === 'key' || kind === 'session') {
    await authenticate(services.guard, token);
    throw new GuardError(
      'forbidden',
      'The administration is for operators; an agent credential cannot enter.',
    );
  }
  throw new GuardError('unauthenticated', 'The admin token is missing or wrong.');
}

export function bearer(request: Request): string {
  const header = request.headers.get('authorization') ?? '';
  const token = /^Bearer +([^\s]+) *$/i.exec(header)?.[1];
  if (token === undefined) throw unauthenticated();
  return token;
}
