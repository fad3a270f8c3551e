// When `toolgate hook` has no verdict, it refuses, whatever the reason: what stands in for the service here answers
// wrongly, late or not at all. Nothing of the event is in what it says.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runHook } from '../../src/cli/hook/hook.ts';
import type { Outcome } from '../../src/cli/hook/service.ts';
import { AGENT_NAMES, AGENTS, type AgentName } from '../../src/core/agents.ts';
import { until } from '../support/faults.ts';
import { BUN, ROOT } from '../support/service.ts';

const CANARY = 'canary-8261';
const EVENT = JSON.stringify({
  hook_event_name: 'PreToolUse',
  tool_name: 'Bash',
  tool_input: { command: CANARY },
});
const ALLOWED: Outcome = { stdout: 'yes', stderr: '', exitCode: 0 };
const KEY = 'tg_key_for_tests';

interface Seen {
  path: string;
  credential: string | null;
  body: string;
}

let answer: (request: Request) => Response | Promise<Response>;
let seen: Seen[] = [];
const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  fetch: async request => {
    const { pathname, search } = new URL(request.url);
    const credential = request.headers.get('Authorization');
    seen.push({ path: pathname + search, credential, body: await request.text() });
    return answer(request);
  },
});
const base = `http://127.0.0.1:${server.port}`;
const home = mkdtempSync(join(tmpdir(), 'toolgate-hook-'));
beforeEach(() => {
  seen = [];
  answer = () => Response.json(ALLOWED);
});
afterAll(async () => {
  await server.stop(true);
  rmSync(home, { recursive: true, force: true });
});

