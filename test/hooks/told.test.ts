// What coding agents tell besides their calls, through the real service: the words of the person and the results of
// trusted tools are known in the run, on the door for the command and on the one over HTTP.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { AGENTS, type AgentName } from '../../src/core/agents.ts';
import type { JsonObject } from '../../src/core/wire/json.ts';
import { BY_COMMAND, OVER_HTTP } from '../../src/http/hooks/agents.ts';
import { Canaries, searchFor } from '../faults/canaries.ts';
import { sql } from '../support/faults.ts';
import { connect } from '../support/mcp.ts';
import { startService, type TestService } from '../support/service.ts';

type Args = Record<string, string>;
type Told = { prompt: string } | { call: string; tool: string; args: Args; result: string; failed?: true };

const before = (event: JsonObject, call: string, tool: string, args: Args): JsonObject => ({
  ...event,
  tool_name: `mcp__files__${tool}`,
  tool_input: args,
  tool_use_id: call,
});
const claude = {
  before: (run: string, call: string, tool: string, args: Args): JsonObject =>
    before({ hook_event_name: 'PreToolUse', session_id: run }, call, tool, args),
  told: (run: string, told: Told): JsonObject =>
    'prompt' in told
      ? { hook_event_name: 'UserPromptSubmit', session_id: run, prompt: told.prompt }
      : before(
          {
            hook_event_name: told.failed ? 'PostToolUseFailure' : 'PostToolUse',
            session_id: run,
            tool_response: [{ type: 'text', text: told.result }],
          },
          told.call,
          told.tool,
          told.args,
        ),
};

/** The events of each agent that tells something. */
const EVENTS: Partial<Record<AgentName, typeof claude>> = {
  'claude-code': claude,
  codex: claude,
  vscode: claude,
  copilot: {
    before: (run, _, tool, args) => ({
      hook_event_name: 'PreToolUse',
      session_id: run,
      tool_name: `mcp__files__${tool}`,
      tool_input: args,
    }),
    told: (run, told) =>
      'prompt' in told
        ? { sessionId: run, prompt: told.prompt }
        : {
            hook_event_name: 'PostToolUse',
            session_id: run,
            tool_name: `mcp__files__${told.tool}`,
            tool_input: told.args,
            tool_result: {
              result_type: told.failed ? 'failure' : 'success',
              text_result_for_llm: told.result,
            },
          },
  },
  grok: {
    before: (run, call, tool, args) => ({
      hookEventName: 'pre_tool_use',
      sessionId: run,
      toolName: `files__${tool}`,
      toolUseId: call,
      toolInput: args,
    }),
    told: (run, told) =>
      'prompt' in told
        ? { hookEventName: 'user_prompt_submit', sessionId: run, prompt: told.prompt }
        : {
            hookEventName: told.failed ? 'post_tool_use_failure' : 'post_tool_use',
            sessionId: run,
            toolName: `files__${told.tool}`,
            toolUseId: told.call,
            toolInput: told.args,
            toolResult: { output: told.result },
          },
  },
  cursor: {
    before: (run, _, tool, args) => ({
      hook_event_name: 'beforeMCPExecution',
      conversation_id: run,
      mcp_server_name: 'files',
      tool_name: tool,
      tool_input: JSON.stringify(args),
    }),
    told: (run, told) =>
      'prompt' in told
        ? { hook_event_name: 'beforeSubmitPrompt', conversation_id: run, prompt: told.prompt }
        : {
            hook_event_name: 'afterMCPExecution',
            conversation_id: run,
            mcp_server_name: 'files',
            tool_name: told.tool,
            tool_input: JSON.stringify(told.args),
            result_json: JSON.stringify({ content: [{ text: told.result }], isError: told.failed === true }),
          },
  },
  'gemini-cli': {
    before: (run, _, tool, args) => ({
      hook_event_name: 'BeforeTool',
      session_id: run,
      tool_name: `mcp_files_${tool}`,
      tool_input: args,
      mcp_context: { server_name: 'files', tool_name: tool },
    }),
    told: (run, told) =>
      'prompt' in told
        ? { hook_event_name: 'BeforeAgent', session_id: run, prompt: told.prompt }
        : {
            hook_event_name: 'AfterTool',
            session_id: run,
            tool_name: `mcp_files_${told.tool}`,
            tool_input: told.args,
            mcp_context: { server_name: 'files', tool_name: told.tool },
            tool_response: { llmContent: told.result, ...(told.failed && { error: { message: 'no' } }) },
          },
  },
  windsurf: {
    before: (run, _, tool, args) => ({
      agent_action_name: 'pre_mcp_tool_use',
      trajectory_id: run,
      tool_info: { mcp_server_name: 'files', mcp_tool_name: tool, mcp_tool_arguments: args },
    }),
    told: (run, told) =>
      'prompt' in told
        ? {
            agent_action_name: 'pre_user_prompt',
            trajectory_id: run,
            tool_info: { user_prompt: told.prompt },
          }
        : {
            agent_action_name: told.failed ? 'post_run_command' : 'post_mcp_tool_use',
            trajectory_id: run,
            tool_info: {
              mcp_server_name: 'files',
              mcp_tool_name: told.tool,
              mcp_tool_arguments: told.args,
              mcp_result: told.result,
            },
          },
  },
};

