// Every message that a person can meet is understood without the source at hand. The messages are data
// (messages.yaml); here each is brought about for real, and must say so, without a stack and without a secret.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { Toolgate } from '../../clients/typescript/src/index.ts';
import { mintToken } from '../../src/guard/secrets.ts';
import { need } from '../support/need.ts';
import { sharedPostgres } from '../support/postgres.ts';
import { ADMIN_TOKEN, BUN, onPath, ROOT, startService, type TestService } from '../support/service.ts';

interface Case {
  start?: Record<string, string>;
  ask?: string;
  headers?: Record<string, string>;
  body?: unknown;
  run?: string;
  client?: 'typescript' | 'python';
  says: string;
}

const cases: Case[] = parse(await Bun.file(join(import.meta.dir, 'messages.yaml')).text());
const NOWHERE = 'http://127.0.0.1:1';

let service: TestService;
let folder: string;
/** What {…} stands for. */
const words: Record<string, string> = { admin: ADMIN_TOKEN, unknown: mintToken('key').token };

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'toolgate-messages-'));
  writeFileSync(join(folder, 'file'), 'This is no database, and no folder.'.repeat(100));
  writeFileSync(join(folder, 'empty'), '');
  service = await startService();
  const { key } = await service.newKey([{ tool: '*', action: 'allow' }]);
  for (const name of ['plain', 'two words']) {
    const { body } = await service.admin('GET', '/policies');
    const made = await service.admin('POST', '/keys', { name, policyId: body.policies[0].id });
    const down = { name: 'down', transport: 'http', url: `${NOWHERE}/mcp` };
    await service.admin('POST', `/keys/${made.body.id}/connected-tools`, down);
  }
  const postgres = await (await sharedPostgres())?.createDatabase();
  const server = postgres?.replace(/\/[^/]*$/, '') ?? '';
  Object.assign(words, { folder, key, url: service.url, port: new URL(service.url).port, postgres: server });
});
afterAll(async () => {
  await service?.close();
  rmSync(folder, { recursive: true, force: true });
});

const filled = (text: string): string => text.replace(/\{(\w+)\}/g, (whole, name) => words[name] ?? whole);
const allFilled = (texts: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, filled(text)]));

/** What a command prints, in the test's folder and with nothing of ours in its environment. */
async function printed(command: string[], env: Record<string, string>): Promise<string> {
  const child = Bun.spawn(command, {
    cwd: folder,
    env: { PATH: process.env['PATH'] ?? '', HOME: folder, ...env },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [out, err] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return out + err;
}

const PROGRAM = [BUN, join(ROOT, 'src/cli/main.ts')];

async function tellsStarting({ as: user, ...env }: Record<string, string>): Promise<string> {
  const given = {
    TOOLGATE_PORT: '0',
    TOOLGATE_DATA_DIR: join(folder, crypto.randomUUID()),
    ...allFilled(env),
  };
  // Even root is refused the port once it has given up that right.
  const wrap =
    user === undefined || process.getuid?.() !== 0
      ? []
      : ['setpriv', '--bounding-set=-net_bind_service', '--inh-caps=-net_bind_service'];
  return printed([...wrap, ...PROGRAM, 'serve'], given);
}

async function tellsAsking({ ask = '', headers = {}, body }: Case): Promise<string> {
  const [method = '', path = ''] = ask.split(' ');
  const init = body === undefined ? {} : { body: new Blob([JSON.stringify(body)]) };
  const reply = await service.request(method, path, { headers: allFilled(headers), ...init });
  return [
    reply.body.detail,
    ...(reply.body.errors ?? []).map((each: { message: string }) => each.message),
  ].join('\n');
}

function tellsRunning(line: string): Promise<string> {
  const args = [...filled(line).matchAll(/"([^"]*)"|(\S+)/g)].map(
    ([, quoted, plain]) => quoted ?? plain ?? '',
  );
  return printed([...PROGRAM, ...args], {
    TOOLGATE_BASE_URL: service.url,
    TOOLGATE_ADMIN_TOKEN: ADMIN_TOKEN,
    TOOLGATE_DATA_DIR: service.dataDir,
  });
}

const IN_PYTHON = `
import toolgate
try:
    toolgate.Toolgate(key="{key}", base_url="${NOWHERE}", retries=0).check("a", "b")
except toolgate.ToolgateError as error:
    print(error)`;

function tellsClient(client: string): Promise<string> {
  if (client === 'python')
    return printed(['python3', '-c', filled(IN_PYTHON)], { PYTHONPATH: join(ROOT, 'clients/python') });
  const gate = new Toolgate({ key: words['key'] as string, baseUrl: NOWHERE, retries: 0 });
  return gate.check('a', 'b').then(
    () => 'an answer',
    (error: Error) => error.message,
  );
}

function tells(each: Case): Promise<string> {
  if (each.start !== undefined) return tellsStarting(each.start);
  if (each.run !== undefined) return tellsRunning(each.run);
  if (each.client !== undefined) return tellsClient(each.client);
  return tellsAsking(each);
}

/** Whether this machine can bring the case about. */
function possible({ start, client }: Case): boolean {
  if (client === 'python') return need(onPath('python3'), 'python3');
  if (start?.['as'] !== undefined) return need(process.getuid?.() !== 0 || onPath('setpriv'), 'setpriv');
  if (start?.['TOOLGATE_DATABASE_URL']?.startsWith('{postgres}'))
    return need(words['postgres'] !== '', 'PostgreSQL');
  return true;
}

describe('a message says what was wrong, where, and what to do', () => {
  for (const each of cases) {
    const what = each.ask ?? each.run ?? each.client ?? JSON.stringify(each.start);
    test(`${what}: ${each.says}`, async () => {
      if (!possible(each)) return;
      const told = await tells(each);
      expect(told).toContain(filled(each.says));
      expect(told).not.toMatch(/\n\s+at /);
      expect(told).not.toContain('secret@');
    });
  }
});
