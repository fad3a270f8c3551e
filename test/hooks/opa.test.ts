// OPA's data API: every case of a door for both rules, the vectors, and the official client of Open Policy Agent.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { packagesOf } from '../../scripts/extras.ts';
import { need } from '../support/need.ts';
import { type Reply, startService, type TestService } from '../support/service.ts';
import vectors from '../vectors/hooks/opa/decisions.json';
import { type Case, TOOLS, type Tool, testDoor } from './doors.ts';

const ERRORS: Partial<Record<Case, [status: number, code: string]>> = {
  malformed: [400, 'invalid_parameter'],
  'too large': [413, 'invalid_parameter'],
  unauthenticated: [401, 'unauthorized'],
  revoked: [401, 'unauthorized'],
  'audit failure': [500, 'internal_error'],
  overload: [503, 'internal_error'],
};

const SHARED = {
  surface: 'opa',
  body: ({ tool, args }: { tool: Tool; args: object }) => ({
    input: { server: 'files', tool, arguments: args },
  }),
  recorded: (tool: Tool) => `files__${tool}`,
  status: (on: Case) => ERRORS[on]?.[0] ?? 200,
  malformed: [
    { input: null },
    { input: {} },
    { input: { server: 'files' } },
    { input: { server: 'a__b', tool: 'allowed' } },
    { input: { server: 'files', tool: '' } },
    { input: { server: 'files', tool: 'allowed', arguments: 'text' } },
    { input: [{ server: 'files', tool: 'allowed' }] },
    { server: 'files', tool: 'allowed' },
  ],
};

function expectError(on: Case, { body }: Reply): boolean {
  const code = ERRORS[on]?.[1];
  if (code === undefined) return false;
  expect([on, body]).toEqual([on, expect.objectContaining({ code, message: expect.any(String) })]);
  expect(Object.keys(body)).not.toContain('result');
  for (const each of body.errors ?? []) expect(each).toEqual({ code, message: expect.any(String) });
  return true;
}

testDoor('OPA: toolgate/allow', {
  ...SHARED,
  path: '/v1/data/toolgate/allow',
  allows: ({ body }) => body.result === true,
  expects: (on, reply) => {
    if (!expectError(on, reply)) expect(reply.body).toEqual({ result: on === 'allow' || on === 'freed' });
  },
  reference: () => null,
});

testDoor('OPA: toolgate/decision', {
  ...SHARED,
  path: '/v1/data/toolgate/decision',
  allows: ({ body }) => body.result?.allow === true,
  expects: (on, reply) => {
    if (expectError(on, reply)) return;
    const decision = on === 'freed' ? 'allow' : on;
    const referenceId = on === 'pending' ? expect.any(String) : null;
    expect(reply.body).toEqual({
      result: { allow: decision === 'allow', decision, reason: expect.any(String), referenceId },
    });
  },
  reference: ({ body }) => body.result.referenceId,
});

/** As far as it is used here. */
interface OpaClient {
  evaluate(path: string, input?: object): Promise<unknown>;
  evaluateBatch(path: string, inputs: Record<string, object>, options: object): Promise<unknown>;
}
const CLIENT = packagesOf('scripts', '@open-policy-agent/opa/dist/esm/index.js');

describe('OPA', () => {
  let service: TestService;
  let key: string;
  beforeAll(async () => {
    service = await startService();
    ({ key } = await service.newKey([
      { tool: TOOLS.allow, action: 'allow' },
      { tool: TOOLS.pending, action: 'require_approval' },
    ]));
  });
  afterAll(() => service.close());

  test('the vectors', async () => {
    for (const { name, request, allow, decision } of vectors) {
      const told = await service.json('POST', '/v1/data/toolgate/allow', key, request);
      expect([name, told.status, told.body]).toEqual([name, 200, allow]);
      const more = await service.json('POST', '/v1/data/toolgate/decision', key, request);
      expect([name, more.status]).toEqual([name, 200]);
      expect(more.body).toMatchObject(decision);
    }
  });

  test.if(need(existsSync(CLIENT), '@open-policy-agent/opa (npm ci --prefix scripts)'))(
    'the official client gets decisions, and errors where there is none',
    async () => {
      const { OPAClient } = await import(CLIENT);
      const clientOf = (token: string): OpaClient =>
        new OPAClient(service.url, { headers: { authorization: `Bearer ${token}` } });
      const client = clientOf(key);
      const call = (tool: string) => ({ server: 'files', tool, arguments: { path: 'notes.md' } });
      expect(await client.evaluate('toolgate/allow', call('allowed'))).toBe(true);
      expect(await client.evaluate('toolgate/allow', call('denied'))).toBe(false);
      expect(await client.evaluate('toolgate/allow', call('asked'))).toBe(false);
      expect(await client.evaluate('toolgate/decision', call('asked'))).toMatchObject({
        allow: false,
        decision: 'pending',
        referenceId: expect.any(String),
      });
      const both = { first: call('allowed'), second: call('denied') };
      expect(await client.evaluateBatch('toolgate/allow', both, { fallback: true })).toEqual({
        first: true,
        second: false,
      });
      const failure = (asked: Promise<unknown>) =>
        asked.then(
          answer => ({ answer }),
          error => error,
        );
      expect(await failure(client.evaluate('toolgate/allow', {}))).toMatchObject({
        name: 'ClientError',
        code: 'invalid_parameter',
        message: '/input/server: is required',
      });
      for (const asked of [
        client.evaluate('toolgate/allow'),
        client.evaluate('toolgate/other', call('allowed')),
        clientOf('tg_key_unknown').evaluate('toolgate/allow', call('allowed')),
      ])
        expect(await failure(asked)).toBeInstanceOf(Error);
    },
  );

  test('the metadata of AuthZEN name the address of the request, where none is configured', async () => {
    const { body } = await service.request('GET', '/.well-known/authzen-configuration');
    expect(body.access_evaluation_endpoint).toBe(`${service.url}/access/v1/evaluation`);
  });
});
