// What `npm run build` makes, built once for the test file that asks, into a folder of its own.

import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BUN, ROOT } from '../support/service.ts';

export interface Built {
  executable: string;
  /** What the build printed. */
  said: string;
  /** The one file of that kind, or an error that names what is there. */
  file: (folder: 'npm' | 'python', pattern: RegExp) => string;
  remove: () => void;
}

/** The parts as `npm run build` names them. */
export async function build(parts: string[]): Promise<Built> {
  const dist = mkdtempSync(join(tmpdir(), 'toolgate-dist-'));
  const said = await output([BUN, 'scripts/build.ts', ...parts, '--to', dist], ROOT);
  const file = (folder: string, pattern: RegExp) => {
    const found = readdirSync(join(dist, folder)).filter(name => pattern.test(name));
    if (found.length !== 1) throw new Error(`${found.length} files like ${pattern} in ${folder}`);
    return join(dist, folder, found[0] as string);
  };
  const executable = join(dist, 'toolgate');
  if (!existsSync(executable)) throw new Error(said);
  return { executable, said, file, remove: () => rmSync(dist, { recursive: true, force: true }) };
}

/** Standard output of a command that must succeed. */
export async function output(
  command: string[],
  cwd: string,
  env: Record<string, string | undefined> = process.env,
): Promise<string> {
  const { code, stdout, stderr } = await ran(command, cwd, env);
  if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}:\n${stdout}${stderr}`);
  return stdout;
}

export async function ran(
  command: string[],
  cwd: string,
  env: Record<string, string | undefined> = process.env,
): Promise<{ code: number; stdout: string; stderr: string }> {
  const child = Bun.spawn(command, { cwd, env, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, stdout, stderr };
}
