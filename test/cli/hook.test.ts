// `toolgate hook` with the vendors' own events, against a real service: what it prints and how it ends, and that each
// run of an agent has one session of its own. A process is started where it matters that it is one.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runHook } from '../../src/cli/hook/hook.ts';
import type { Outcome } from '../../src/cli/hook/service.ts';
import { AGENT_NAMES } from '../../src/core/agents.ts';
import type { Rule } from '../../src/core/policy/policy.ts';
import { Canaries, searchFor } from '../faults/canaries.ts';
import { programOf, ROOT, startService, type TestService } from '../support/service.ts';

const MOST_SESSIONS = 20;
const canaries = new Canaries();
const printed: string[] = [];
let service: TestService;
let home: string;
beforeAll(async () => {
  service = await startService({ env: { TOOLGATE_MAX_SESSIONS_PER_KEY: String(MOST_SESSIONS) } });
  home = mkdtempSync(join(tmpdir(), 'toolgate-hook-'));
});
afterAll(async () => {
  await service.close();
  rmSync(home, { recursive: true, force: true });
});

interface Vector {
  event: Record<string, unknown>;
  command: Record<string, Outcome>;
}

const vectorOf = (agent: string): Vector =>
  JSON.parse(readFileSync(join(ROOT, 'test/vectors/hooks', agent, 'shell.json'), 'utf8'));

/** Claude Code's event about a call of its shell, in a run. */
const eventOf = (run: string, command = canaries.at('an argument')) => ({
  ...vectorOf('claude-code').event,
  session_id: run,
  tool_input: { command },
});

const envOf = (key: string, more: Record<string, string> = {}) => ({
  HOME: home,
  TOOLGATE_BASE_URL: service.url,
  TOOLGATE_API_KEY: key,
  ...more,
});

async function hook(key: string, event: unknown, more: Record<string, string> = {}, ...options: string[]) {
  const text = typeof event === 'string' ? event : JSON.stringify(event);
  const stdin = async function* () {
    yield new TextEncoder().encode(text);
  };
  const outcome = await runHook(['claude-code', ...options], { env: envOf(key, more), stdin });
  printed.push(outcome.stdout, outcome.stderr);
  return outcome;
}

