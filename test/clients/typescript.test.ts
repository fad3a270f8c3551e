// The TypeScript client against the real service: verdicts, sessions, and a held call that waits for its
// person and is freed exactly once.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import {
  ApprovalListener,
  Forbidden,
  guarded,
  InvalidRequest,
  NotFound,
  ToolCallDenied,
  ToolCallPending,
  Toolgate,
  type ToolgateError,
  Unauthenticated,
} from '../../clients/typescript/src/index.ts';
import { until } from '../support/faults.ts';
import { startService, type TestService } from '../support/service.ts';

let service: TestService;
let gate: Toolgate;
let keyId: string;
let key: string;
beforeAll(async () => {
  service = await startService();
  const made = await service.newKey([
    { tool: 'read_*', action: 'allow' },
    { tool: 'drop_*', action: 'deny', reason: 'Never.' },
    { tool: 'deploy', action: 'require_approval' },
  ]);
  ({ key, keyId } = made);
  gate = new Toolgate({ key, baseUrl: service.url });
});
afterAll(() => service.close());

const failure = (work: Promise<unknown>): Promise<ToolgateError & Record<string, unknown>> =>
  work.then(
    () => {
      throw new Error('it did not throw');
    },
    error => error,
  );

async function entries(): Promise<Record<string, unknown>[]> {
  return (await service.admin('GET', '/audit?limit=50')).body.entries;
}