async function* given(...chunks: string[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield new TextEncoder().encode(chunk);
}

const ENV = { HOME: home, TOOLGATE_API_KEY: KEY, TOOLGATE_BASE_URL: base };

function hook(argv: string[], env: Record<string, string> = ENV, stdin = given(EVENT)): Promise<Outcome> {
  return runHook(argv, { env, stdin: () => stdin });
}

/** The reason of a refusal; it fails for anything that an agent would take for yes. */
function reasonIn({ stdout, stderr, exitCode }: Outcome): string {
  expect([stdout, exitCode]).toEqual(['', 2]);
  expect(stderr).toStartWith('Toolgate gave no verdict, so this call is refused. ');
  expect(stderr).not.toContain(CANARY);
  expect(stderr).not.toContain(KEY);
  return stderr.slice('Toolgate gave no verdict, so this call is refused. '.length);
}

test('the event is sent as it came, and what the service says is the outcome', async () => {
  const strange = '{ "tool_name" : "Bäsh",\n "a": 1, "a": 2 }';
  const outcome = await hook(['codex', '--pending=ask'], ENV, given(strange.slice(0, 5), strange.slice(5)));
  expect(outcome).toEqual(ALLOWED);
  expect(seen).toEqual([
    { path: '/v1/hooks/codex/command?pending=ask', credential: `Bearer ${KEY}`, body: strange },
  ]);
});

test('a session token is used as it is, also in a run', async () => {
  const run = given(JSON.stringify({ ...JSON.parse(EVENT), session_id: 'run' }));
  expect(await hook(['codex'], { ...ENV, TOOLGATE_API_KEY: 'tg_ses_mine' }, run)).toEqual(ALLOWED);
  expect(seen.map(each => each.credential)).toEqual(['Bearer tg_ses_mine']);
});

test.each<[string, () => Response | Promise<Response>, RegExp]>([
  ['500', () => Response.json(ALLOWED, { status: 500 }), /answered 500/],
  ['201', () => Response.json(ALLOWED, { status: 201 }), /answered 201/],
  ['503', () => new Response('no', { status: 503 }), /too much to do/],
  ['404', () => new Response('no', { status: 404 }), /no such hook/],
  ['401', () => new Response('no', { status: 401 }), /does not accept the key/],
  ['a redirect', () => Response.redirect(`${base}/elsewhere`, 307), /redirects/],
  ['no JSON', () => new Response('<html>yes</html>'), /not as Toolgate/],
  ['nothing', () => new Response(''), /not as Toolgate/],
  ['a list', () => Response.json([]), /not as Toolgate/],
  ['no exit code', () => Response.json({ stdout: '', stderr: '' }), /not as Toolgate/],
  ['a text as its exit code', () => Response.json({ ...ALLOWED, exitCode: '0' }), /not as Toolgate/],
  ['an exit code that is none', () => Response.json({ ...ALLOWED, exitCode: 256 }), /not as Toolgate/],
  [
    'a refusal without a word',
    () => Response.json({ stdout: '', stderr: ' ', exitCode: 2 }),
    /not as Toolgate/,
  ],
  ['no output', () => Response.json({ stderr: '', exitCode: 0 }), /not as Toolgate/],
  ['too much', () => Response.json({ ...ALLOWED, stdout: 'x'.repeat(20_000_000) }), /too long/],
  ['the event', () => new Response(EVENT, { status: 400 }), /answered 400/],
])('a service that answers %s', async (_, wrong, why) => {
  answer = wrong;
  expect(reasonIn(await hook(['claude-code']))).toMatch(why);
  expect(seen.length).toBe(1);
});

test('a service that does not answer, or that nobody runs', async () => {
  answer = () => new Promise(() => {});
  expect(reasonIn(await hook(['claude-code', '--timeout', '0.1']))).toBe(
    'There was no answer within 0.1 s.\n',
  );
  expect(reasonIn(await hook(['claude-code', '--base-url', 'http://127.0.0.1:1']))).toContain(
    'Is the service running?',
  );
});

test('an event that is about no call is answered without the service, which may be stalled', async () => {
  answer = () => new Promise(() => {});
  for (const agent of AGENT_NAMES) {
    const { named, others, nothing = '' } = AGENTS[agent];
    expect(others.length).toBeGreaterThan(0);
    for (const name of others) {
      const event = given(JSON.stringify({ [named[0] as string]: name, session_id: 'run' }));
      const outcome = await hook([agent, '--timeout', '5'], ENV, event);
      expect([agent, name, outcome]).toEqual([agent, name, { stdout: nothing, stderr: '', exitCode: 0 }]);
    }
  }
  expect(seen).toEqual([]);
});

describe('a prompt and a result go on', () => {
  const told = AGENT_NAMES.flatMap(agent =>
    [...AGENTS[agent].prompts, ...AGENTS[agent].results].map(name => [agent, name] as const),
  );
  const tell = (agent: AgentName, name: string, env: Record<string, string> = ENV, ...options: string[]) =>
    hook(
      [agent, ...options],
      env,
      given(JSON.stringify({ [AGENTS[agent].named[0] as string]: name, prompt: CANARY })),
    );

  test.each(told)('%s %s: whatever the service does, after it was asked', async (agent, name) => {
    const { nothing = '' } = AGENTS[agent];
    const goesOn = { stdout: nothing, stderr: '', exitCode: 0 };
    const { replacesResults = false, results } = AGENTS[agent];
    const answers = [
      () => Response.json({ stdout: 'said', stderr: 'said', exitCode: 2 }),
      () => Response.json(ALLOWED),
      () => new Response('no', { status: 401 }),
      () => new Response('no', { status: 500 }),
      () => new Response('<html>'),
    ];
    for (const each of answers) {
      answer = each;
      // The service may put something else in the place of a result, where the agent takes that.
      const isTaken = each === answers[1] && replacesResults && results.includes(name);
      expect(await tell(agent, name)).toEqual(isTaken ? ALLOWED : goesOn);
    }
    expect(seen.map(({ path }) => path)).toEqual(
      answers.map(() => `/v1/hooks/${agent}/command?pending=deny`),
    );
    answer = () => new Promise(() => {});
    expect(await tell(agent, name, ENV, '--timeout', '0.05')).toEqual(goesOn);
    expect(await tell(agent, name, { ...ENV, TOOLGATE_BASE_URL: 'http://127.0.0.1:1' })).toEqual(goesOn);
    expect(await tell(agent, name, { HOME: '/nowhere' })).toEqual(goesOn);
  });
});

test('where nobody is at the terminal, a call that waits is not put to it', async () => {
  const pendingOf = async (agent: string, by: string, pending: string) => {
    seen = [];
    await hook([agent, '--pending', pending], { ...ENV, CLAUDE_CODE_ENTRYPOINT: by });
    return new URLSearchParams(seen[0]?.path.split('?')[1]).get('pending');
  };
  for (const by of ['sdk-cli', 'sdk-ts', 'sdk-py', 'mcp', 'claude-code-github-action'])
    expect([by, await pendingOf('claude-code', by, 'ask')]).toEqual([by, 'deny']);
  for (const by of ['cli', '', 'claude-vscode'])
    expect([by, await pendingOf('claude-code', by, 'ask')]).toEqual([by, 'ask']);
  expect(await pendingOf('claude-code', 'sdk-cli', 'defer')).toBe('defer');
});

test('every agent is refused in its own way', async () => {
  for (const agent of AGENT_NAMES) {
    const outcome = await hook([agent, '--base-url', 'http://127.0.0.1:1']);
    if (agent !== 'copilot') reasonIn(outcome);
    else {
      expect(outcome).toMatchObject({ stderr: '', exitCode: 0 });
      expect(JSON.parse(outcome.stdout)).toMatchObject({ permissionDecision: 'deny', behavior: 'deny' });
    }
  }
});

test('mistakes in the command are refusals too', async () => {
  const wrong = [
    [],
    ['nobody'],
    ['toString'],
    ['claude-code', 'codex'],
    ['claude-code', '--key', KEY],
    ['claude-code', '--pending', 'allow'],
    ['claude-code', '--pending'],
    ['claude-code', '--timeout', '0'],
    ['claude-code', '--timeout', '1e9'],
    ['claude-code', '--base-url', 'nowhere'],
    ['claude-code', '--base-url', 'file:///etc/passwd'],
  ];
  for (const argv of wrong) reasonIn(await hook(argv));
  expect(seen).toEqual([]);
});

test('an event that is too large, or that never ends', async () => {
  const large = 'x'.repeat(8 * 1024 * 1024);
  const parts = given(...Array.from({ length: 9 }, () => large));
  expect(reasonIn(await hook(['claude-code'], ENV, parts))).toBe('The event is too large.\n');
  async function* open(): AsyncGenerator<Uint8Array> {
    yield new TextEncoder().encode('{');
    await new Promise(() => {});
  }
  expect(reasonIn(await hook(['claude-code', '--timeout', '0.1'], ENV, open()))).toContain('within 0.1 s');
  expect(seen).toEqual([]);
});

test('a process whose standard input stays open ends, and refuses', async () => {
  const argv = [BUN, join(ROOT, 'src/cli/main.ts'), 'hook', 'goose', '--timeout', '0.2'];
  const child = Bun.spawn(argv, { env: ENV, stdin: 'pipe', stdout: 'pipe', stderr: 'pipe' });
  child.stdin.write('{');
  await child.stdin.flush();
  const [stdout, stderr] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  expect(reasonIn({ stdout, stderr, exitCode: await child.exited })).toContain('within 0.2 s');
});

test('a process that is ended before its time says that it refuses', async () => {
  answer = () => new Promise(() => {});
  for (const [agent, signal] of [
    ['gemini-cli', 'SIGTERM'],
    ['codex', 'SIGINT'],
    ['copilot', 'SIGHUP'],
  ] as const) {
    seen = [];
    const argv = [BUN, join(ROOT, 'src/cli/main.ts'), 'hook', agent];
    const stdin = new TextEncoder().encode(EVENT);
    const child = Bun.spawn(argv, { env: ENV, stdin, stdout: 'pipe', stderr: 'pipe' });
    await until('the hook asks', () => seen.length > 0);
    child.kill(signal);
    const outcome = {
      stdout: await new Response(child.stdout).text(),
      stderr: await new Response(child.stderr).text(),
      exitCode: await child.exited,
    };
    if (agent === 'copilot') expect(JSON.parse(outcome.stdout)).toMatchObject({ permissionDecision: 'deny' });
    else expect(reasonIn(outcome)).toBe('The hook failed.\n');
  }
});

describe('the key', () => {
  const file = join(home, '.config/toolgate/clients.json');
  const stored = (clients: unknown, mode = 0o600) => {
    writeFileSync(file, typeof clients === 'string' ? clients : JSON.stringify(clients));
    chmodSync(file, mode);
  };
  const entry = { 'claude-code': { baseUrl: `${base}/`, key: 'tg_key_stored' } };
  beforeAll(() => mkdirSync(join(home, '.config/toolgate'), { recursive: true }));

  test('is in a file that nobody else may read, and goes to the address beside it only', async () => {
    stored(entry);
    expect(await hook(['claude-code'], { HOME: home })).toEqual(ALLOWED);
    expect(await hook(['claude-code'], { HOME: '/nowhere', XDG_CONFIG_HOME: join(home, '.config') })).toEqual(
      ALLOWED,
    );
    expect(seen.map(each => each.credential)).toEqual(['Bearer tg_key_stored', 'Bearer tg_key_stored']);

    const elsewhere = { HOME: home, TOOLGATE_BASE_URL: 'http://127.0.0.1:2' };
    expect(reasonIn(await hook(['claude-code'], elsewhere))).toContain('another address');
    expect(await hook(['claude-code'], { HOME: home, TOOLGATE_BASE_URL: base })).toEqual(ALLOWED);
    for (const mode of [0o644, 0o640, 0o602]) {
      stored(entry, mode);
      expect(reasonIn(await hook(['claude-code'], { HOME: home }))).toContain(`chmod 600 ${file}`);
    }
  });

  test('with an address, both from the environment, does not lead a connected agent to another service', async () => {
    const elsewhere = 'http://127.0.0.1:2';
    stored({ 'claude-code': { baseUrl: elsewhere, key: 'tg_key_stored' } });
    expect(reasonIn(await hook(['claude-code']))).toContain('connected to another address');
    const onlyKey = await hook(['claude-code'], { HOME: home, TOOLGATE_API_KEY: KEY });
    expect(reasonIn(onlyKey)).toStartWith(elsewhere);
    expect(seen).toEqual([]);
    expect(await hook(['claude-code', '--base-url', base])).toEqual(ALLOWED);
    expect(await hook(['codex'])).toEqual(ALLOWED);
  });

  test('is the one of the environment, if there is one', async () => {
    stored(entry);
    expect(await hook(['claude-code'])).toEqual(ALLOWED);
    expect(seen[0]?.credential).toBe(`Bearer ${KEY}`);
  });

  test.each<[string, unknown]>([
    ['no file', null],
    ['no JSON', '{'],
    ['null', 'null'],
    ['no such client', { codex: entry['claude-code'] }],
    ['no address', { 'claude-code': { key: KEY } }],
    ['null for it', { 'claude-code': null }],
    ['a key with a line break', { 'claude-code': { baseUrl: base, key: 'tg_key\nX: 1' } }],
  ])('is missing: %s', async (_, clients) => {
    if (clients === null) rmSync(file, { force: true });
    else stored(clients);
    reasonIn(await hook(['claude-code'], { HOME: home }));
    expect(seen).toEqual([]);
  });
});
