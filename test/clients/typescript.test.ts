// The TypeScript client against the real service: verdicts, sessions, wrapped functions.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import {
  Forbidden,
  guarded,
  InvalidRequest,
  NotFound,
  ToolCallDenied,
  ToolCallPending,
  Toolgate,
  ToolResultWithheld,
  Unauthenticated,
} from '../../clients/typescript/src/index.ts';
import { startService, type TestService } from '../support/service.ts';
import { failure } from './rude.ts';

let service: TestService;
let gate: Toolgate;
let key: string;
beforeAll(async () => {
  service = await startService();
  ({ key } = await service.newKey([
    { tool: 'read_*', action: 'allow' },
    { tool: 'drop_*', action: 'deny', reason: 'Never.' },
    { tool: 'deploy', action: 'require_approval' },
  ]));
  gate = new Toolgate({ key, baseUrl: service.url });
});
afterAll(() => service.close());

describe('verdicts', () => {
  test('an allow, and its entry', async () => {
    const verdict = await gate.guard('db', 'read_rows', { table: 'a' });
    expect(verdict.decision).toBe('allow');
    const [entry] = (await service.admin('GET', '/audit?limit=1')).body.entries;
    expect(entry).toMatchObject({ id: verdict.toolCallId, decision: 'allow' });
  });

  test('with an idempotency key, the same check has one verdict', async () => {
    const once = { idempotencyKey: crypto.randomUUID() };
    const [one, two] = [
      await gate.check('prod', 'deploy', {}, once),
      await gate.check('prod', 'deploy', {}, once),
    ];
    expect(two).toEqual(one);
    expect(await failure(gate.check('prod', 'deploy', { other: 1 }, once))).toMatchObject({
      problem: { code: 'idempotency_conflict' },
    });
  });

  test('check returns every decision', async () => {
    const decisions = [];
    for (const tool of ['read_x', 'drop_x', 'deploy', 'unknown']) {
      decisions.push((await gate.check('db', tool)).decision);
    }
    expect(decisions).toEqual(['allow', 'deny', 'pending', 'deny']);
  });

  test('guard throws a denial with its verdict', async () => {
    const error = await failure(gate.guard('db', 'drop_all'));
    expect(error).toBeInstanceOf(ToolCallDenied);
    expect(error).toMatchObject({ message: 'Never.', verdict: { decision: 'deny' }, approval: null });
  });

  test('guard throws a pending call with its verdict', async () => {
    const error = await failure(gate.guard('prod', 'deploy'));
    expect(error).toBeInstanceOf(ToolCallPending);
    expect(error).toMatchObject({ verdict: { decision: 'pending', referenceId: expect.any(String) } });
  });

  test('an unknown key, and a malformed one', async () => {
    for (const wrong of [`${key.slice(0, -1)}${key.endsWith('x') ? 'y' : 'x'}`, 'nonsense']) {
      const error = await failure(new Toolgate({ key: wrong, baseUrl: service.url }).guard('db', 'read_x'));
      expect(error).toBeInstanceOf(Unauthenticated);
    }
  });

  test('a wrong name comes back with its place', async () => {
    const error = await failure(gate.guard('a__b', ''));
    expect(error).toBeInstanceOf(InvalidRequest);
    expect(error).toMatchObject({ problem: { errors: [{ path: '/serverName' }, { path: '/toolName' }] } });
  });

  test('an address with a slash at its end, and one with a wrong path', async () => {
    const slashed = new Toolgate({ key, baseUrl: `${service.url}/` });
    expect((await slashed.guard('db', 'read_x')).decision).toBe('allow');
    const lost = new Toolgate({ key, baseUrl: `${service.url}/elsewhere` });
    expect(await failure(lost.guard('db', 'read_x'))).toBeInstanceOf(NotFound);
  });
});