const RULES = [
  { tool: 'contacts', action: 'allow', known: 'results', when: '!("untrusted" in marks)' },
  { tool: 'contacts', action: 'allow' },
  { tool: 'page', action: 'allow', marks: 'untrusted' },
  { tool: 'web', action: 'allow' },
  { tool: 'send', action: 'allow', when: 'known(args.to)' },
];

let service: TestService;
const canaries = new Canaries();
const replies: string[] = [];
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

async function clearMarks(keyId: string, name: string): Promise<void> {
  const { runs } = (await service.admin('GET', `/runs?keyId=${keyId}&marked=true`)).body;
  const run = runs.find((each: { name: string }) => each.name === name);
  expect((await service.admin('POST', `/runs/${run.runId}/clear`)).status).toBe(204);
}

async function newKey(): Promise<{ key: string; keyId: string }> {
  const name = `told-${crypto.randomUUID()}`;
  const policy = await service.admin('POST', '/policies', { name, rules: RULES });
  const made = await service.admin('POST', '/keys', { name, policyId: policy.body.id });
  return { key: made.body.key, keyId: made.body.id };
}

const DOORS: [AgentName, string][] = [
  ...BY_COMMAND.map(({ name }): [AgentName, string] => [name, `/v1/hooks/${name}/command`]),
  ...OVER_HTTP.map(({ name }): [AgentName, string] => [name, `/v1/hooks/${name}`]),
].filter((door): door is [AgentName, string] => door[0] in EVENTS);

test('every agent that tells something is tried', () => {
  const telling = BY_COMMAND.filter(({ name }) => AGENTS[name].prompts.length > 0);
  expect(Object.keys(EVENTS).toSorted()).toEqual(telling.map(({ name }) => name).toSorted());
});

