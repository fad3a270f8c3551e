// The adapters of the TypeScript client, each with the real framework and one real service: a tool runs only behind an
// allow, with the arguments that were judged; whatever else happens, the model is told, and the run goes on.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { ApprovalListener, Toolgate } from '../../clients/typescript/src/index.ts';
import type { Rule } from '../../src/core/policy/policy.ts';
import { until } from '../support/faults.ts';
import { startService, type TestService } from '../support/service.ts';
import { FRAMEWORKS } from './frameworks.ts';

const RULES: Rule[] = [
  { tool: 'look', action: 'allow' },
  { tool: 'break', action: 'allow' },
  { tool: 'drop', action: 'deny', reason: 'Tables are dropped by people.' },
  { tool: 'file', action: 'require_approval' },
  { tool: 'find', action: 'allow', known: 'results' },
  { tool: 'send', action: 'allow', when: 'known(args.text)' },
];
const NAMES = ['look', 'break', 'drop', 'file', 'find', 'send'];

let service: TestService;
let gate: Toolgate;
let listener: ApprovalListener;
let receiver: Bun.Server<undefined>;
let ran: [name: string, args: unknown][] = [];

beforeAll(async () => {
  service = await startService();
  const { key, keyId } = await service.newKey(RULES);
  gate = new Toolgate({ key, baseUrl: service.url });
  // The secret is known only once the address is registered.
  let handle = async (_: Request) => new Response(null, { status: 503 });
  receiver = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: request => handle(request) });
  const made = await service.admin('POST', '/webhooks', { url: `${receiver.url}`, keyId });
  listener = new ApprovalListener({ secret: made.body.secret });
  handle = listener.handle;
});
afterAll(async () => {
  await receiver.stop(true);
  await service.close();
});

async function run(name: string, args: unknown): Promise<string> {
  ran.push([name, args]);
  if (name === 'break') throw new Error('the tool itself broke');
  return `${name} is done`;
}

/** The question about a call to this server; every test has a server of its own. */
async function question(server: string): Promise<string> {
  let referenceId = '';
  await until('the question is open', async () => {
    const { approvals } = (await service.admin('GET', '/approvals?status=pending')).body;
    referenceId =
      approvals.find((each: { serverName: string }) => each.serverName === server)?.referenceId ?? '';
    return referenceId !== '';
  });
  return referenceId;
}

async function resolve(referenceId: string, action: 'approve' | 'deny', more: object = {}): Promise<void> {
  const reply = await service.admin('POST', `/approvals/${referenceId}/resolve`, { action, ...more });
  expect(reply.status).toBe(200);
}

const RESULTS = [
  { tool: '*', hide: 'email' },
  {
    tool: 'find',
    when: 'result.text.contains("CONFIDENTIAL")',
    withhold: true,
    reason: 'That is for people.',
  },
];

/** A key whose policy has a say about results. */
async function newKey(results: object[]): Promise<{ key: string }> {
  const rules = [{ tool: '*', action: 'allow' }];
  const policy = await service.admin('POST', '/policies', { name: crypto.randomUUID(), rules, results });
  const made = await service.admin('POST', '/keys', { name: 'test', policyId: policy.body.id });
  expect([policy.status, made.status]).toEqual([201, 201]);
  return { key: made.body.key };
}

const FILE = { name: 'file', args: { text: 'a' } };

