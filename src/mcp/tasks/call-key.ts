// The idempotency key of a tools/call: how the client gives it, and what the check and the tool server get of it.

import { GuardError } from '../../core/errors.ts';
import { IDEMPOTENCY_META, idempotencyKeyIn } from '../../core/text/idempotency-key.ts';
import type { JsonObject } from '../../core/wire/json.ts';
import { carryKey, onceOf, sentKey } from '../../guard/check/idempotency.ts';
import type { CheckRequest } from '../../guard/check/request.ts';
import { CODES, metaOf, RpcError } from '../protocol.ts';
import type { Begun, CallServices } from '../tool-call.ts';

type Services = Pick<CallServices, 'tasks'>;

/** The key of a call, if it has one. It throws what the client is told if that is none. */
export function callKeyIn(headers: Headers, params: JsonObject): string | undefined {
  try {
    return idempotencyKeyIn(headers, metaOf(params)[IDEMPOTENCY_META]);
  } catch (error) {
    const what = `Invalid params: ${(error as GuardError).message}.`;
    throw new RpcError(CODES.invalidParams, what, { status: 400 });
  }
}

/** Gives what is checked the key of its call. Its client is promised to learn what becomes of it. */
export function withKey({ tasks }: Services, { idempotencyKey }: Begun, asked: CheckRequest): CheckRequest {
  if (idempotencyKey === undefined) return asked;
  carryKey(tasks.deps, asked, idempotencyKey);
  return { ...asked, tracked: true };
}

/** A key that was used for another call, in the words of the protocol. */
export function asConflict(error: unknown): never {
  if (!(error instanceof GuardError) || error.code !== 'idempotency_conflict') throw error;
  throw new RpcError(CODES.invalidParams, error.message, { status: 409, data: { code: error.code } });
}

/** What stands for a call at a tool server that takes keys. */
export function keyForServer({ tasks: { deps } }: Services, call: Begun, toolCallId: string): string {
  const { idempotencyKey: key, principal } = call;
  const once = key === undefined ? undefined : onceOf(deps, { principal, surface: 'mcp' }, key);
  return sentKey(deps, once, toolCallId);
}
