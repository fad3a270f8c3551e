// What every refusal must look like: a problem body (RFC 9457) with our fields and no others.

import { expect } from 'bun:test';
import type { Reply } from '../support/service.ts';

const TITLES: Record<number, string> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  409: 'Conflict',
  410: 'Gone',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
};

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** `paths`: the JSON Pointers of the faults, where the input is invalid. */
export function expectProblem(reply: Reply, status: number, code: string, paths?: string[]): void {
  expect(`${reply.status} ${reply.body?.code}`).toBe(`${status} ${code}`);
  expect(reply.headers.get('content-type')).toStartWith('application/problem+json');
  const { errors, ...rest } = reply.body;
  expect(rest).toEqual({
    type: expect.any(String),
    title: TITLES[status] as string,
    status,
    detail: expect.stringMatching(/\S/),
    code,
    requestId: expect.stringMatching(UUID),
  });
  if (status === 401) expect(reply.headers.get('www-authenticate')).toStartWith('Bearer');
  if (status === 503 || status === 429) expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(0);
  if (paths === undefined) return;
  const found = new Set((errors as { path: string }[]).map(each => each.path));
  expect([...found].sort()).toEqual(paths.toSorted());
  for (const each of errors) expect(each).toEqual({ path: each.path, message: expect.stringMatching(/\S/) });
}

/** Nothing that could be taken for a verdict. */
export function expectNoVerdict(reply: Reply): void {
  for (const field of ['decision', 'policyId', 'toolCallId', 'referenceId', 'latencyMs']) {
    expect(reply.body).not.toHaveProperty(field);
  }
  expect(reply.text).not.toMatch(/"(allow|deny|pending)"/);
}