describe.each(FRAMEWORKS)('$name', ({ name, guardTools, tools, converse }) => {
  const server = (subject: string) => `${name} ${subject}`;
  const guarded = (options: Parameters<typeof guardTools>[1]) => {
    ran = [];
    return guardTools(tools(NAMES, run) as never, options);
  };

  test('several calls at once: allowed, denied, and one whose tool breaks', async () => {
    const calls = [
      { name: 'look', args: { number: 1 } },
      { name: 'drop', args: { text: 'users' } },
      { name: 'look', args: { number: 2 } },
    ];
    const broken = [{ name: 'break', args: {} }];
    const told = await converse(guarded({ server: server('at once'), gate }), [calls, broken]);
    expect(told.slice(0, 3)).toEqual([
      'look is done',
      expect.stringMatching(/^Denied: .*Tables are dropped by people\. Do not make this call again\.$/),
      'look is done',
    ]);
    expect(ran.map(([each]) => each)).toEqual(['look', 'look', 'break']);
    expect(ran.slice(0, 2).map(([, args]) => args)).toEqual([{ number: 1 }, { number: 2 }]);
    // A tool's own error is told as it would be without the guard.
    expect(told.slice(3)).toEqual(await converse(tools(NAMES, run), [broken]));
    const { entries } = (await service.admin('GET', '/audit?limit=4')).body;
    expect(entries.map((each: { toolName: string }) => each.toolName).sort()).toEqual([
      'break',
      'drop',
      'look',
      'look',
    ]);
  });

  test('what a trusted tool named is known in the next call', async () => {
    const send = [{ name: 'send', args: { text: 'find is done' } }];
    const { key } = await service.newKey(RULES);
    const tools = guarded({ server: server('known'), gate: new Toolgate({ key, baseUrl: service.url }) });
    const told = await converse(tools, [
      send,
      [{ name: 'look', args: {} }],
      [{ name: 'find', args: {} }],
      send,
    ]);
    expect(told).toEqual([
      expect.stringMatching(/^Denied: /),
      'look is done',
      'find is done',
      'send is done',
    ]);
  });

  test('of what a tool returns or throws, the model has what the policy lets through', async () => {
    const said: Record<string, string> = {
      look: 'Ann, ann@example.com',
      find: 'CONFIDENTIAL, ann@example.com',
    };
    const telling = tools(['look', 'find', 'break'], async name => {
      if (name === 'break') throw new Error('no account ann@example.com');
      return said[name];
    });
    const { key } = await newKey(RESULTS);
    const options = { server: server('results'), gate: new Toolgate({ key, baseUrl: service.url }) };
    const told = await converse(guardTools(telling as never, options), [
      [{ name: 'look', args: {} }],
      [{ name: 'find', args: {} }],
      [{ name: 'break', args: {} }],
    ]);
    expect(told.slice(0, 2)).toEqual(['Ann, [hidden: email]', 'That is for people.']);
    expect(told[2]).not.toContain('ann@example.com');
  });

  test('a held call is told to the model, and freed when it is made again', async () => {
    const held = guarded({ server: server('held'), gate });
    const [told] = await converse(held, [[FILE]]);
    const referenceId = await question(server('held'));
    expect(told).toStartWith(`Not done yet: a person has to approve this call (reference ${referenceId}).`);
    expect(ran).toEqual([]);
    await resolve(referenceId, 'approve');
    // Other arguments are another call, which nobody has approved.
    const again = await converse(held, [[FILE], [{ name: 'file', args: { text: 'b' } }]]);
    expect(again).toEqual(['file is done', expect.stringMatching(/^Not done yet: /)]);
    expect(ran).toEqual([['file', FILE.args]]);
  });

  test('with a listener, a held call waits for its person', async () => {
    const waiting = guarded({ server: server('waits'), gate, listener });
    const approved = converse(waiting, [[FILE]]);
    await resolve(await question(server('waits')), 'approve');
    expect(await approved).toEqual(['file is done']);
    const denied = converse(waiting, [[FILE]]);
    await resolve(await question(server('waits')), 'deny', { note: 'Ask me tomorrow.' });
    expect(await denied).toEqual([expect.stringMatching(/^Denied: .*"Ask me tomorrow\."/)]);
    expect(ran).toHaveLength(1);
  });

  test('without a verdict, no tool runs', async () => {
    const away = new Toolgate({ key: 'tg_key_none', baseUrl: 'http://127.0.0.1:1', retries: 0 });
    const stranger = new Toolgate({ key: `tg_key_${'0'.repeat(49)}`, baseUrl: service.url });
    const call = [[{ name: 'look', args: { number: 1 } }]];
    expect(await converse(guarded({ server: 'a', gate: away }), call)).toEqual([
      'Not done: there is no verdict on this call (network_failure). Tell the user.',
    ]);
    expect(await converse(guarded({ server: 'a', gate: stranger }), call)).toEqual([
      'Not done: there is no verdict on this call (unauthenticated). Tell the user.',
    ]);
    expect(ran).toEqual([]);
  });

  test('a run that is aborted while a call is held does not make it', async () => {
    const controller = new AbortController();
    const aborted = guarded({ server: server('aborted'), gate, listener });
    const ended = converse(aborted, [[FILE]], controller.signal).then(
      () => 'went on',
      () => 'ended',
    );
    const referenceId = await question(server('aborted'));
    controller.abort();
    expect(await ended).toBe('ended');
    await resolve(referenceId, 'approve');
    // The approval is still there for whoever names it: the call that was given up did not spend it.
    await gate.guard(server('aborted'), 'file', FILE.args, { referenceId });
    expect(ran).toEqual([]);
  });
});
