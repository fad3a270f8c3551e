// Results that coding agents report, through the real service: what the model gets in their place where the agent's hooks can
// put something there, the marks that they bring on every agent, and what is recorded.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { AgentName } from '../../src/core/agents.ts';
import type { Rule } from '../../src/core/policy/policy.ts';
import type { ResultEntry } from '../../src/core/policy/result-fields.ts';
import type { Json, JsonObject } from '../../src/core/wire/json.ts';
import { until } from '../support/faults.ts';
import { startService, type TestService } from '../support/service.ts';

const RULES: Rule[] = [
  { tool: '*__send', action: 'allow', when: '!("untrusted" in marks) || known(args.to)' },
  { tool: '*__send', action: 'deny' },
  { tool: '*__contacts', action: 'allow', known: 'results' },
  { tool: '*', action: 'allow' },
];
const RESULTS: ResultEntry[] = [
  { tool: '*', hide: ['email', { pattern: '9[0-9]{14}', as: 'digits' }] },
  { tool: '*__page', marks: 'untrusted' },
  { tool: '*', when: 'result.text.contains("nobody")', withhold: true, reason: 'For nobody.' },
  { tool: 'files__of', when: 'args.path == "secret"', withhold: true, reason: 'It is secret.' },
];

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

type Told = (tool: string, id: string, args: JsonObject, result: Json) => JsonObject;

/** The events of an agent about a call of the MCP server `files`. */
interface Events {
  before: (tool: string, id: string, args: JsonObject) => JsonObject;
  after: Told;
}

const claude: Events = {
  before: (tool, id, args) => ({
    hook_event_name: 'PreToolUse',
    session_id: 'run',
    tool_name: `mcp__files__${tool}`,
    tool_input: args,
    tool_use_id: id,
  }),
  after: (tool, id, args, result) => ({
    ...claude.before(tool, id, args),
    hook_event_name: 'PostToolUse',
    tool_response: result,
  }),
};
const gemini: Events = {
  before: (tool, _, args) => ({
    hook_event_name: 'BeforeTool',
    session_id: 'run',
    tool_name: `mcp_files_${tool}`,
    tool_input: args,
    mcp_context: { server_name: 'files', tool_name: tool },
  }),
  after: (tool, id, args, result) => ({
    ...gemini.before(tool, id, args),
    hook_event_name: 'AfterTool',
    tool_response: { llmContent: result },
  }),
};
const cursor: Events = {
  before: (tool, _, args) => ({
    hook_event_name: 'beforeMCPExecution',
    conversation_id: 'run',
    mcp_server_name: 'files',
    tool_name: tool,
    tool_input: JSON.stringify(args),
  }),
  after: (tool, id, args, result) => ({
    ...cursor.before(tool, id, args),
    hook_event_name: 'afterMCPExecution',
    result_json: JSON.stringify({ content: result }),
  }),
};

const blocks = (said: string): Json => [{ type: 'text', text: said }];

async function open(agent: AgentName, events: Events, over: 'command' | 'http' = 'command') {
  const { key, keyId } = await service.newKey(RULES, {}, { results: RESULTS });
  const post = async (event: JsonObject): Promise<{ said: Json; text: string }> => {
    const path = `/v1/hooks/${agent}${over === 'command' ? '/command' : ''}`;
    const { status, body, text } = await service.json('POST', path, key, event);
    expect(status).toBe(200);
    if (over === 'http') return { said: body, text };
    return { said: body.stdout === '' ? null : JSON.parse(body.stdout), text };
  };
  let made = 0;
  const call = async (tool: string, result: Json, args: JsonObject = {}) => {
    const id = `call-${made++}`;
    await post(events.before(tool, id, args));
    return post(events.after(tool, id, args, result));
  };
  const isMarked = async () => (await post(events.before('send', 'x', {}))).text.includes('deny');
  const recorded = async (tool: string) => {
    const { body } = await service.admin('GET', `/audit?keyId=${keyId}&tool=files__${tool}`);
    const shown = async () => (await service.admin('GET', `/audit/${body.entries[0].id}`)).body.forwarded;
    await until('the outcome is recorded', async () => (await shown()) !== null);
    return shown();
  };
  return { post, call, isMarked, recorded };
}

const REPLACED: [AgentName, 'command' | 'http', Events, (text: string) => Json][] = [
  [
    'claude-code',
    'command',
    claude,
    text => ({ hookSpecificOutput: { hookEventName: 'PostToolUse', updatedMCPToolOutput: blocks(text) } }),
  ],
  [
    'claude-code',
    'http',
    claude,
    text => ({ hookSpecificOutput: { hookEventName: 'PostToolUse', updatedMCPToolOutput: blocks(text) } }),
  ],
  ['codex', 'command', claude, text => ({ decision: 'block', reason: text })],
  ['gemini-cli', 'command', gemini, text => ({ decision: 'deny', reason: text })],
];

