// AuthZEN's Authorization API 1.0: every case of a door for one evaluation and for a batch, the examples of the
// specification, and what only a batch has: order, defaults, semantics that stop early, limits, and its bounds.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { auditFailed } from '../../src/core/errors.ts';
import type { Rule } from '../../src/core/policy/policy.ts';
import type { CheckRequest, Verdict } from '../../src/guard/check/request.ts';
import { answersTo } from '../../src/http/hooks/authzen-batch.ts';
import { sql } from '../support/faults.ts';
import { freePort } from '../support/port.ts';
import { type Reply, startService, type TestService } from '../support/service.ts';
import { enginesWhenChanged } from '../support/when-changed.ts';
import single from '../vectors/hooks/authzen/evaluation.json';
import several from '../vectors/hooks/authzen/evaluations.json';
import { type Case, type Tool, testDoor } from './doors.ts';

const EVALUATION = '/access/v1/evaluation';
const EVALUATIONS = '/access/v1/evaluations';
const UUID = /^[0-9a-f-]{36}$/;
const ERROR: Partial<Record<Case, number>> = {
  malformed: 400,
  'too large': 413,
  unauthenticated: 401,
  revoked: 401,
  'audit failure': 500,
  overload: 503,
};

const subject = { type: 'user', id: 'alice@example.com' };
const action = { name: 'tools/call' };
const about = (id: string, args: object = {}) => ({
  subject,
  action,
  resource: { type: 'tool', id },
  context: { arguments: args },
});

/** The decision in an answer to one evaluation, and what must be in it. */
function expectDecision(on: Case, { body, headers, text }: Reply, decided: typeof body): void {
  const { context } = decided;
  if (on === 'allow' || on === 'deny' || on === 'freed')
    expect(decided).toEqual({
      decision: on !== 'deny',
      context: { reason: expect.any(String), toolCallId: expect.stringMatching(UUID) },
    });
  else if (on === 'pending') {
    expect(decided).toEqual({
      decision: false,
      context: {
        reason: 'approval_required',
        evaluation_id: expect.stringMatching(UUID),
        access_request: { id: expect.stringMatching(UUID), expires_at: expect.any(String) },
      },
    });
    expect(Date.parse(context.access_request.expires_at)).toBeGreaterThan(Date.now());
  } else {
    expect(headers.get('content-type')).toStartWith('text/plain');
    expect(text).not.toBe('');
    expect(headers.get('www-authenticate') !== null).toBe(on === 'unauthenticated' || on === 'revoked');
    expect(headers.get('retry-after') !== null).toBe(on === 'overload');
  }
  expect(headers.get('x-request-id')).toBe('bfe9eb29-ab87-4ca3-be83-a1d5d8305716');
}

const SHARED = {
  surface: 'authzen',
  headers: { 'X-Request-ID': 'bfe9eb29-ab87-4ca3-be83-a1d5d8305716' },
  recorded: (tool: Tool) => `files__${tool}`,
  status: (on: Case) => ERROR[on] ?? 200,
};

testDoor('AuthZEN: one evaluation', {
  ...SHARED,
  path: EVALUATION,
  body: ({ tool, args }) => about(`files__${tool}`, args),
  allows: ({ body }) => body.decision === true,
  expects: (on, reply) => expectDecision(on, reply, reply.body),
  reference: ({ body }) => body.context.access_request.id,
});

testDoor('AuthZEN: evaluations', {
  ...SHARED,
  path: EVALUATIONS,
  body: ({ tool, args }) => {
    const { resource, context, ...shared } = about(`files__${tool}`, args);
    return { ...shared, evaluations: [{ resource, context }] };
  },
  allows: ({ body }) => body.evaluations?.[0].decision === true,
  expects: (on, reply) => expectDecision(on, reply, reply.body.evaluations?.[0] ?? {}),
  reference: ({ body }) => body.evaluations[0].context.access_request.id,
  malformed: [
    { ...about('files__allowed'), evaluations: 'all' },
    { ...about('files__allowed'), evaluations: [{}], options: { evaluations_semantic: 'first' } },
    { ...about('files__allowed'), evaluations: [{}], options: [] },
    { ...about('files__allowed'), evaluations: Array(101).fill({}) },
  ],
});

