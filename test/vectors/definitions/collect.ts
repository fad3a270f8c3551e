// Installs tool servers from npm and PyPI, asks each for `tools/list` over stdio, and writes honest.jsonl.gz: one line for
// each server, with the definitions of those whose licence allows to keep them. It needs the network and some minutes:
//   npx bun test/vectors/definitions/collect.ts <folder> [server …]
// The folder keeps what was installed. No server gets credentials; the ones that want some are given invented ones.

import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SERVERS, type Server } from './servers.ts';

const WAIT_MS = 60_000;
const FREE = /^(MIT|Apache-2\.0|MIT AND Apache-2\.0)$/;

export interface Collected {
  server: string;
  version: string;
  licence: string;
  count: number;
  /** Absent for a server whose licence is another than MIT or Apache 2.0. */
  tools?: Record<string, unknown>[];
}

const run = (command: string[], cwd: string) => {
  const { exitCode, stderr } = Bun.spawnSync(command, { cwd, stdout: 'ignore', stderr: 'pipe' });
  if (exitCode !== 0) throw new Error(`${command.join(' ')}: ${stderr.toString().slice(-500)}`);
};

/** Installs a server into its folder, and says how it is started, its version and its licence. */
function installed(server: Server, folder: string) {
  mkdirSync(folder, { recursive: true });
  return server.from === 'npm' ? fromNpm(server, folder) : fromPypi(server, folder);
}

function fromNpm({ name, version = 'latest', bin, args = [], licence }: Server, folder: string) {
  run(
    [
      'npm',
      'install',
      '--prefix',
      folder,
      '--ignore-scripts',
      '--no-audit',
      '--no-fund',
      `${name}@${version}`,
    ],
    folder,
  );
  const home = join(folder, 'node_modules', name);
  const about = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8'));
  const bins: Record<string, string> =
    typeof about.bin === 'string' ? { [name]: about.bin } : (about.bin ?? {});
  const script = bin === undefined ? Object.values(bins)[0] : bins[bin];
  if (script === undefined) throw new Error(`${name} has no such program`);
  return {
    command: ['node', join(home, script), ...args],
    version: about.version as string,
    licence: licence ?? licenceOf(about.license, home),
  };
}

function fromPypi({ name, version, bin = name, args = [] }: Server, folder: string) {
  run(['python3', '-m', 'venv', folder], folder);
  const python = join(folder, 'bin/python');
  run([python, '-m', 'pip', 'install', '-q', version === undefined ? name : `${name}==${version}`], folder);
  const ask = `import importlib.metadata as m, json; d = m.metadata(${JSON.stringify(name)}); print(json.dumps([d["Version"], d.get("License-Expression") or d.get("License") or "", d.get_all("Classifier") or []]))`;
  const [found, licence, classifiers] = JSON.parse(Bun.spawnSync([python, '-c', ask]).stdout.toString());
  const text = `${licence} ${classifiers.join(' ')}`;
  return { command: [join(folder, 'bin', bin), ...args], version: found as string, licence: spdx(text) };
}

/** Some packages only point to their licence file. */
function licenceOf(told: string | undefined, home: string): string {
  if (told !== undefined && !/^SEE LICENSE/.test(told)) return told;
  const file = readdirSync(home).find(each => /^licen[cs]e/i.test(each));
  return file === undefined ? 'unknown' : spdx(readFileSync(join(home, file), 'utf8'));
}

function spdx(text: string): string {
  const mit = /\bMIT\b/.test(text);
  const apache = /Apache(?:-| License| Software License)?/.test(text);
  if (mit && apache) return 'MIT AND Apache-2.0';
  return mit ? 'MIT' : apache ? 'Apache-2.0' : 'other';
}

async function toolsOf(command: string[], env: Record<string, string>, cwd: string) {
  const home = { PATH: process.env['PATH'] ?? '', HOME: cwd, ...env };
  const child = Bun.spawn(command, {
    cwd,
    env: home,
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: Bun.file(join(cwd, 'stderr.txt')),
  });
  const timer = setTimeout(() => child.kill(9), WAIT_MS);
  const lines = linesOf(child.stdout);
  let id = 0;
  const ask = async (method: string, params: object) => {
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: ++id, method, params })}\n`);
    child.stdin.flush();
    for (;;) {
      const { value, done } = await lines.next();
      if (done === true) throw new Error('it ended or took too long');
      if (!value.startsWith('{')) continue;
      const message = JSON.parse(value);
      if (message.id === id && message.method === undefined) {
        if (message.error !== undefined) throw new Error(message.error.message);
        return message.result;
      }
      if (message.method !== undefined && message.id !== undefined)
        child.stdin.write(
          `${JSON.stringify({ jsonrpc: '2.0', id: message.id, error: { code: -32601, message: 'no' } })}\n`,
        );
    }
  };
  try {
    const clientInfo = { name: 'collect', version: '1' };
    await ask('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo });
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })}\n`);
    const tools: Record<string, unknown>[] = [];
    for (let cursor: string | undefined, first = true; first || cursor !== undefined; first = false) {
      const page = await ask('tools/list', cursor === undefined ? {} : { cursor });
      tools.push(...page.tools);
      cursor = page.nextCursor;
    }
    return tools;
  } finally {
    clearTimeout(timer);
    child.kill(9);
  }
}

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string, undefined> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  return undefined;
}

const [folder, ...wanted] = process.argv.slice(2);
if (folder === undefined) throw new Error('Name a folder for what is installed.');
const file = join(import.meta.dirname, 'honest.jsonl.gz');
const known = new Map<string, Collected>();
try {
  const text = new TextDecoder().decode(Bun.gunzipSync(readFileSync(file)));
  for (const line of text.trim().split('\n')) {
    const each: Collected = JSON.parse(line);
    known.set(each.server, each);
  }
} catch {}
for (const server of SERVERS) {
  if (wanted.length > 0 && !wanted.includes(server.name)) continue;
  const home = join(folder, server.name.replaceAll(/[^\w.-]/g, '_'));
  try {
    const { command, version, licence } = installed(server, home);
    const tools = await toolsOf(command, server.env ?? {}, home);
    const about = { server: server.name, version, licence, count: tools.length };
    known.set(server.name, FREE.test(licence) ? { ...about, tools } : about);
    console.log(`${server.name} ${version} ${licence}: ${tools.length} tools`);
  } catch (error) {
    console.log(`${server.name}: left out, ${(error as Error).message}`);
  }
  rmSync(home, { recursive: true, force: true });
  const sorted = [...known.values()].sort((one, other) => (one.server < other.server ? -1 : 1));
  writeFileSync(file, Bun.gzipSync(sorted.map(each => `${JSON.stringify(each)}\n`).join(''), { level: 9 }));
}
