// The doors of coding agents, through the real service: over HTTP for the three that can, and by command for all nine.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { JsonObject } from '../../src/core/wire/json.ts';
import { BY_COMMAND } from '../../src/http/hooks/agents.ts';
import { sql } from '../support/faults.ts';
import { connect } from '../support/mcp.ts';
import { said } from '../support/said.ts';
import { ADMIN_TOKEN, type Reply, startService, type TestService } from '../support/service.ts';
import { type TestedDoor, TOOLS, testDoors } from './doors.ts';

type Args = Record<string, string>;

/** An event of each agent about a call of this tool of the server `files`. */
const EVENTS: Record<string, (tool: string, args: Args) => JsonObject> = {
  'claude-code': (tool, args) => claudeEvent('PreToolUse', tool, args),
  copilot: (tool, args) => claudeEvent('PreToolUse', tool, args),
  vscode: (tool, args) => claudeEvent('PreToolUse', tool, args),
  codex: (tool, args) => claudeEvent('PreToolUse', tool, args),
  grok: (tool, args) => ({ hookEventName: 'pre_tool_use', toolName: `files__${tool}`, toolInput: args }),
  cursor: (tool, args) => ({
    hook_event_name: 'beforeMCPExecution',
    mcp_server_name: 'files',
    tool_name: tool,
    tool_input: JSON.stringify(args),
  }),
  'gemini-cli': (tool, args) => ({
    hook_event_name: 'BeforeTool',
    tool_name: `mcp_files_${tool}`,
    tool_input: args,
    mcp_context: { server_name: 'files', tool_name: tool },
  }),
  windsurf: (tool, args) => ({
    agent_action_name: 'pre_mcp_tool_use',
    tool_info: { mcp_server_name: 'files', mcp_tool_name: tool, mcp_tool_arguments: args },
  }),
  goose: (tool, args) => ({ event: 'PreToolUse', tool_name: `files__${tool}`, tool_input: args }),
};

function claudeEvent(name: string, tool: string, args: Args): JsonObject {
  return {
    hook_event_name: name,
    session_id: 's',
    cwd: '/',
    tool_name: `mcp__files__${tool}`,
    tool_input: args,
  };
}

function shellEvent(tool: string, more: JsonObject): JsonObject {
  return { hook_event_name: 'PreToolUse', tool_name: tool, tool_input: { command: 'ls' }, ...more };
}

const eventOf = (agent: string, tool: string, args: Args = {}): JsonObject =>
  (EVENTS[agent] as (typeof EVENTS)[string])(tool, args);

/** The decision in an answer, wherever it stands. */
function decisionIn(answer: JsonObject): unknown {
  const specific = (answer['hookSpecificOutput'] ?? {}) as JsonObject;
  const behavior = (specific['decision'] as JsonObject | undefined)?.['behavior'];
  return (
    specific['permissionDecision'] ??
    behavior ??
    answer['permissionDecision'] ??
    answer['permission'] ??
    answer['decision'] ??
    answer['behavior']
  );
}

/** What an agent makes of the output of its command. */
function heard({ stdout, stderr, exitCode }: { stdout: string; stderr: string; exitCode: number }): unknown {
  if (exitCode !== 0) return exitCode === 2 && stderr.trim() !== '' ? 'deny' : 'ignored';
  return stdout === '' ? 'allow' : decisionIn(JSON.parse(stdout));
}

const REFERENCE = /approval ([0-9a-f-]{36})/;

const shared = (
  agent: string,
): Pick<TestedDoor, 'surface' | 'body' | 'recorded' | 'reference' | 'malformed'> => ({
  surface: agent,
  body: ({ tool, args }) => eventOf(agent, tool, args),
  recorded: tool => `files__${tool}`,
  reference: ({ text }) => REFERENCE.exec(text)?.[1] ?? null,
  malformed: [{ hook_event_name: 'Unheard', tool_name: 'x' }, { event: 7 }, { toolName: 7 }],
});

const overHttp = (agent: string): TestedDoor => ({
  path: `/v1/hooks/${agent}`,
  ...shared(agent),
  allows: ({ body }) => decisionIn(body) === 'allow',
  expects: (on, { body }) =>
    expect([on, decisionIn(body)]).toEqual([on, ['allow', 'freed'].includes(on) ? 'allow' : 'deny']),
});

