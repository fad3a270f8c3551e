// The examples as a reader runs them, against the real service: one call that the policy allows, one that it
// denies, one that waits until it is approved through the API. No model is called. And with no service there, no
// tool runs.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import type { Rule } from '../../src/core/policy/policy.ts';
import { until } from '../support/faults.ts';
import { need, needExtra } from '../support/need.ts';
import { freePort } from '../support/port.ts';
import { frameworksEnv, frameworksPython, pythonFrameworks } from '../support/python-frameworks.ts';
import { BUN, onPath, ROOT, startService, type TestService } from '../support/service.ts';

const EXAMPLES = join(ROOT, 'examples');
const RULES: Rule[] = [
  { tool: 'get_*', action: 'allow' },
  { tool: 'delete_*', action: 'deny', reason: 'Repositories are deleted by people.' },
  { tool: 'create_*', action: 'require_approval' },
];

const LOOPS: [name: string, command: string[]][] = [
  ['a plain loop in TypeScript', [BUN, 'plain-loop/loop.ts']],
];
if (needExtra('examples'))
  LOOPS.push(
    ['OpenAI Agents SDK', [BUN, 'openai-agents/agent.ts']],
    ['LangChain', [BUN, 'langchain/agent.ts']],
    ['Vercel AI SDK', [BUN, 'vercel-ai/agent.ts']],
  );
if (needExtra('examples/mastra')) LOOPS.push(['Mastra', [BUN, 'mastra/agent.ts']]);
if (need(onPath('python3'), 'python3 (for the example in Python)'))
  LOOPS.push(['a plain loop in Python', ['python3', 'plain-loop/loop.py']]);

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

interface Run {
  key: string;
  keyId: string;
  output: () => string;
  ended: Promise<number>;
}

/** An example with a key, and a webhook of its own. */
async function start(command: string[], env: Record<string, string> = {}): Promise<Run> {
  const { key, keyId } = await service.newKey(RULES);
  const port = await freePort();
  const webhook = await service.admin('POST', '/webhooks', { url: `http://127.0.0.1:${port}/`, keyId });
  expect(webhook.status).toBe(201);
  let said = '';
  const child = Bun.spawn(command, {
    cwd: EXAMPLES,
    env: {
      PATH: process.env['PATH'] ?? '',
      PYTHONPATH: join(ROOT, 'clients/python'),
      PYTHONDONTWRITEBYTECODE: '1',
      PORT: String(port),
      TOOLGATE_BASE_URL: service.url,
      TOOLGATE_API_KEY: key,
      TOOLGATE_WEBHOOK_SECRET: webhook.body.secret,
      ...env,
    },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const collect = async (stream: ReadableStream<Uint8Array>) => {
    for await (const chunk of stream) said += new TextDecoder().decode(chunk);
  };
  const ended = Promise.all([collect(child.stdout), collect(child.stderr)]).then(() => child.exited);
  return { key, keyId, output: () => said, ended };
}

async function waitingFor(keyId: string): Promise<{ referenceId: string; toolName: string } | undefined> {
  const { approvals } = (await service.admin('GET', '/approvals?status=pending')).body;
  return approvals.find((each: { keyId: string }) => each.keyId === keyId);
}

/** Some frameworks take long to be loaded on a busy machine. */
const START_MS = 100_000;

async function answer({ keyId, output }: Run, action: 'approve' | 'deny'): Promise<void> {
  await until('a question', async () => (await waitingFor(keyId)) !== undefined, START_MS);
  const asked = await waitingFor(keyId);
  expect(asked?.toolName).toBe('create_issue');
  expect(output()).not.toContain('Created');
  const reply = await service.admin('POST', `/approvals/${asked?.referenceId}/resolve`, { action });
  expect(reply.status).toBe(200);
}

async function doesAsDecided(command: string[], env: Record<string, string> = {}): Promise<void> {
  const run = await start(command, env);
  await answer(run, 'approve');
  expect(await run.ended, run.output()).toBe(0);
  const lines = run.output().trim().split('\n');
  expect(lines).toEqual([
    'get_issue: Issue 1: the build is broken.',
    expect.stringMatching(/^delete_repo: Denied: .*Repositories are deleted by people\./),
    'create_issue: Created "Mend the build".',
    'That is all.',
  ]);
}

describe.each(LOOPS)('%s', (_name, command) => {
  test('runs what is allowed, not what is denied, and what was approved', () => doesAsDecided(command));

  test('runs nothing when there is no verdict', async () => {
    const run = await start(command, {
      TOOLGATE_API_KEY: `tg_key_${'0'.repeat(49)}`,
    });
    // A loop of one's own ends; a framework tells its model, and goes on.
    const code = await run.ended;
    expect(run.output()).not.toMatch(/Issue 1|Deleted|Created/);
    if (code === 0) expect(run.output().match(/Not done: there is no verdict/g)).toHaveLength(3);
    else expect(run.output()).toContain('Unauthenticated');
  });
});

// What they do without a verdict is tested in clients/python/tests/real: each of these takes seconds to start.
for (const framework of pythonFrameworks())
  test(
    `in Python, with ${framework}`,
    () => doesAsDecided([frameworksPython, `python/with_${framework}.py`], frameworksEnv),
    2 * START_MS,
  );

test('a person says no', async () => {
  const run = await start([BUN, 'plain-loop/loop.ts']);
  await answer(run, 'deny');
  expect(await run.ended).toBe(0);
  expect(run.output()).toMatch(/^create_issue: Denied: /m);
});
