// What an HTTP answer means: the expected status with readable JSON is an answer, everything else one of the
// errors. Text of an answer that is not the service's own goes into no message.

import { BodyTooLarge, readBytes, utf8 } from './body.ts';
import {
  BadAnswer,
  Forbidden,
  InvalidRequest,
  NetworkFailure,
  NotFound,
  Overloaded,
  type Problem,
  ServiceFailure,
  type ToolgateError,
  Unauthenticated,
} from './errors.ts';
import { count, fieldsOf, id, listOf, own, ShapeFault, text } from './shape.ts';

const JSON_TYPE = /^application\/json\s*(;|$)/i;
const PROBLEM_TYPE = /^application\/problem\+json\s*(;|$)/i;
const PROBLEM_LIMIT = 64 * 1024;

export interface Expected<T> {
  status: number;
  /** Turns the JSON into the result; null: there is no body to read. */
  read: ((value: unknown) => T) | null;
  /** In bytes. */
  limit: number;
}

export async function readAnswer<T>(response: Response, expected: Expected<T>): Promise<T> {
  if (response.status !== expected.status) throw await refusal(response);
  if (expected.read === null) return undefined as T;
  if (!JSON_TYPE.test(response.headers.get('content-type') ?? '')) {
    throw new BadAnswer(
      response.status,
      'The answer is not JSON; is this the address of a Toolgate service?',
    );
  }
  const body = parsed(await bodyOf(response, expected.limit), response.status);
  try {
    return expected.read(body);
  } catch (error) {
    if (error instanceof ShapeFault) {
      throw new BadAnswer(response.status, `The answer has another shape than promised: ${error.message}.`);
    }
    throw error;
  }
}

async function bodyOf(response: Response, limit: number): Promise<Uint8Array> {
  try {
    return await readBytes(response, limit);
  } catch (error) {
    if (error instanceof BodyTooLarge)
      throw new BadAnswer(response.status, `The answer is ${error.message}.`);
    throw new NetworkFailure('The answer broke off.', true, error);
  }
}

function parsed(body: Uint8Array, status: number): unknown {
  try {
    return JSON.parse(utf8(body));
  } catch {
    throw new BadAnswer(status, 'The answer is not JSON.');
  }
}

/** The idempotency key was used for another call. */
const OTHER_CALL = 'idempotency_conflict';

async function refusal(response: Response): Promise<ToolgateError> {
  const { status } = response;
  const problem = await readProblem(response);
  const said = (fallback: string) => problem?.detail || fallback;
  switch (status) {
    case 400:
    case 413:
    case 415:
      return new InvalidRequest(said('The request was refused.'), status, problem, 'invalid_request');
    case 401:
      return new Unauthenticated(said('The key was refused.'), status, problem, 'unauthenticated');
    case 403:
      return new Forbidden(said('The key may not do this.'), status, problem, 'forbidden');
    case 404:
      return new NotFound(said('There is nothing at this address.'), status, problem, 'not_found');
    case 429:
    case 503:
      return new Overloaded(said('The service is too busy.'), status, problem, retryAfter(response));
    case 500:
    case 502:
    case 504:
      return new ServiceFailure(said('The service failed.'), status, problem, 'service_failure');
    default:
      if (problem?.code === OTHER_CALL)
        return new InvalidRequest(problem.detail, status, problem, 'invalid_request');
      return new BadAnswer(status, `The answer has the unexpected status ${status}.`);
  }
}

/** Null for whatever is not a problem body of ours: a proxy's page, a broken answer. */
async function readProblem(response: Response): Promise<Problem | null> {
  if (!PROBLEM_TYPE.test(response.headers.get('content-type') ?? '')) {
    void response.body?.cancel().catch(() => {});
    return null;
  }
  try {
    const fields = fieldsOf(JSON.parse(utf8(await readBytes(response, PROBLEM_LIMIT))), 'the problem');
    return {
      title: text(fields, 'title'),
      status: count(fields, 'status'),
      detail: text(fields, 'detail'),
      code: id(fields, 'code'),
      errors: own(fields, 'errors') === undefined ? [] : listOf(fields, 'errors').map(readFault),
      requestId: own(fields, 'requestId') === undefined ? null : text(fields, 'requestId'),
    };
  } catch {
    return null;
  }
}

function readFault(value: unknown): { path: string; message: string } {
  const fields = fieldsOf(value, 'an error');
  return { path: text(fields, 'path'), message: text(fields, 'message') };
}

function retryAfter(response: Response): number | null {
  const value = response.headers.get('retry-after') ?? '';
  return /^\d{1,6}$/.test(value) ? Number(value) : null;
}
