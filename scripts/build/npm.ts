// Makes the npm packages: the bundled service, whose only dependency is the runtime, and the compiled TypeScript
// client. Each is put together in a temporary folder and packed from there, so that the tree stays clean.

import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packagesOf, requireExtra } from '../extras.ts';
import { bundle, ROOT } from './bundle.ts';
import { notices } from './notices.ts';

type Manifest = Record<string, unknown> & { name: string; version: string };

export async function packService(to: string): Promise<string> {
  const folder = newFolder();
  const inputs = await bundle(join(folder, 'lib'));
  const { name, version, description, license, type, engines, bin, dependencies } = manifest('.');
  const { bun } = dependencies as Record<string, string>;
  const files = ['bin', 'lib', 'packs', 'THIRD-PARTY.txt'];
  const own = { name, version, description, license, type, engines, bin, files, dependencies: { bun } };
  writeJson(join(folder, 'package.json'), own);
  writeFileSync(join(folder, 'THIRD-PARTY.txt'), notices(inputs));
  writeLauncher(join(folder, 'bin'));
  cpSync(join(ROOT, 'packs'), join(folder, 'packs'), { recursive: true });
  copyFileSync(join(ROOT, 'LICENSE'), join(folder, 'LICENSE'));
  copyFileSync(join(ROOT, 'README.md'), join(folder, 'README.md'));
  return pack(folder, to);
}

export function packClient(to: string): string {
  requireExtra('scripts');
  const folder = newFolder();
  const client = join(ROOT, 'clients/typescript');
  run([packagesOf('scripts', '.bin/tsc'), '-p', client, '--outDir', join(folder, 'dist')], ROOT);
  const { scripts: _, ...published } = manifest('clients/typescript');
  writeJson(join(folder, 'package.json'), published);
  for (const file of ['LICENSE', 'README.md']) copyFileSync(join(client, file), join(folder, file));
  return pack(folder, to);
}

function writeLauncher(folder: string): void {
  const launcher = readFileSync(join(ROOT, 'bin/toolgate'), 'utf8');
  const packed = launcher.replace('src/cli/main.ts', 'lib/main.js');
  if (packed === launcher) throw new Error('bin/toolgate does not start src/cli/main.ts');
  mkdirSync(folder);
  writeFileSync(join(folder, 'toolgate'), packed);
  chmodSync(join(folder, 'toolgate'), 0o755);
}

/** Packs the folder, removes it, and returns the path of the tarball. */
function pack(folder: string, to: string): string {
  const { name, version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;
  const tarball = join(to, `${name.replace('@', '').replace('/', '-')}-${version}.tgz`);
  run([process.execPath, 'pm', 'pack', '--ignore-scripts', '--filename', tarball], folder);
  rmSync(folder, { recursive: true });
  return tarball;
}

function manifest(path: string): Manifest {
  return JSON.parse(readFileSync(join(ROOT, path, 'package.json'), 'utf8'));
}

function writeJson(path: string, value: unknown): void {
  writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`);
}

function newFolder(): string {
  return mkdtempSync(join(tmpdir(), 'toolgate-build-'));
}

function run(command: string[], cwd: string): void {
  const { exitCode, stdout, stderr } = Bun.spawnSync(command, { cwd, stdout: 'pipe', stderr: 'pipe' });
  if (exitCode !== 0) throw new Error(`${command.join(' ')} failed:\n${stdout}${stderr}`);
}
