// The pack read-only, which looks at the names of tools and at what servers say about them, against the tools of real servers.

import { expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { run } from '../../src/cli/program.ts';
import { consider } from '../../src/core/decision/consider.ts';
import { decide } from '../../src/core/decision/decide.ts';
import { compilePolicy } from '../../src/core/policy/compiled-policy.ts';
import type { JsonObject } from '../../src/core/wire/json.ts';
import { captured } from '../cli/captured.ts';
import { ROOT } from '../support/service.ts';

interface Tool {
  name: string;
  readOnlyHint?: boolean;
  destructiveHint?: boolean;
}

const FOLDER = join(ROOT, 'packs');
const VECTORS = join(ROOT, 'test/vectors/servers');
const policy = compilePolicy({
  id: 'p',
  version: 1,
  ...parse(readFileSync(join(FOLDER, 'read-only.yaml'), 'utf8')),
});

function decided(toolName: string, annotations: JsonObject | null): string {
  const situation = {
    now: 0,
    surface: 'mcp',
    args: {},
    keyId: 'key',
    keyName: '',
    session: null,
    person: null,
    annotations,
  } as const;
  const considered = consider(policy, { serverName: 'any', toolName }, null, situation);
  return decide(considered, { drift: null, freedom: null, approvalLimit: null, usedUp: false }).decision;
}

const tools: Tool[] = readdirSync(VECTORS)
  .filter(file => file.endsWith('.json'))
  .flatMap(file => JSON.parse(readFileSync(join(VECTORS, file), 'utf8')).tools);

test('lint finds nothing', async () => {
  const io = captured(FOLDER);
  await run(['lint', '--strict', 'read-only.yaml'], io);
  expect([io.err, io.code ?? 0]).toEqual(['read-only.yaml: no problems\n', 0]);
});

test('every call gets the decision that its case wants', async () => {
  const io = captured(FOLDER);
  await run(['test', '--json', 'read-only.cases.yaml'], io);
  expect(JSON.parse(io.out)).toMatchObject({ calls: 73, failures: [] });
});

test('by their names alone, the tools of real servers that write are denied', () => {
  const allowed = tools.filter(({ name }) => decided(name, null) === 'allow');
  const writing = allowed.filter(tool => tool.readOnlyHint === false || tool.destructiveHint === true);
  // It reads, and writes a file if an argument says so.
  expect(writing.map(tool => tool.name)).toEqual(['get_network_request']);
  expect(allowed.length).toBeGreaterThan(120);
});

test('what a server says about its tool makes the decision stricter, and never looser', () => {
  expect(decided('get_issue', null)).toBe('allow');
  expect(decided('get_issue', {})).toBe('allow');
  expect(decided('get_issue', { readOnlyHint: true, destructiveHint: false })).toBe('allow');
  for (const annotations of [
    { readOnlyHint: false },
    { readOnlyHint: 'true' },
    { readOnlyHint: null },
    { destructiveHint: true },
    { readOnlyHint: true, destructiveHint: true },
  ])
    expect([annotations, decided('get_issue', annotations)]).toEqual([annotations, 'deny']);
  expect(decided('delete_issue', { readOnlyHint: true })).toBe('deny');
  expect(decided('browse', { readOnlyHint: true })).toBe('deny');
});