describe.each(DOORS)('%s at %s', (agent, path) => {
  const events = EVENTS[agent] as typeof claude;
  let key: string;
  let keyId: string;
  beforeAll(async () => {
    ({ key, keyId } = await newKey());
  });
  const post = async (event: JsonObject): Promise<string> => {
    const { status, text } = await service.json('POST', path, key, event);
    expect(status).toBe(200);
    replies.push(text);
    return text;
  };
  const nothing = path.endsWith('command')
    ? JSON.stringify({ stdout: AGENTS[agent].nothing ?? '', stderr: '', exitCode: 0 })
    : '{}';
  const tell = async (run: string, told: Told) => expect(await post(events.told(run, told))).toBe(nothing);
  let calls = 0;
  const allowed = async (run: string, tool: string, args: Args, call = `call-${calls++}`) => {
    const answer = await post(events.before(run, call, tool, args));
    return !/deny|block|exitCode\\?":2/.test(answer);
  };
  const address = (place: string) => `${canaries.at(place)}@example.com`;

  test('what the person wrote is known in that run, and in no other', async () => {
    const to = address('a prompt');
    expect(await allowed('r1', 'send', { to })).toBe(false);
    await tell('r1', { prompt: `Send the report to ${to}, please.` });
    expect(await allowed('r1', 'send', { to })).toBe(true);
    expect(await allowed('r2', 'send', { to })).toBe(false);
    expect(await allowed('r1', 'send', { to: address('another') })).toBe(false);
  });

  test('what a trusted call returned is known once its result is told', async () => {
    const to = address('a result');
    const args = { name: crypto.randomUUID() };
    expect(await allowed('r3', 'contacts', args, 'c-1')).toBe(true);
    expect(await allowed('r3', 'send', { to })).toBe(false);
    await tell('r3', { call: 'c-1', tool: 'contacts', args, result: `Ann <${to}>` });
    expect(await allowed('r3', 'send', { to })).toBe(true);
    expect(await allowed('r4', 'send', { to })).toBe(false);
  });

  test('a result is not known: of another call, of a tool that no rule trusts, a second one, or a failure', async () => {
    const args = { name: crypto.randomUUID() };
    const other = { name: crypto.randomUUID() };
    const to = address('an untrusted result');
    await tell('r5', { call: 'c-2', tool: 'contacts', args, result: to });
    expect(await allowed('r5', 'web', args, 'c-2')).toBe(true);
    await tell('r5', { call: 'c-2', tool: 'web', args, result: to });
    expect(await allowed('r5', 'contacts', args, 'c-3')).toBe(true);
    await tell('r5', { call: 'c-4', tool: 'contacts', args: other, result: to });
    await tell('r6', { call: 'c-3', tool: 'contacts', args, result: to });
    expect(await allowed('r5', 'send', { to })).toBe(false);
    await tell('r5', { call: 'c-3', tool: 'contacts', args, result: 'nobody' });
    await tell('r5', { call: 'c-3', tool: 'contacts', args, result: to });
    expect(await allowed('r5', 'contacts', args, 'c-5')).toBe(true);
    await tell('r5', { call: 'c-5', tool: 'contacts', args, result: to, failed: true });
    expect(await allowed('r5', 'send', { to })).toBe(false);
  });

  test('a result is not taken for that of an earlier call of the same name, whose result never came', async () => {
    const args = { name: crypto.randomUUID() };
    const to = address('a result after marks');
    expect(await allowed('r11', 'contacts', args, 'c-7')).toBe(true);
    expect(await allowed('r11', 'page', {})).toBe(true);
    expect(await allowed('r11', 'contacts', args, 'c-7')).toBe(true);
    for (let each = 0; each < 3; each++)
      await tell('r11', { call: 'c-7', tool: 'contacts', args, result: to });
    expect(await allowed('r11', 'send', { to })).toBe(false);
  });

  test('while one call of a name is not trusted, no result of that name makes anything known', async () => {
    const args = { name: crypto.randomUUID() };
    const result = { call: 'c-8', tool: 'contacts', args };
    const to = address('one of two results');
    const later = address('a result after both');
    expect(await allowed('r12', 'page', {})).toBe(true);
    expect(await allowed('r12', 'contacts', args, 'c-8')).toBe(true);
    await clearMarks(keyId, 'r12');
    expect(await allowed('r12', 'contacts', args, 'c-8')).toBe(true);
    await tell('r12', { ...result, result: to });
    await tell('r12', { ...result, result: to });
    expect(await allowed('r12', 'send', { to })).toBe(false);
    expect(await allowed('r12', 'contacts', args, 'c-8')).toBe(true);
    await tell('r12', { ...result, result: later });
    expect(await allowed('r12', 'send', { to: later })).toBe(true);
  });

  test('a result is not known that comes after a failure of the same name', async () => {
    const args = { name: crypto.randomUUID() };
    const result = { call: 'c-9', tool: 'contacts', args };
    const to = address('a result after a failure');
    expect(await allowed('r13', 'contacts', args, 'c-9')).toBe(true);
    await tell('r13', { ...result, result: '', failed: true });
    await tell('r13', { ...result, result: to });
    // Windsurf says nothing of a call that failed.
    if (agent !== 'windsurf') expect(await allowed('r13', 'send', { to })).toBe(false);
  });

  test('an odd id of a run is still one run', async () => {
    const run = `${'ü '.repeat(200)}x`;
    const to = address('an odd run');
    await tell(run, { prompt: to });
    expect(await allowed(run, 'send', { to })).toBe(true);
    expect(await allowed(`${run}y`, 'send', { to })).toBe(false);
  });

  test('a long prompt passes, and its first 64 KiB are known', async () => {
    const [first, last] = [address('the beginning'), address('the end')];
    await tell('r7', { prompt: `${first} ${`${'x'.repeat(1000)} `.repeat(80)} ${last}` });
    expect(await allowed('r7', 'send', { to: first })).toBe(true);
    expect(await allowed('r7', 'send', { to: last })).toBe(false);
  });

  test('a prompt and a result pass also if nothing can be recorded', async () => {
    const to = address('not recorded');
    await sql(service.databaseUrl, 'ALTER TABLE runs RENAME TO runs_elsewhere');
    try {
      await tell('r8', { prompt: to });
      await tell('r8', { call: 'c-6', tool: 'contacts', args: {}, result: to });
    } finally {
      await sql(service.databaseUrl, 'ALTER TABLE runs_elsewhere RENAME TO runs');
    }
    expect(await allowed('r8', 'send', { to })).toBe(false);
  });
});