describe('verdicts', () => {
  test('an allow, and its entry', async () => {
    const verdict = await gate.guard('db', 'read_rows', { table: 'a' });
    expect(verdict.decision).toBe('allow');
    expect((await entries())[0]).toMatchObject({ id: verdict.toolCallId, decision: 'allow' });
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

  test('guard throws a held call with its verdict', async () => {
    const error = await failure(gate.guard('prod', 'deploy'));
    expect(error).toBeInstanceOf(ToolCallPending);
    expect(error['verdict']).toMatchObject({ decision: 'pending', referenceId: expect.any(String) });
  });

  test('a key that is none, and one that is malformed', async () => {
    for (const wrong of [`${key.slice(0, -1)}x`, 'nonsense']) {
      const error = await failure(new Toolgate({ key: wrong, baseUrl: service.url }).guard('db', 'read_x'));
      expect(error).toBeInstanceOf(Unauthenticated);
    }
  });

  test('a wrong name comes back with its place', async () => {
    const error = await failure(gate.guard('a__b', ''));
    expect(error).toBeInstanceOf(InvalidRequest);
    expect((error as InvalidRequest).problem?.errors.map(each => each.path)).toEqual([
      '/serverName',
      '/toolName',
    ]);
  });

  test('an address with a slash at its end, and one with a wrong path', async () => {
    const slashed = new Toolgate({ key, baseUrl: `${service.url}/` });
    expect((await slashed.guard('db', 'read_x')).decision).toBe('allow');
    const lost = new Toolgate({ key, baseUrl: `${service.url}/elsewhere` });
    expect(await failure(lost.guard('db', 'read_x'))).toBeInstanceOf(NotFound);
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

describe('a held call with a listener', () => {
  let listener: ApprovalListener;
  let receiver: Bun.Server<undefined>;
  beforeAll(async () => {
    // The secret is known only once the address is registered.
    let handle = async (_: Request) => new Response(null, { status: 503 });
    receiver = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: request => handle(request) });
    const made = await service.admin('POST', '/webhooks', { url: `${receiver.url}hook`, keyId });
    listener = new ApprovalListener({ secret: made.body.secret });
    handle = listener.handle;
    const tried = await service.admin('POST', `/webhooks/${made.body.id}/test`);
    expect(tried.body.status).toBe(204);
  });
  afterAll(() => receiver.stop(true));

  /** The question that is open for these arguments' call; the newest. */
  async function resolve(action: 'approve' | 'deny', more: object = {}): Promise<string> {
    const pending = async () =>
      (await service.admin('GET', '/approvals?status=pending&limit=1')).body.approvals;
    const before = opened.size;
    await until('the question is open', async () => {
      const [newest] = await pending();
      if (newest !== undefined) opened.add(newest.referenceId);
      return opened.size > before;
    });
    const referenceId = [...opened].at(-1) as string;
    const reply = await service.admin('POST', `/approvals/${referenceId}/resolve`, { action, ...more });
    expect(reply.status).toBe(200);
    return referenceId;
  }
  const opened = new Set<string>();
  beforeAll(async () => {
    const { approvals } = (await service.admin('GET', '/approvals?status=pending')).body;
    for (const { referenceId } of approvals) opened.add(referenceId);
  });

  test('is allowed once a person approves, exactly once', async () => {
    const waiting = gate.guardAndWait('prod', 'deploy', { version: 1 }, { listener });
    const referenceId = await resolve('approve');
    const verdict = await waiting;
    expect(verdict).toMatchObject({ decision: 'allow', reason: expect.stringContaining(referenceId) });
    const own = (await entries()).filter(entry => entry['referenceId'] === referenceId);
    expect(own.map(entry => entry['decision'])).toEqual(['allow', 'pending']);
    expect(own[0]?.['id']).toBe(verdict.toolCallId);
    const again = await failure(gate.guard('prod', 'deploy', { version: 1 }, { referenceId }));
    expect(again).toBeInstanceOf(ToolCallPending);
    opened.add((again as ToolCallPending).verdict.referenceId);
  });

  test('is allowed by an approval for a while, too', async () => {
    const waiting = gate.guardAndWait('stage', 'deploy', { version: 1 }, { listener });
    await resolve('approve', { duration: '1m' });
    expect((await waiting).decision).toBe('allow');
    expect((await gate.guardAndWait('stage', 'deploy', { version: 2 }, { listener })).decision).toBe('allow');
  });

  test('throws when the person denies, with what was asked and answered', async () => {
    const waiting = failure(gate.guardAndWait('prod', 'deploy', { version: 2 }, { listener }));
    const referenceId = await resolve('deny');
    const error = await waiting;
    expect(error).toBeInstanceOf(ToolCallDenied);
    expect(error).toMatchObject({
      verdict: { decision: 'pending', referenceId },
      approval: { status: 'denied', resolvedBy: 'admin' },
      message: 'The call was denied by admin.',
    });
  });

  test('stays pending when nobody answers in the time given', async () => {
    const error = await failure(
      gate.guardAndWait('prod', 'deploy', { version: 3 }, { listener, timeoutMs: 50 }),
    );
    expect(error).toBeInstanceOf(ToolCallPending);
    opened.add((error as ToolCallPending).verdict.referenceId);
  });

  test('can be given up', async () => {
    const controller = new AbortController();
    const options = { listener, signal: controller.signal };
    const waiting = failure(gate.guardAndWait('prod', 'deploy', { version: 4 }, options));
    const before = opened.size;
    await until('the question is open', async () => {
      const { approvals } = (await service.admin('GET', '/approvals?status=pending&limit=1')).body;
      opened.add(approvals[0].referenceId);
      return opened.size > before;
    });
    controller.abort();
    expect((await waiting).code).toBe('aborted');
  });

  test('an outcome that came before anybody waited is there for all who ask', async () => {
    const { referenceId } = (await gate.check('prod', 'deploy', { version: 5 })) as { referenceId: string };
    opened.add(referenceId);
    await service.admin('POST', `/approvals/${referenceId}/resolve`, { action: 'approve' });
    const first = await listener.outcome(referenceId, { timeoutMs: 20_000 });
    expect(first).toMatchObject({ status: 'approved', toolName: 'deploy' });
    expect(await listener.outcome(referenceId)).toBe(first);
  });

  test('a wrapped function runs behind the approval, and only then', async () => {
    const ran: number[] = [];
    const deploy = gate.guarded(
      'prod',
      'deploy',
      async (call: { version: number }) => ran.push(call.version),
      {
        listener,
      },
    );
    const running = deploy({ version: 6 });
    const denied = await resolve('approve');
    expect(await running).toBe(1);
    expect(denied).toBeString();
    const refused = failure(deploy({ version: 7 }));
    await resolve('deny');
    expect(await refused).toBeInstanceOf(ToolCallDenied);
    expect(ran).toEqual([6]);
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

  test('does not run when denied, held or unanswered', async () => {
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

  test('does not run with arguments that changed while they were judged', async () => {
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
