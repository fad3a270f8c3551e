// The coding pack in a run of Claude Code, through the real service: a grant that was given before the run has read what
// strangers wrote does not hold afterwards, and what the person named passes.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonObject } from '../../src/core/wire/json.ts';
import { ROOT, startService, type TestService } from '../support/service.ts';

const FOLDER = '/home/ann/projects/app';

let service: TestService;
let policyId: string;
let key: string;
beforeAll(async () => {
  service = await startService();
  const text = readFileSync(join(ROOT, 'packs/coding.yaml'), 'utf8').replaceAll('/srv/project', FOLDER);
  const policy = await service.admin('POST', '/policies', { text });
  policyId = policy.body.id;
  key = await newKey('coding');
});
afterAll(() => service.close());

const newKey = async (name: string): Promise<string> =>
  (await service.admin('POST', '/keys', { name, policyId })).body.key;

const post = async (event: JsonObject): Promise<string> =>
  (await service.json('POST', '/v1/hooks/claude-code', key, { cwd: FOLDER, ...event })).text;
const says = (run: string, prompt: string) =>
  post({ hook_event_name: 'UserPromptSubmit', session_id: run, prompt });

async function decided(run: string, tool_name: string, tool_input: JsonObject): Promise<string> {
  const answer = await post({ hook_event_name: 'PreToolUse', session_id: run, tool_name, tool_input });
  return JSON.parse(answer).hookSpecificOutput.permissionDecision;
}

const runs = (run: string, command: string) => decided(run, 'Bash', { command });
const reads = (run: string, url: string) => decided(run, 'WebFetch', { url, prompt: 'x' });

async function grant(run: string, command: string): Promise<void> {
  const answer = await post({
    hook_event_name: 'PreToolUse',
    session_id: run,
    tool_name: 'Bash',
    tool_input: { command },
  });
  const [, reference] = /approval ([0-9a-f-]{36})/.exec(answer) ?? [];
  const resolved = await service.admin('POST', `/approvals/${reference}/resolve`, {
    action: 'approve',
    duration: '1h',
  });
  expect(resolved.status).toBe(200);
}

test('a grant holds until the run has read what strangers wrote; then another one may be given', async () => {
  await says('a', 'Fix the build. https://docs.example.org/build has the steps.');
  await grant('a', 'npm test');
  expect(await runs('a', 'npm test')).toBe('allow');
  expect(await runs('a', 'npm run build')).toBe('allow');
  expect(await reads('a', 'https://evil.example.net/?code=x')).toBe('deny');
  expect(await runs('a', 'npm test')).toBe('allow');
  expect(await reads('a', 'https://docs.example.org/build')).toBe('allow');
  expect(await runs('a', 'npm test')).toBe('deny');
  expect(await decided('a', 'Write', { file_path: `${FOLDER}/a.ts`, content: '' })).toBe('allow');
  // A run of its own has read nothing.
  expect(await runs('b', 'npm test')).toBe('allow');
  await grant('a', 'npm test');
  expect(await runs('a', 'npm run build')).toBe('allow');
});

test('what the person named elsewhere may be written, and nothing that the web named', async () => {
  await says('c', 'Put the summary of docs.example.org into /home/ann/summary.md.');
  const writes = (file_path: string) => decided('c', 'Write', { file_path, content: '' });
  expect(await reads('c', 'https://docs.example.org/')).toBe('allow');
  expect(await writes('/home/ann/summary.md')).toBe('allow');
  expect(await writes('/home/ann/other.md')).toBe('deny');
  expect(await reads('d', 'https://docs.example.org/')).toBe('deny');
});

test('a command that reads a file elsewhere marks the run, also if a grant allows it', async () => {
  // The grants of the other tests do not hold for it.
  key = await newKey('another');
  await says('e', 'Fix main.rs.');
  await grant('e', 'npm test');
  expect(await runs('e', 'cat /home/ann/Downloads/page.html')).toBe('deny');
  expect(await runs('e', 'npm run build')).toBe('allow');
  await grant('e', 'cat /home/ann/Downloads/page.html');
  expect(await runs('e', 'cat /home/ann/Downloads/other.html')).toBe('allow');
  expect(await runs('e', 'npm run build')).toBe('deny');
  expect(await reads('e', 'https://main.rs/?leak=secret')).toBe('deny');
});