test('evaluations in turn end with the first that cannot be recorded', async () => {
  const items = ['deny', 'fail', 'permit'] as unknown as CheckRequest[];
  const asked: CheckRequest[] = [];
  const judge = async ([item]: readonly CheckRequest[]) => {
    asked.push(item as CheckRequest);
    if (item === items[1]) return [auditFailed(new Error('the store is away'))];
    return [{ decision: item === items[2] ? 'allow' : 'deny' } as Verdict];
  };
  const answers = await answersTo(items, 'permit_on_first_permit', judge);
  expect(answers.map(each => [each.decision, each.context?.error?.status])).toEqual([
    [false, undefined],
    [false, 500],
  ]);
  expect(asked).toEqual(items.slice(0, 2));
});

const RULES: Rule[] = [
  { tool: 'records__read', action: 'allow' },
  { tool: 'records__delete', action: 'require_approval' },
  { tool: 'crm__get_customer', action: 'allow', when: 'has(args.id) && args.id == "cust-12345"' },
  { tool: 'records__once', action: 'allow', limit: 'once' },
];
const LIMITS = { once: { calls: 1, within: '1d', per: 'key' } };
const QUEUE_LIMIT = 60;

describe.each(await enginesWhenChanged('src/store/**'))('AuthZEN on %s', engine => {
  let service: TestService;
  let policyId: string;
  beforeAll(async () => {
    service = await startService({
      engine,
      env: {
        TOOLGATE_PORT: String(await freePort()),
        TOOLGATE_PUBLIC_URL: 'https://gate.example.test',
        TOOLGATE_QUEUE_LIMIT: String(QUEUE_LIMIT),
      },
    });
    const policy = await service.admin('POST', '/policies', {
      name: 'records',
      rules: RULES,
      limits: LIMITS,
    });
    expect([policy.status, policy.text]).toEqual([201, policy.text]);
    policyId = policy.body.id;
  });
  afterAll(() => service.close());

  const newKey = async (): Promise<{ key: string; id: string }> =>
    (await service.admin('POST', '/keys', { name: 'gateway', policyId })).body;
  const post = (path: string, key: string, body: unknown) => service.json('POST', path, key, body);
  const entriesOf = (keyId: string) =>
    sql<{ id: string; name: string; decision: string; surface: string }>(
      service.databaseUrl,
      `SELECT id, server_name || '__' || tool_name AS name, decision, surface FROM audit
       WHERE key_id = '${keyId}' ORDER BY id`,
    );
  const decisions = ({ body }: Reply): boolean[] =>
    body.evaluations.map((each: { decision: boolean }) => each.decision);

  test('the examples of the specification, one evaluation each', async () => {
    for (const { name, request, status, recorded, decision, says } of single) {
      const { key, id } = await newKey();
      const reply = await post(EVALUATION, key, request);
      expect([name, reply.status, reply.text]).toEqual([name, status, reply.text]);
      const entries = await entriesOf(id);
      if (status === 200) {
        expect([name, reply.body.decision]).toEqual([name, decision]);
        expect([name, entries]).toEqual([
          name,
          [
            {
              id: reply.body.context.toolCallId,
              name: recorded as string,
              decision: decision === true ? 'allow' : 'deny',
              surface: 'authzen',
            },
          ],
        ]);
      } else {
        expect([name, reply.text, reply.text.startsWith(says as string)]).toEqual([name, reply.text, true]);
        expect([name, entries]).toEqual([name, []]);
      }
      // Without evaluations, or with none, the other path answers the same.
      for (const more of [{}, { evaluations: [] }]) {
        const same = await post(EVALUATIONS, key, { ...request, ...more });
        expect([name, same.status, same.body.decision]).toEqual([name, status, reply.body.decision]);
      }
    }
  });

  test('the examples of the specification, several evaluations', async () => {
    for (const { name, request, decisions: expected, errors, entries } of several) {
      const { key, id } = await newKey();
      const reply = await post(EVALUATIONS, key, request);
      expect([name, reply.status]).toEqual([name, 200]);
      expect([name, decisions(reply)]).toEqual([name, expected]);
      for (const [at, { context }] of reply.body.evaluations.entries()) {
        expect([name, at, context.error?.status ?? null]).toEqual([name, at, errors?.[at] ?? null]);
        expect([name, at, context.reason]).toEqual([name, at, expect.any(String)]);
      }
      expect([name, (await entriesOf(id)).length]).toEqual([name, entries]);
    }
  });

  test('a server of its own, if the key has exactly one Connected Tool', async () => {
    const { key, id } = await newKey();
    const connect = (name: string) =>
      service.admin('POST', `/keys/${id}/connected-tools`, {
        name,
        transport: 'http',
        url: 'http://127.0.0.1:9/mcp',
      });
    const ask = { subject, action, resource: { type: 'tool', id: 'read' } };
    expect((await connect('records')).status).toBe(201);
    expect((await post(EVALUATION, key, ask)).body.decision).toBe(true);
    expect(decisions(await post(EVALUATIONS, key, { ...ask, evaluations: [{}, {}] }))).toEqual([true, true]);
    expect((await connect('files')).status).toBe(201);
    expect((await post(EVALUATION, key, ask)).status).toBe(400);
    expect(decisions(await post(EVALUATIONS, key, { ...ask, evaluations: [{}] }))).toEqual([false]);
    expect((await entriesOf(id)).map(each => each.name)).toEqual(Array(3).fill('records__read'));
  });

  test('fifty mixed evaluations are judged in one group, with an entry each, and answered in order', async () => {
    const { key, id } = await newKey();
    const kinds = ['records__read', 'records__write', 'records__delete', 'records__delete', 'nothing'];
    const ids = Array.from({ length: 50 }, (_, at) => kinds[at % kinds.length] as string);
    const groups = async () => {
      const { text } = await service.request('GET', '/metrics');
      return Number(/^toolgate_commit_group_size_count (\d+)/m.exec(text)?.[1]);
    };
    const asked = (names: string[]) =>
      post(EVALUATIONS, key, {
        subject,
        action,
        evaluations: names.map(id => ({ resource: { type: 'tool', id } })),
      });
    const reply = await asked(ids);
    // Questions have a share of time in a group and may go on to the next. Calls that ask nobody are judged at once.
    const before = await groups();
    expect((await asked(Array(50).fill('records__read'))).status).toBe(200);
    expect((await groups()) - before).toBe(1);
    expect(decisions(reply)).toEqual(ids.map(each => each === 'records__read'));
    const answers: { context: Record<string, unknown> }[] = reply.body.evaluations;
    const entries = new Map((await entriesOf(id)).map(entry => [entry.id, entry]));
    expect(entries.size).toBe(40 + 50);
    const references = new Set<unknown>();
    for (const [at, { context }] of answers.entries()) {
      const entry = entries.get((context['toolCallId'] ?? context['evaluation_id']) as string);
      expect([at, entry?.name]).toEqual([at, ids[at] === 'nothing' ? undefined : ids[at]]);
      if (entry?.decision === 'pending') references.add((context['access_request'] as { id: string }).id);
    }
    // The same call again is the same question, within a batch too.
    expect(references.size).toBe(1);
  });

  test('a call that a person denied stays denied, and the answer has their note', async () => {
    const { key } = await newKey();
    const first = await post(EVALUATION, key, about('records__delete'));
    const { id } = first.body.context.access_request;
    const answer = { action: 'deny', note: 'Not this one.' };
    expect((await service.admin('POST', `/approvals/${id}/resolve`, answer)).status).toBe(200);
    for (const path of [EVALUATION, EVALUATIONS]) {
      const { decision, context } = (await post(path, key, about('records__delete'))).body;
      expect([decision, context.reason]).toEqual([false, expect.stringContaining('Not this one.')]);
    }
  });

  test('a limit holds within a batch', async () => {
    for (const evaluations_semantic of ['execute_all', 'deny_on_first_deny']) {
      const { key, id } = await newKey();
      const evaluations = Array(3).fill({ resource: { type: 'tool', id: 'records__once' } });
      const reply = await post(EVALUATIONS, key, {
        subject,
        action,
        evaluations,
        options: { evaluations_semantic },
      });
      const expected = [true, false, false].slice(0, evaluations_semantic === 'execute_all' ? 3 : 2);
      expect([evaluations_semantic, decisions(reply)]).toEqual([evaluations_semantic, expected]);
      expect((await entriesOf(id)).length).toBe(expected.length);
    }
  });

  test('a session that is revoked between two evaluations: no verdict without an entry, none after', async () => {
    const { key, id } = await newKey();
    const session = (await post('/v1/sessions', key, {})).body;
    const reading = { subject, action, resource: { type: 'tool', id: 'records__read' } };
    const evaluations = Array(100).fill({});
    const inTurn = { evaluations_semantic: 'deny_on_first_deny' };
    const asked = post(EVALUATIONS, session.token, { ...reading, evaluations, options: inTurn });
    const ended = await service.json('DELETE', `/v1/sessions/${session.id}`, key);
    expect(ended.status).toBe(204);
    const reply = await asked;
    const given = reply.status === 401 ? [] : decisions(reply);
    expect((await entriesOf(id)).length).toBe(given.filter(Boolean).length);
    if (given.includes(false)) expect(reply.body.evaluations.at(-1).context.error.status).toBe(401);
    const after = await post(EVALUATIONS, session.token, { ...reading, evaluations });
    expect([after.status, (await entriesOf(id)).length]).toEqual([401, given.filter(Boolean).length]);
  });

  test('of a batch that fills the queue, the rest is refused and not recorded', async () => {
    const { key, id } = await newKey();
    const reply = await post(EVALUATIONS, key, {
      subject,
      action,
      resource: { type: 'tool', id: 'records__read' },
      evaluations: Array(100).fill({}),
    });
    expect(decisions(reply)).toEqual(Array.from({ length: 100 }, (_, at) => at < QUEUE_LIMIT));
    expect(reply.body.evaluations.at(-1).context.error.status).toBe(503);
    expect((await entriesOf(id)).length).toBe(QUEUE_LIMIT);
  });

  test('arguments that evaluations share are bounded as if each had sent its own', async () => {
    const { key, id } = await newKey();
    const ask = (characters: number) =>
      post(EVALUATIONS, key, {
        ...about('records__read', { text: 'x'.repeat(characters) }),
        evaluations: Array(50).fill({}),
      });
    expect((await ask(15_000)).status).toBe(200);
    expect((await ask(25_000)).status).toBe(413);
    expect((await entriesOf(id)).length).toBe(50);
  });

  test('an identifier of a request comes back only if it is short and printable', async () => {
    const { key } = await newKey();
    for (const [given, back] of [
      ['a b/c', 'a b/c'],
      ['x'.repeat(201), null],
      ['caf\u00e9', null],
    ] as const) {
      const reply = await service.request('POST', EVALUATION, {
        headers: {
          Authorization: `Bearer ${key}`,
          'Content-Type': 'application/json',
          'X-Request-ID': given,
        },
        body: JSON.stringify(about('records__read')),
      });
      expect([given, reply.status, reply.headers.get('x-request-id')]).toEqual([given, 200, back]);
    }
  });

  test('a body that is not JSON by its type is a bad request', async () => {
    const { key } = await newKey();
    const reply = await service.request('POST', EVALUATION, {
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'text/plain' },
      body: JSON.stringify(about('records__read')),
    });
    expect(reply.status).toBe(400);
  });

  test('the metadata name the public address, for everybody', async () => {
    const reply = await service.request('GET', '/.well-known/authzen-configuration');
    expect(reply.headers.get('content-type')).toStartWith('application/json');
    expect(reply.body).toEqual({
      policy_decision_point: 'https://gate.example.test',
      access_evaluation_endpoint: 'https://gate.example.test/access/v1/evaluation',
      access_evaluations_endpoint: 'https://gate.example.test/access/v1/evaluations',
    });
  });
});
