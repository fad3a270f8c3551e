// Open Policy Agent: `opa run --server`, asked by HTTP for one value of a policy. With its decision log on the console it
// writes a line of JSON for each decision to its standard error, which is a file here.

import * as fs from 'node:fs';
import * as path from 'node:path';
import { freePort, onCore } from '../process.ts';
import { ARGUMENTS, type Place, start } from '../service.ts';
import type { Running, Subject } from '../subjects.ts';
import { executableOf } from './programs.ts';
import { ALLOWED, checkAnswers, JSON_HEADERS, post, RULES } from './rules.ts';

export async function openOpa(subject: Subject, logs: boolean, place: Place): Promise<Running> {
  const policy = path.join(place.folder, `${subject.name}.rego`);
  fs.writeFileSync(policy, rego());
  const port = freePort();
  const server = await start(
    subject.name,
    onCore(0, [
      ...[executableOf('opa'), 'run', '--server', '--addr', `127.0.0.1:${port}`, '--skip-version-check'],
      // Otherwise it also writes two lines for each request. The decision log does not depend on it.
      ...['--log-level', 'error', '--set', `decision_logs.console=${logs}`, policy],
    ]),
    {},
    place,
    { port, health: '/health' },
  );
  const url = `${server.url}/v1/data/toolgate/allow`;
  return {
    subject,
    server,
    request: { url, headers: JSON_HEADERS, body: body(ALLOWED) },
    check: () => checkAnswers(tool => post(url, body(tool)), '"result":true'),
    databaseMicroseconds: () => null,
  };
}

const body = (tool: string): string => JSON.stringify({ input: { tool, args: ARGUMENTS } });

function rego(): string {
  const rules = RULES.map(({ tool, action }) =>
    action === 'deny' ? `denied if ${condition(tool)}` : `allow if {\n\tnot denied\n\t${condition(tool)}\n}`,
  );
  return ['package toolgate', 'default allow := false', ...rules].join('\n\n');
}

function condition(pattern: string): string {
  if (pattern.endsWith('*')) return `startswith(input.tool, "${pattern.slice(0, -1)}")`;
  if (pattern.startsWith('*')) return `endswith(input.tool, "${pattern.slice(1)}")`;
  return `input.tool == "${pattern}"`;
}