describe('results', () => {
  const text = (said: string) => ({ content: [{ type: 'text', text: said }] });
  const results = [
    { tool: 'read_*', hide: ['email', { pattern: 'acme_[0-9]+', as: 'token' }] },
    { tool: 'read_secret', withhold: true, reason: 'That is for people.' },
  ];
  let looking: Toolgate;
  beforeAll(async () => {
    const rules = [{ tool: '*', action: 'allow' }];
    const policy = await service.admin('POST', '/policies', { name: 'results', rules, results });
    const made = await service.admin('POST', '/keys', { name: 'results', policyId: policy.body.id });
    looking = new Toolgate({ key: made.body.key, baseUrl: service.url });
  });

  test('come back with what is to be hidden hidden, or not at all', async () => {
    const verdict = await looking.guard('db', 'read_rows');
    const structuredContent = { rows: [{ to: 'ann@example.com' }] };
    expect(await looking.guardResult(verdict, { ...text('acme_42'), structuredContent })).toEqual({
      ...text('[hidden: token]'),
      structuredContent: { rows: [{ to: '[hidden: email]' }] },
    });
    const secret = await looking.guard('db', 'read_secret');
    expect(await looking.guardResult(secret, text('x'))).toEqual({
      ...text('That is for people.'),
      isError: true,
    });
  });

  test('are looked at only where the policy has a say', async () => {
    expect((await looking.guard('db', 'write')).results).toBeUndefined();
    expect((await gate.guard('db', 'read_rows')).results).toBeUndefined();
  });

  test('of another key are not looked at', async () => {
    const verdict = await looking.guard('db', 'read_rows');
    expect(await failure(gate.guardResult(verdict, text('acme_42')))).toBeInstanceOf(NotFound);
  });

  test('of wrapped functions are looked at as any kind of value', async () => {
    const given = { to: ['ann@example.com', null, 7, true], 'a b': { c: 'acme_42' } };
    expect(await looking.guarded('db', 'read_rows', () => given)()).toEqual({
      to: ['[hidden: email]', null, 7, true],
      'a b': { c: '[hidden: token]' },
    });
    for (const [value, passed] of [
      [['ann@example.com'], ['[hidden: email]']],
      [7.5, 7.5],
      [false, false],
      ['', ''],
      [null, null],
      [undefined, undefined],
    ] as const)
      expect(await looking.guarded<[], unknown>('db', 'read_rows', () => value)()).toEqual(passed);
    // Nothing can be hidden in a name.
    const named = looking.guarded('db', 'read_rows', () => ({ 'ann@example.com': 1 }));
    expect(await failure(named())).toBeInstanceOf(ToolResultWithheld);
  });
});

describe('sessions', () => {
  test('are made, listed, used within their scope, and revoked', async () => {
    const made = await gate.createSession({ label: 'run', ttlMinutes: 5, scopeTools: ['db__read_x'] });
    expect(made.token.startsWith(made.prefix)).toBe(true);
    expect(await gate.listSessions()).toContainEqual({
      id: made.id,
      label: 'run',
      prefix: made.prefix,
      scopeTools: ['db__read_x'],
      attributes: {},
      createdAt: expect.any(String),
      expiresAt: made.expiresAt,
    });
    const run = new Toolgate({ key: made.token, baseUrl: service.url });
    expect((await run.guard('db', 'read_x')).decision).toBe('allow');
    expect(await failure(run.guard('db', 'read_y'))).toBeInstanceOf(ToolCallDenied);
    expect(await failure(run.createSession())).toBeInstanceOf(Forbidden);
    await gate.revokeSession(made.id);
    await gate.revokeSession(made.id);
    expect(await failure(run.guard('db', 'read_x'))).toBeInstanceOf(Unauthenticated);
  });

  test('need nothing, and a session of nobody is not found', async () => {
    const made = await gate.createSession();
    expect(made).toMatchObject({ label: '', scopeTools: null });
    expect(await failure(gate.revokeSession(Bun.randomUUIDv7()))).toBeInstanceOf(NotFound);
    expect(await failure(gate.revokeSession('../check'))).toBeInstanceOf(InvalidRequest);
  });
});