const byCommand = (agent: string): TestedDoor => ({
  path: `/v1/hooks/${agent}/command`,
  ...shared(agent),
  allows: ({ body }) => heard(body) === 'allow',
  expects: (on, { body }) => {
    const expected = agent === 'goose' && ['deny', 'pending'].includes(on) ? 'block' : 'deny';
    expect([on, heard(body)]).toEqual([on, ['allow', 'freed'].includes(on) ? 'allow' : expected]);
  },
});

testDoors(Object.fromEntries(['claude-code', 'copilot', 'grok'].map(agent => [agent, overHttp(agent)])));
testDoors(Object.fromEntries(BY_COMMAND.map(({ name }) => [`${name} by command`, byCommand(name)])));

describe('one service', () => {
  let service: TestService;
  let key: string;
  let keyId: string;
  beforeAll(async () => {
    service = await startService();
    const rules = [
      { tool: TOOLS.allow, action: 'allow' as const },
      { tool: 'voted', action: 'require_approval' as const, approvers: { group: 'finance' } },
      { tool: TOOLS.pending, action: 'require_approval' as const },
    ];
    ({ key, keyId } = await service.newKey(rules));
  });
  afterAll(() => service.close());

  const ask = (agent: string, body: unknown, pending = 'deny'): Promise<Reply> =>
    service.json('POST', `/v1/hooks/${agent}/command?pending=${pending}`, key, body);
  const rows = <T>(what: string): Promise<T[]> => sql<T>(service.databaseUrl, what);
  const lastEntry = async () =>
    said(
      await rows<{ decision: string; reason: string; reference_id: string | null; name: string }>(
        `SELECT decision, reason, reference_id, server_name || '__' || tool_name AS name FROM audit
         WHERE key_id = '${keyId}' ORDER BY id DESC LIMIT 1`,
      ),
    )[0];
  const count = async (table: string) =>
    (await rows(`SELECT 1 FROM ${table} WHERE key_id = '${keyId}'`)).length;
  const approve = async (referenceId: string, action = 'approve') =>
    service.admin('POST', `/approvals/${referenceId}/resolve`, { action, note: 'not today' });

  describe('a call that waits', () => {
    const CAN_ASK = ['claude-code', 'copilot', 'vscode', 'cursor'];

    test.each(BY_COMMAND.map(each => each.name))('%s: ask', async agent => {
      const before = await count('approvals');
      const { body } = await ask(agent, eventOf(agent, TOOLS.pending, { for: 'ask' }), 'ask');
      const entry = await lastEntry();
      expect(entry?.decision).toBe('pending');
      if (CAN_ASK.includes(agent)) {
        expect(heard(body)).toBe('ask');
        expect(await count('approvals')).toBe(before);
        expect(entry).toMatchObject({ reference_id: null });
        expect(entry?.reason).toEndWith(
          'requires approval for files__asked. The person at the terminal decides.',
        );
      } else {
        expect(heard(body)).toBeOneOf(['deny', 'block']);
        expect(await count('approvals')).toBe(before + 1);
      }
    });

    test.each(BY_COMMAND.map(each => each.name))('%s: defer', async agent => {
      const { body } = await ask(agent, eventOf(agent, TOOLS.pending, { for: 'defer' }), 'defer');
      expect(heard(body)).toBeOneOf(agent === 'claude-code' ? ['defer'] : ['deny', 'block']);
      expect(JSON.stringify(body)).toContain((await lastEntry())?.reference_id as string);
    });

    test('an approval that was given frees a call that the terminal would decide about, and a denial stands', async () => {
      for (const action of ['approve', 'deny']) {
        const event = eventOf('claude-code', TOOLS.pending, { for: action });
        await ask('claude-code', event);
        const referenceId = (await lastEntry())?.reference_id as string;
        // As long as nobody has answered, the person at the terminal is asked.
        expect(heard((await ask('claude-code', event, 'ask')).body)).toBe('ask');
        expect((await lastEntry())?.reference_id).toBeNull();
        expect((await approve(referenceId, action)).status).toBe(200);
        const { body, text } = await ask('claude-code', event, 'ask');
        expect(heard(body)).toBe(action === 'approve' ? 'allow' : 'deny');
        if (action === 'deny') expect(text).toContain('not today');
      }
    });

    test('a rule that names its approvers is not put to the terminal', async () => {
      const before = await count('approvals');
      const { body } = await ask('claude-code', eventOf('claude-code', 'voted'), 'ask');
      expect(heard(body)).toBe('deny');
      expect(await count('approvals')).toBe(before + 1);
    });

    test('the terminal decides also when no further approval may be opened', async () => {
      const crowded = await startService({ env: { TOOLGATE_MAX_OPEN_APPROVALS_PER_KEY: '1' } });
      const own = await crowded.newKey([{ tool: '*', action: 'require_approval' }]);
      const send = (n: string, pending: string) =>
        crowded.json(
          'POST',
          `/v1/hooks/claude-code/command?pending=${pending}`,
          own.key,
          eventOf('claude-code', 'x', { n }),
        );
      expect(heard((await send('1', 'deny')).body)).toBe('deny');
      const { body, text } = await send('2', 'deny');
      expect(heard(body)).toBe('deny');
      expect(text).toContain('already has 1 open approvals');
      expect(heard((await send('3', 'ask')).body)).toBe('ask');
      await crowded.close();
    });

    test('any other word for it is refused', async () => {
      const before = await count('audit');
      for (const word of ['allow', '', 'ASK', 'ask&pending=deny', 'ask&other=1'])
        expect(heard((await ask('claude-code', eventOf('claude-code', TOOLS.allow), word)).body)).toBe(
          'deny',
        );
      expect(await count('audit')).toBe(before);
    });
  });

  test('odd names: refused, or recorded as what they are', async () => {
    const odd: [string, JsonObject, string | null][] = [
      ['claude-code', { tool_name: 'mcp____x' }, null],
      ['claude-code', { tool_name: 'mcp__x' }, null],
      ['claude-code', { tool_name: 'mcp__files__' }, null],
      ['claude-code', { tool_name: 'mcp___files__x' }, null],
      ['claude-code', { tool_name: '' }, null],
      ['claude-code', { tool_name: 7 }, null],
      ['claude-code', { tool_name: 'x'.repeat(129) }, null],
      ['claude-code', { tool_name: 'a\u0000b' }, null],
      ['claude-code', { tool_name: 'a\ud800' }, null],
      ['claude-code', { tool_name: 'a\nb' }, null],
      ['claude-code', { tool_name: 'mcp__claude-code__Bash' }, null],
      ['claude-code', { tool_name: 'mcp__codex__shell' }, null],
      ['claude-code', { tool_name: 'mcp__toolgate__claude-code__Read' }, null],
      ['claude-code', { tool_name: 'mcp__files__a__b' }, 'files__a__b'],
      ['claude-code', { tool_name: 'mcp__files___b' }, 'files___b'],
      ['claude-code', { tool_name: 'Lesen und Schreiben ü' }, 'claude-code__Lesen und Schreiben ü'],
      ['claude-code', { tool_name: 'a__b' }, 'claude-code__a__b'],
      ['claude-code', { tool_name: 'MCP__files__x' }, 'claude-code__MCP__files__x'],
      [
        'gemini-cli',
        { tool_name: 'mcp_x', mcp_context: { server_name: 'gemini-cli', tool_name: 'x' } },
        null,
      ],
      ['gemini-cli', { tool_name: 'mcp_x', mcp_context: { server_name: 'a__b', tool_name: 'x' } }, null],
      ['gemini-cli', { tool_name: 'mcp_x', mcp_context: { server_name: '', tool_name: 'x' } }, null],
      [
        'gemini-cli',
        { tool_name: 'mcp_git_hub_x', mcp_context: { server_name: 'git_hub', tool_name: 'x' } },
        'git_hub__x',
      ],
      ['gemini-cli', { tool_name: 'mcp_x' }, null],
      ['goose', { tool_name: '__x' }, null],
      ['goose', { tool_name: 'goose__shell' }, null],
    ];
    for (const [agent, named, expected] of odd) {
      const before = await count('audit');
      const { body } = await ask(agent, { ...eventOf(agent, TOOLS.allow), mcp_context: null, ...named });
      expect([named, await count('audit')]).toEqual([named, before + (expected === null ? 0 : 1)]);
      expect([named, heard(body)]).not.toEqual([named, 'allow']);
      if (expected !== null) expect((await lastEntry())?.name).toBe(expected);
    }
  });

  test('arguments: only an object is judged, also as text; too many and too deep are refused', async () => {
    const deep = `${'['.repeat(70)}${']'.repeat(70)}`;
    const many = `{"a":[${'0,'.repeat(260_000)}0]}`;
    for (const input of ['', '[]', '7', '{', '{"a":1,"a":2}', `{"a":${deep}}`, many])
      expect(
        heard((await ask('cursor', { ...eventOf('cursor', TOOLS.allow), tool_input: input })).body),
      ).toBe('deny');
    for (const input of [[], 7, true])
      expect(
        heard((await ask('claude-code', { ...eventOf('claude-code', TOOLS.allow), tool_input: input })).body),
      ).toBe('deny');
    for (const input of ['{}', {}, null])
      expect(
        heard((await ask('cursor', { ...eventOf('cursor', TOOLS.allow), tool_input: input })).body),
      ).toBe('allow');
  });

  describe('the folder', () => {
    const EVENTS_OF_SHELLS: [string, JsonObject][] = [
      ['claude-code', shellEvent('Bash', { cwd: '/p' })],
      ['copilot', shellEvent('bash', { cwd: '/p' })],
      ['vscode', shellEvent('run_in_terminal', { cwd: '/p' })],
      ['codex', shellEvent('Bash', { cwd: '/p' })],
      ['gemini-cli', { ...shellEvent('run_shell_command', { cwd: '/p' }), hook_event_name: 'BeforeTool' }],
      ['grok', { toolName: 'run_terminal_command', toolInput: { command: 'ls' }, cwd: '/p' }],
      ['cursor', { hook_event_name: 'beforeShellExecution', command: 'ls', cwd: '/p' }],
      ['windsurf', { agent_action_name: 'pre_run_command', tool_info: { command_line: 'ls', cwd: '/p' } }],
      ['goose', { event: 'PreToolUse', ...shellEvent('developer__shell', { working_dir: '/p' }) }],
    ];

    test('conditions see it, and what the call would do in it', async () => {
      const own = await service.newKey([
        {
          tool: '*',
          action: 'allow',
          when: 'agent.folder == "/p" && agent.runs == ["ls"] && agent.reads + agent.writes == [] && !has(args.cwd)',
        },
      ]);
      expect(EVENTS_OF_SHELLS).toHaveLength(BY_COMMAND.length);
      for (const [agent, event] of EVENTS_OF_SHELLS) {
        const { body } = await service.json('POST', `/v1/hooks/${agent}/command`, own.key, event);
        expect([agent, heard(body)]).toEqual([agent, 'allow']);
      }
    });

    test('is not what the model claims: the call is judged without what it would do, and recorded', async () => {
      const own = await service.newKey([
        {
          tool: '*',
          action: 'allow',
          when: 'agent.runs.all(c, c == "ls") && path.within(agent.folder, "/p")',
        },
        { tool: '*', action: 'require_approval' },
      ]);
      for (const [claimed, real] of [
        ['/p', '/other'],
        ['/other', '/p'],
        ['/p', '/p'],
      ]) {
        const event = shellEvent('Bash', {
          cwd: real as string,
          tool_input: { command: 'ls', cwd: claimed as string },
        });
        await service.json('POST', '/v1/hooks/claude-code/command', own.key, event);
      }
      const entries = await rows<{ decision: string }>(
        `SELECT decision FROM audit WHERE key_id = '${own.keyId}'`,
      );
      expect(entries.map(({ decision }) => decision)).toEqual(['pending', 'pending', 'pending']);
    });

    test.each(EVENTS_OF_SHELLS)(
      '%s: a call approved in one folder frees nothing in another',
      async (agent, event) => {
        const own = await service.newKey([{ tool: '*', action: 'require_approval' }]);
        const judged = async (folder: string) => {
          const there = JSON.parse(JSON.stringify(event).replaceAll('"/p"', JSON.stringify(folder)));
          return heard((await service.json('POST', `/v1/hooks/${agent}/command`, own.key, there)).body);
        };
        await judged('/p');
        const [opened] = await rows<{ id: string }>(`SELECT id FROM approvals WHERE key_id = '${own.keyId}'`);
        expect((await approve(opened?.id as string)).status).toBe(200);
        expect(await judged('/q')).not.toBe('allow');
        expect(await judged('/p')).toBe('allow');
      },
    );
  });

  test('a grant for the same values frees nothing in another folder', async () => {
    const own = await service.newKey([{ tool: '*', action: 'require_approval' }]);
    const judged = async (cwd: string) =>
      heard(
        (
          await service.json('POST', '/v1/hooks/claude-code/command', own.key, {
            ...claudeEvent('PreToolUse', 'Bash', { command: 'make' }),
            tool_name: 'Bash',
            cwd,
          })
        ).body,
      );
    await judged('/p');
    const [opened] = await rows<{ id: string }>(`SELECT id FROM approvals WHERE key_id = '${own.keyId}'`);
    const answer = { action: 'approve', duration: '15m', same: ['command'] };
    expect((await service.admin('POST', `/approvals/${opened?.id}/resolve`, answer)).status).toBe(200);
    expect(await judged('/q')).not.toBe('allow');
    expect(await judged('/p')).toBe('allow');
    expect(await judged('/p')).toBe('allow');
  });

  test('an event that is not about a call is answered with nothing, and leaves no entry', async () => {
    const before = await count('audit');
    const after = { hook_event_name: 'PostToolUse', tool_name: 'Bash', tool_input: {} };
    expect((await ask('claude-code', after)).body).toEqual({ stdout: '', stderr: '', exitCode: 0 });
    expect((await service.json('POST', '/v1/hooks/claude-code', key, after)).body).toEqual({});
    const twin = { hook_event_name: 'preToolUse', tool_name: 'Shell', tool_input: { command: 'ls' } };
    expect((await ask('cursor', twin)).body).toEqual({ stdout: '{}\n', stderr: '', exitCode: 0 });
    expect(await count('audit')).toBe(before);
  });

  test('a call of our own MCP proxy is judged by its name there, and waits and counts there alone', async () => {
    const limits = { one: { calls: 1, within: '1h', per: 'key' } };
    const rules = [
      { tool: 'files__once', action: 'allow', limit: 'one' },
      { tool: `files__${TOOLS.pending}`, action: 'require_approval', approvers: { group: 'finance' } },
    ];
    const policy = await service.admin('POST', '/policies', { name: 'proxied', rules, limits });
    const made = await service.admin('POST', '/keys', { name: 'proxied', policyId: policy.body.id });
    const own = { key: made.body.key, keyId: made.body.id };
    await connect(service, own.keyId, 'files', 'http://127.0.0.1:9/mcp');
    const asked = (tool: string) => ({
      ...claudeEvent('PreToolUse', tool, {}),
      tool_name: `mcp__toolgate__${tool}`,
    });
    const judged = async (tool: string) => {
      const { body } = await service.json('POST', '/v1/hooks/claude-code/command', own.key, asked(tool));
      const http = await service.json('POST', '/v1/hooks/claude-code', own.key, asked(tool));
      return [heard(body), decisionIn(http.body)];
    };
    expect(await judged('files__once')).toEqual(['allow', 'allow']);
    expect(await judged('files__once')).toEqual(['allow', 'allow']);
    expect(await judged(`files__${TOOLS.pending}`)).toEqual(['allow', 'allow']);
    expect(await judged('files__other')).toEqual(['deny', 'deny']);
    expect(await judged('files')).toEqual(['deny', 'deny']);
    const entries = await rows<{ name: string; decision: string; reason: string }>(
      `SELECT server_name || '__' || tool_name AS name, decision, reason FROM audit WHERE key_id = '${own.keyId}'`,
    );
    expect(entries).toHaveLength(10);
    const [held] = said(entries).filter(({ decision }) => decision === 'pending');
    expect(held?.reason).toEndWith(' The MCP proxy asks for the approval.');
    expect(held?.name).toBe(`files__${TOOLS.pending}`);
    expect(await rows(`SELECT 1 FROM approvals WHERE key_id = '${own.keyId}'`)).toEqual([]);
  });

  test.each(['its own server', 'a server that keys share'])(
    'Codex renames tools: rules and Connected Tools are found by the name before, of %s',
    async whose => {
      const own = await service.newKey([
        { tool: 'my-notes__drop-*', action: 'deny' },
        { tool: 'my-notes__add-note.v2', action: 'require_approval' },
        { tool: '*', action: 'allow' },
      ]);
      const where = { transport: 'http', url: 'http://127.0.0.1:9/mcp' };
      const shared = whose === 'its own server' ? null : { name: `notes-${own.keyId.slice(-12)}`, ...where };
      const server =
        shared && (await service.json('POST', '/admin/v1/tool-servers', ADMIN_TOKEN, shared)).body;
      await connect(service, own.keyId, 'my-notes', server === null ? where : { toolServerId: server.id });
      await sql(
        service.databaseUrl,
        `INSERT INTO tool_definitions (connected_tool_id, tool_name, digest, definition, seen_at)
       SELECT COALESCE(tool_server_id, id), 'add-note.v2', 'd', '{}', 0 FROM connected_tools WHERE key_id = '${own.keyId}'`,
      );
      const judged = async (tool: string) => {
        const event = { ...claudeEvent('PreToolUse', '', {}), tool_name: `mcp__${tool}` };
        const { body } = await service.json('POST', '/v1/hooks/codex/command', own.key, event);
        const [entry] = await rows<{ name: string; decision: string; reference: string | null }>(
          `SELECT server_name || '__' || tool_name AS name, decision, reference_id AS reference FROM audit
         WHERE key_id = '${own.keyId}' ORDER BY id DESC LIMIT 1`,
        );
        return [heard(body), entry?.name, entry?.decision, entry?.reference !== null];
      };
      expect(await judged('my_notes__drop_all')).toEqual(['deny', 'my_notes__drop_all', 'deny', false]);
      expect(await judged('my_notes__add_note_v2')).toEqual([
        'deny',
        'my_notes__add_note_v2',
        'pending',
        true,
      ]);
      // Behind the proxy, which asks for the approval, and under the name that it has there.
      expect(await judged('toolgate__my_notes__add_note_v2')).toEqual([
        'allow',
        'my-notes__add-note.v2',
        'pending',
        false,
      ]);
      expect(await judged('toolgate__my_notes__drop_all')).toEqual([
        'deny',
        'my-notes__drop_all',
        'deny',
        false,
      ]);
      expect(await judged('toolgate__other__x')).toEqual(['allow', 'toolgate__other__x', 'allow', false]);
    },
  );

  test('a server that has the name of our MCP proxy is judged like any other', async () => {
    const own = await service.newKey([
      { tool: 'files__read', action: 'allow' },
      { tool: '*', action: 'require_approval' },
    ]);
    await connect(service, own.keyId, 'git', 'http://127.0.0.1:9/mcp');
    for (const tool of ['files__read', 'evil__run', 'toolgate__x'])
      for (const path of ['/v1/hooks/claude-code', '/v1/hooks/claude-code/command']) {
        const event = { ...claudeEvent('PreToolUse', tool, {}), tool_name: `mcp__toolgate__${tool}` };
        const { body } = await service.json('POST', path, own.key, event);
        const told = path.endsWith('command') ? heard(body) : decisionIn(body);
        expect([tool, path, told]).toEqual([tool, path, 'deny']);
      }
    const entries = await rows<{ name: string; decision: string; reference: string | null }>(
      `SELECT server_name || '__' || tool_name AS name, decision, reference_id AS reference FROM audit
       WHERE key_id = '${own.keyId}' ORDER BY id`,
    );
    expect(entries.map(({ name }) => name)).toEqual([
      ...Array(2).fill('toolgate__files__read'),
      ...Array(2).fill('toolgate__evil__run'),
      ...Array(2).fill('toolgate__toolgate__x'),
    ]);
    for (const { decision, reference } of entries)
      expect([decision, reference]).toEqual(['pending', expect.any(String)]);
  });

  test('a revoked key is refused also at an event that is not about a call', async () => {
    const own = await service.newKey([]);
    const after = { hook_event_name: 'Stop', session_id: 's' };
    const tell = async () =>
      heard((await service.json('POST', '/v1/hooks/claude-code/command', own.key, after)).body);
    expect(await tell()).toBe('allow');
    await service.json('DELETE', `/admin/v1/keys/${own.keyId}`, ADMIN_TOKEN);
    expect(await tell()).toBe('deny');
  });
});