test('a call behind our MCP proxy marks the run of the agent, and its result is known there', async () => {
  const name = `proxied-${crypto.randomUUID()}`;
  const rules = [
    { tool: 'files__web', action: 'require_approval', marks: 'untrusted' },
    { tool: 'files__contacts', action: 'allow', known: 'results' },
    { tool: 'files__mail', action: 'allow', when: '!("untrusted" in marks) || known(args.to)' },
    { tool: 'files__mail', action: 'require_approval' },
    { tool: 'files__post', action: 'allow', when: 'known(args.to)' },
    { tool: 'files__post', action: 'require_approval' },
    { tool: 'send', action: 'allow', when: '!("untrusted" in marks) || known(args.to)' },
  ];
  const policy = await service.admin('POST', '/policies', { name, rules });
  const { key, id: keyId } = (await service.admin('POST', '/keys', { name, policyId: policy.body.id })).body;
  await connect(service, keyId, 'files', 'http://127.0.0.1:9/mcp');
  const post = async (event: JsonObject) =>
    (await service.json('POST', '/v1/hooks/claude-code/command', key, event)).text;
  const behind = { tool_name: 'mcp__toolgate__files__contacts', tool_use_id: 'p-1', tool_input: {} };
  const to = `${canaries.at('a result behind the proxy')}@example.com`;
  const sends = async () => !(await post(claude.before('r10', 'p-2', 'send', { to }))).includes('deny');
  expect(await sends()).toBe(true);
  // The proxy asks about it; it may be made.
  const web = { hook_event_name: 'PreToolUse', session_id: 'r10', tool_name: 'mcp__toolgate__files__web' };
  expect(await post(web)).not.toContain('deny');
  expect(await sends()).toBe(false);
  expect(await post({ hook_event_name: 'PreToolUse', session_id: 'r10', ...behind })).not.toContain('deny');
  await post({ hook_event_name: 'PostToolUse', session_id: 'r10', ...behind, tool_response: to });
  expect(await sends()).toBe(true);
  // The proxy sees a call in another run, without marks, and would ask nobody: the hook asks.
  const mail = (to: string) => ({ ...web, tool_name: 'mcp__toolgate__files__mail', tool_input: { to } });
  expect(await post(mail('eve@example.com'))).toContain('It waits for the approval');
  expect(await post(mail(to))).not.toContain('deny');
  // Where marks do not matter, the proxy alone asks.
  const put = { ...web, tool_name: 'mcp__toolgate__files__post', tool_input: { to: 'eve@example.com' } };
  expect(await post(put)).toContain('The MCP proxy asks for the approval');
});

test('prompts and results leave no entry, and half a marker is nowhere', async () => {
  const { key, keyId } = await newKey();
  const to = `${canaries.at('a lone prompt')}@example.com`;
  await service.json('POST', '/v1/hooks/claude-code/command', key, claude.told('r9', { prompt: to }));
  expect((await service.admin('GET', `/audit?keyId=${keyId}`)).body.entries).toEqual([]);
  const metrics = await service.request('GET', '/metrics');
  expect(searchFor(canaries, [service.dataDir], [service.output, metrics.text, ...replies])).toEqual([]);
});