async function started(key: string, agent: string, event: unknown): Promise<Outcome> {
  const child = Bun.spawn([...programOf(), 'hook', agent], {
    env: envOf(key, { HTTP_PROXY: 'http://127.0.0.1:1', ALL_PROXY: 'http://127.0.0.1:1' }),
    stdin: new Blob([JSON.stringify(event)]),
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [stdout, stderr] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  printed.push(stdout, stderr);
  return { stdout, stderr, exitCode: await child.exited };
}

function decisionIn({ stdout, exitCode }: Outcome): { decision: string; reason: string } {
  expect(exitCode).toBe(0);
  const { permissionDecision, permissionDecisionReason } = JSON.parse(stdout).hookSpecificOutput;
  return { decision: permissionDecision, reason: permissionDecisionReason };
}

/** Our sessions of a key. */
async function sessionsOf(key: string): Promise<{ id: string; label: string }[]> {
  return (await service.json('GET', '/v1/sessions', key)).body.sessions;
}

async function newKey(action: Rule['action'] = 'allow'): Promise<{ key: string; keyId: string }> {
  return service.newKey([{ tool: '*', action }]);
}

const folderOf = () => join(home, '.local/state/toolgate/hooks');

test.each(AGENT_NAMES)('%s is allowed and denied in its own words', async agent => {
  const { event, command } = vectorOf(agent);
  const decided = async (action: 'allow' | 'deny') => started((await newKey(action)).key, agent, event);
  for (const [action, { stdout, stderr, exitCode }] of Object.entries({
    allow: await decided('allow'),
    deny: await decided('deny'),
  })) {
    const wanted = command[action] as Outcome;
    const pattern = (text: string) => new RegExp(`^${text.split('REASON').map(RegExp.escape).join('.+')}$`);
    expect(stdout).toMatch(pattern(wanted.stdout));
    expect(stderr).toMatch(pattern(wanted.stderr));
    expect(exitCode).toBe(wanted.exitCode);
  }
});

test('a call that waits is denied, and allowed once somebody has approved it', async () => {
  const { key, keyId } = await newKey('require_approval');
  const event = eventOf('waiting');
  const held = decisionIn(await hook(key, event));
  const { approvals } = (await service.admin('GET', '/approvals?status=pending')).body;
  const { referenceId } = approvals.find((each: { keyId: string }) => each.keyId === keyId);
  expect(held.decision).toBe('deny');
  expect(held.reason).toContain(referenceId);
  await service.admin('POST', `/approvals/${referenceId}/resolve`, { action: 'approve' });
  expect(decisionIn(await hook(key, eventOf('another run', event.tool_input.command))).decision).toBe('deny');
  expect(decisionIn(await hook(key, event)).decision).toBe('allow');
});

test('what the person wrote and what a trusted call returned is known in the session of the run', async () => {
  const { key } = await service.newKey([
    { tool: 'files__contacts', action: 'allow', known: 'results' },
    { tool: 'claude-code__Bash', action: 'allow', when: 'known(args.command)' },
  ]);
  const prompt = (run: string, text: string) => ({
    hook_event_name: 'UserPromptSubmit',
    session_id: run,
    prompt: text,
  });
  const [said, found] = [canaries.at('a prompt'), canaries.at('a result')];
  const runs = async (run: string, command: string) =>
    decisionIn(await hook(key, eventOf(run, command))).decision;
  const silent = { stdout: '', stderr: '', exitCode: 0 };
  expect(await hook(key, prompt('told', `Run ${said}, please.`))).toEqual(silent);
  expect(await runs('told', said)).toBe('allow');
  expect(await runs('other', said)).toBe('deny');

  const call = { session_id: 'told', tool_name: 'mcp__files__contacts', tool_input: {}, tool_use_id: 't1' };
  expect(decisionIn(await hook(key, { hook_event_name: 'PreToolUse', ...call })).decision).toBe('allow');
  expect(await runs('told', found)).toBe('deny');
  const result = { hook_event_name: 'PostToolUse', ...call, tool_response: [{ type: 'text', text: found }] };
  expect(await started(key, 'claude-code', result)).toEqual(silent);
  expect(await runs('told', found)).toBe('allow');
  expect((await sessionsOf(key)).map(({ label }) => label).toSorted()).toEqual(['other', 'told']);
  // Also with a key that is wrong, or nobody's.
  for (const wrong of [`tg_key_${'0'.repeat(49)}`, 'tg_ses_wrong'])
    expect(await hook(wrong, prompt('told', said))).toEqual(silent);
});

test('a call that waits is put to the person at the terminal, or deferred, where that is wanted', async () => {
  const { key } = await newKey('require_approval');
  expect(decisionIn(await hook(key, eventOf('asked'), {}, '--pending', 'ask')).decision).toBe('ask');
  expect(decisionIn(await hook(key, eventOf('asked'), {}, '--pending', 'defer')).decision).toBe('defer');
});

test('what the service cannot judge is refused', async () => {
  const { key } = await newKey();
  const wrong: [string, unknown, Record<string, string>?][] = [
    [key, 'hello'],
    [key, ''],
    [key, '{"hook_event_name":"PreToolUse"}'],
    [key, eventOf('large', `${canaries.at('a large argument')}${'x'.repeat(2_000_000)}`)],
    [`tg_key_${'0'.repeat(49)}`, eventOf('wrong key')],
    ['tg_ses_wrong', eventOf('wrong session')],
  ];
  for (const [credential, event] of wrong) {
    const { stdout, stderr, exitCode } = await hook(credential, event);
    expect([stdout, exitCode]).toEqual(['', 2]);
    expect(stderr).toContain('Toolgate gave no verdict, so this call is refused.');
  }
});

describe('the session of a run', () => {
  test('is minted once, labelled with the agent’s id of the run, and kept where only its user reads it', async () => {
    const { key, keyId } = await newKey();
    for (const run of ['run-1', 'run-1', 'run-2']) await hook(key, eventOf(run));
    expect((await sessionsOf(key)).map(each => each.label).sort()).toEqual(['run-1', 'run-2']);
    const { entries } = (await service.admin('GET', `/audit?keyId=${keyId}`)).body;
    expect(new Set(entries.map((each: { sessionId: string }) => each.sessionId)).size).toBe(2);

    expect(statSync(folderOf()).mode & 0o777).toBe(0o700);
    for (const name of readdirSync(folderOf())) {
      expect(name).toMatch(/^[0-9a-f]{64}$/);
      expect(statSync(join(folderOf(), name)).mode & 0o777).toBe(0o600);
    }
  });

  test('is one for all hooks that start together', async () => {
    const { key } = await newKey();
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => hook(key, eventOf('together'))));
    for (const outcome of outcomes) expect(decisionIn(outcome).decision).toBe('allow');
    expect((await sessionsOf(key)).length).toBe(1);
    expect(readdirSync(folderOf()).filter(name => name.includes('.'))).toEqual([]);
  });

  test('is what limits per session count for', async () => {
    const limits = { once: { calls: 1, within: '1h', per: 'session' } };
    const rules = [{ tool: '*', action: 'allow', limit: 'once' }];
    const policy = await service.admin('POST', '/policies', { name: 'once', rules, limits });
    const { key } = (await service.admin('POST', '/keys', { name: 'once', policyId: policy.body.id })).body;
    const decided: string[] = [];
    for (const run of ['a', 'a', 'b']) decided.push(decisionIn(await hook(key, eventOf(run))).decision);
    expect(decided).toEqual(['allow', 'deny', 'allow']);
  });

  test('is replaced when it was revoked or has ended', async () => {
    const { key } = await newKey();
    await hook(key, eventOf('replaced'));
    const [first] = await sessionsOf(key);
    await service.json('DELETE', `/v1/sessions/${first?.id}`, key);
    const together = await Promise.all([1, 2, 3].map(() => hook(key, eventOf('replaced'))));
    for (const outcome of together) expect(decisionIn(outcome).decision).toBe('allow');
    const [second, ...others] = await sessionsOf(key);
    expect(others).toEqual([]);
    expect(second?.id).not.toBe(first?.id);

    for (const name of readdirSync(folderOf())) {
      const file = join(folderOf(), name);
      const kept = JSON.parse(readFileSync(file, 'utf8'));
      writeFileSync(file, JSON.stringify({ ...kept, expiresAt: Date.now() - 1 }));
    }
    expect(decisionIn(await hook(key, eventOf('replaced'))).decision).toBe('allow');
    expect((await sessionsOf(key)).length).toBe(2);
  });

  test('is not read from a file that others may have written', async () => {
    const { key } = await newKey();
    await hook(key, eventOf('planted'));
    for (const name of readdirSync(folderOf())) chmodSync(join(folderOf(), name), 0o666);
    await hook(key, eventOf('planted'));
    expect((await sessionsOf(key)).length).toBe(2);
  });

  test('is not minted where that cannot be', async () => {
    const { key } = await newKey();
    const { token } = (await service.json('POST', '/v1/sessions', key, { label: 'mine' })).body;
    expect(decisionIn(await hook(token, eventOf('a session as the credential'))).decision).toBe('allow');
    const file = join(home, 'file');
    writeFileSync(file, '');
    expect(decisionIn(await hook(key, eventOf('no folder'), { XDG_STATE_HOME: file })).decision).toBe(
      'allow',
    );
    expect(decisionIn(await hook(key, { ...eventOf(''), session_id: 7 })).decision).toBe('allow');
    expect((await sessionsOf(key)).map(each => each.label)).toEqual(['mine']);

    const more = Array.from({ length: MOST_SESSIONS - 1 }, () => service.json('POST', '/v1/sessions', key));
    await Promise.all(more);
    expect(decisionIn(await hook(key, eventOf('one too many'))).decision).toBe('allow');
    expect((await sessionsOf(key)).length).toBe(MOST_SESSIONS);
  });

  test('is given up where its token cannot be kept, as on a full disk: each call would have a new one', async () => {
    const { key } = await newKey();
    // The name of the new file, and no other, is longer than the system takes.
    const length = 4096 - '/toolgate/hooks/'.length - 80;
    const state = join(home, `${'x'.repeat(200)}/`.repeat(20)).slice(0, length);
    for (const _ of [1, 2]) {
      const outcome = await hook(key, eventOf('lost'), { XDG_STATE_HOME: state });
      expect(decisionIn(outcome).decision).toBe('allow');
    }
    expect(await sessionsOf(key)).toEqual([]);
    const { entries } = (await service.admin('GET', '/audit?limit=2')).body;
    expect(entries.map((each: { sessionId: string | null }) => each.sessionId)).toEqual([null, null]);
  });

  test('may have any id, and old files are removed', async () => {
    const { key } = await newKey();
    const state = join(home, 'state');
    const folder = join(state, 'toolgate/hooks');
    mkdirSync(folder, { recursive: true, mode: 0o755 });
    const files = ['a'.repeat(64), `${'b'.repeat(64)}.0-1`, 'notes.txt', 'c'.repeat(64)];
    for (const name of files) writeFileSync(join(folder, name), '{}');
    for (const name of files.slice(0, 3)) utimesSync(join(folder, name), 0, 0);
    const hostile = `\u0000../\ud800${'é'.repeat(300)}`;
    expect(decisionIn(await hook(key, eventOf(hostile), { XDG_STATE_HOME: state })).decision).toBe('allow');
    expect((await sessionsOf(key))[0]?.label).toBe(` ../\ufffd${'é'.repeat(195)}`);
    const left = readdirSync(folder).filter(name => files.includes(name));
    expect(left.sort()).toEqual(['c'.repeat(64), 'notes.txt']);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
  });
});

test('no argument is in what is printed, kept or logged', () => {
  expect(readdirSync(folderOf()).length).toBeGreaterThan(5);
  expect(canaries.size).toBeGreaterThan(20);
  expect(searchFor(canaries, [home, service.dataDir], [...printed, service.output])).toEqual([]);
});