for (const [agent, over, events, replaced] of REPLACED)
  describe(`${agent}, ${over}`, () => {
    test('something else takes the place of a result', async () => {
      const { call, recorded } = await open(agent, events, over);
      const { said, text } = await call('read', blocks('Write to ann@example.org.'));
      expect(said).toEqual(replaced('Write to [hidden: email].'));
      expect(text).not.toContain('ann@');
      expect(await recorded('read')).toMatchObject({
        outcome: 'ok',
        result: { hidden: { email: 1 }, withheld: false, cut: false },
      });
      expect((await call('read', blocks('for nobody'))).said).toEqual(replaced('For nobody.'));
      const nothing = over === 'http' ? {} : null;
      expect((await call('read', blocks('for everybody'))).said).toEqual(nothing);
    });

    test('conditions see the arguments, which the agent tells once more', async () => {
      const { call } = await open(agent, events, over);
      expect((await call('of', blocks('x'), { path: 'secret' })).said).toEqual(replaced('It is secret.'));
      const nothing = over === 'http' ? {} : null;
      expect((await call('of', blocks('x'), { path: 'open' })).said).toEqual(nothing);
    });

    test('the run is marked, and what is made known is what is left', async () => {
      const { post, call, isMarked } = await open(agent, events, over);
      await call('contacts', blocks('It is AB-1234, and ann@example.org.'));
      expect(await isMarked()).toBe(false);
      await call('page', blocks('a page'));
      expect(await isMarked()).toBe(true);
      const isDenied = async (to: string) =>
        (await post(events.before('send', to, { to }))).text.includes('deny');
      expect(await isDenied('AB-1234')).toBe(false);
      expect(await isDenied('ann@example.org')).toBe(true);
    });
  });

test('a result of an own tool of Claude Code keeps its shape', async () => {
  const { post } = await open('claude-code', claude);
  const after = (value: Json) =>
    post({
      hook_event_name: 'PostToolUse',
      session_id: 'run',
      tool_name: 'Bash',
      tool_input: { command: 'ls' },
      tool_use_id: 'own',
      tool_response: value,
    });
  const updated = (value: Json) => ({
    hookSpecificOutput: { hookEventName: 'PostToolUse', updatedToolOutput: value },
  });
  const bash = { stdout: 'to ann@example.org', stderr: 'of bob@example.org', interrupted: false, lines: [1] };
  expect((await after(bash)).said).toEqual(
    updated({ ...bash, stdout: 'to [hidden: email]', stderr: 'of [hidden: email]' }),
  );
  expect((await after({ ...bash, stdout: 'for nobody' })).said).toEqual(
    updated({ stdout: 'For nobody.', stderr: '', interrupted: false, lines: [] }),
  );
  // Of a number in which something is found nothing can be hidden.
  const { said, text } = await after({ stdout: 'x', lines: [912345678901234] });
  expect(text).not.toContain('912345678901234');
  expect(JSON.stringify(said)).toContain('withholds');
});

test.each(['command', 'http'] as const)('Copilot CLI takes another text for its result, %s', async over => {
  const { post } = await open('copilot', claude, over);
  const said = async (event: JsonObject) => (await post({ ...event, sessionId: 'run', cwd: '/x' })).said;
  const after = (toolName: string, text: string) =>
    said({ toolName, toolArgs: '{}', toolResult: { resultType: 'success', textResultForLlm: text } });
  const modified = (text: string) => ({ modifiedResult: { resultType: 'success', textResultForLlm: text } });
  const nothing = over === 'http' ? {} : null;
  expect(await after('bash', 'to ann@example.org')).toEqual(modified('to [hidden: email]'));
  expect(await after('bash', 'for nobody')).toEqual(modified('For nobody.'));
  expect(await after('bash', 'for everybody')).toEqual(nothing);
  const send = { toolName: 'send', toolArgs: '{"to":"x"}' };
  expect(JSON.stringify(await said(send))).not.toContain('deny');
  expect(await after('page', 'by ann@example.org')).toEqual(modified('by [hidden: email]'));
  expect(JSON.stringify(await said(send))).toContain('deny');
  const failed = {
    hook_event_name: 'PostToolUseFailure',
    tool_name: 'bash',
    tool_input: {},
    error: 'ann@example.org',
  };
  expect(await said(failed)).toEqual(nothing);
});

test('where a hook can replace nothing, the run is marked all the same', async () => {
  const { call, isMarked } = await open('cursor', cursor);
  expect((await call('page', blocks('by ann@example.org'))).said).toEqual({});
  expect(await isMarked()).toBe(true);
});

test('a result of a call that nobody asked about is looked at by the current version', async () => {
  const { post } = await open('claude-code', claude);
  const { said } = await post(claude.after('read', 'unheard', {}, blocks('ann@example.org')));
  expect(JSON.stringify(said)).toContain('[hidden: email]');
});

test('an error marks the run, and makes nothing known', async () => {
  const { post, isMarked } = await open('claude-code', claude);
  await post(claude.before('page', 'failing', {}));
  const failed = { ...claude.before('page', 'failing', {}), error: 'no page' };
  expect((await post({ ...failed, hook_event_name: 'PostToolUseFailure' })).said).toBeNull();
  expect(await isMarked()).toBe(true);
});