describe('what is known', () => {
  const send = { tool: 'send', action: 'allow', when: 'known(args.to)' } as const;
  let keyed: string;
  beforeAll(async () => {
    ({ key: keyed } = await service.newKey([{ tool: 'find', action: 'allow', known: 'results' }, send]));
  });
  const inRun = (run: string) => new Toolgate({ key: keyed, baseUrl: service.url, run });
  const may = async (agent: Toolgate, to: unknown) =>
    (await agent.check('mail', 'send', { to })).decision === 'allow';

  test('what the person said, in that run', async () => {
    const [chat, other] = [inRun('said-1'), inRun('said-2')];
    expect(await may(chat, 'ann@example.com')).toBe(false);
    await chat.told('Write to ann@example.com, please.');
    expect(await may(chat, 'ann@example.com')).toBe(true);
    expect([await may(chat, 'eve@example.com'), await may(other, 'ann@example.com')]).toEqual([false, false]);
    expect(await failure(chat.told('word '.repeat(20_000)))).toBeInstanceOf(InvalidRequest);
  });

  test('what a trusted tool returned, as text and as JSON', async () => {
    const chat = inRun('returned');
    const find = chat.guarded('contacts', 'find', (args: { give: unknown }) => args.give);
    await find({ give: 'Ann, GB29 NWBK 6016' });
    await find({ give: { bob: [{ account: 'DE02 1203', id: 4711 }] } });
    await find({ give: 98.7 });
    for (const to of ['GB29 NWBK 6016', 'DE02 1203', 4711, '98.7', 98.7])
      expect([to, await may(chat, to)]).toEqual([to, true]);
    await find({ give: { error: 'No account eve@example.com' } });
    expect(await may(chat, 'eve@example.com')).toBe(false);
  });

  test('a long text up to its limit, and not half a word of it', async () => {
    const chat = inRun('long');
    const words = 'word '.repeat(13_000);
    await chat.guarded(
      'contacts',
      'find',
      () => `first@example.com ${words} ${'x'.repeat(600)}last@example.com`,
    )();
    expect([await may(chat, 'first@example.com'), await may(chat, 'last@example.com')]).toEqual([
      true,
      false,
    ]);
  });

  test('what a session was made with, and its attributes', async () => {
    const { key: own } = await service.newKey([
      send,
      { tool: 'read', action: 'allow', when: 'args.customer == session.attributes.customer' },
    ]);
    const owner = new Toolgate({ key: own, baseUrl: service.url });
    const attributes = { customer: 'c_17', limits: { eur: [50] } };
    const made = await owner.createSession({ known: ['GB29 NWBK 6016 1331 9268 19'], attributes });
    expect(made.attributes).toEqual(attributes);
    expect((await owner.listSessions()).map(each => each.attributes)).toEqual([attributes]);
    const run = new Toolgate({ key: made.token, baseUrl: service.url });
    expect([await may(run, 'gb29nwbk60161331926819'), await may(run, 'DE02 1203')]).toEqual([true, false]);
    expect((await run.check('db', 'read', { customer: 'c_17' })).decision).toBe('allow');
    expect((await run.check('db', 'read', { customer: 'c_18' })).decision).toBe('deny');
    await run.told('And to DE02 1203.');
    expect(await may(run, 'DE02 1203')).toBe(true);
    expect(await failure(owner.createSession({ known: ['x'.repeat(513)] }))).toBeInstanceOf(InvalidRequest);
  });
});

describe('a wrapped function', () => {
  test('gets what it was called with, and gives what it gives', async () => {
    const owner = { base: 10, add: gate.guarded('db', 'read_x', add) };
    function add(this: { base: number }, { by }: { by: number }) {
      return this.base + by;
    }
    expect(await owner.add({ by: 5 })).toBe(15);
  });

  test('does not run when denied, pending or unanswered', async () => {
    let ran = 0;
    const run = () => ran++;
    await failure(gate.guarded('db', 'drop_x', run)());
    await failure(gate.guarded('prod', 'deploy', run)());
    await failure(new Toolgate({ key: 'x', baseUrl: service.url }).guarded('db', 'read_x', run)());
    expect(ran).toBe(0);
  });

  test('takes several parameters only with a mapping', async () => {
    const join = (a: string, b: string) => a + b;
    const mapped = gate.guarded('db', 'read_x', join, { args: (a, b) => ({ a, b }) });
    expect(await mapped('x', 'y')).toBe('xy');
    expect(await failure(gate.guarded('db', 'read_x', join)('x', 'y'))).toBeInstanceOf(InvalidRequest);
  });

  test('does not run with arguments that changed while they were checked', async () => {
    let ran = 0;
    const call = { path: '/tmp' };
    const running = failure(gate.guarded('db', 'read_x', (_: { path: string }) => ran++)(call));
    call.path = '/';
    expect(await running).toBeInstanceOf(InvalidRequest);
    expect(ran).toBe(0);
  });

  test('finds its client in the environment', async () => {
    const kept = { ...process.env };
    process.env['TOOLGATE_API_KEY'] = key;
    process.env['TOOLGATE_BASE_URL'] = service.url;
    try {
      expect(await guarded('db', 'read_x', () => 'ran')()).toBe('ran');
    } finally {
      for (const name of ['TOOLGATE_API_KEY', 'TOOLGATE_BASE_URL']) {
        if (kept[name] === undefined) delete process.env[name];
        else process.env[name] = kept[name];
      }
    }
  });
});
