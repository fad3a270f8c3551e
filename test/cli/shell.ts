// The command line as a person uses it: in a shell, in a folder of its own, as a process of its own; or in the test's
// process, for those who look at nothing but what a command prints and its exit code.

import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { run } from '../../src/cli/program.ts';
import { programOf } from '../support/service.ts';
import { captured } from './captured.ts';

export interface Ran {
  stdout: string;
  stderr: string;
  code: number;
}

/** A word that the shell leaves as it is, but for quotes. */
const WORD = /(?:[\w@%+=:,./-]|'[^']*'|"[^"$`\\]*")+/g;
const PLAIN = new RegExp(`^toolgate(?: ${WORD.source})*$`);

export class Shell {
  readonly folder = mkdtempSync(join(tmpdir(), 'toolgate-cli-'));
  readonly env: Record<string, string>;
  readonly #bin = mkdtempSync(join(tmpdir(), 'toolgate-bin-'));

  constructor(env: Record<string, string> = {}) {
    const program = programOf().map(quoted).join(' ');
    writeFileSync(join(this.#bin, 'toolgate'), `#!/bin/sh\nexec ${program} "$@"\n`);
    chmodSync(join(this.#bin, 'toolgate'), 0o755);
    this.env = { PATH: `${this.#bin}:${process.env['PATH']}`, HOME: this.folder, ...env };
  }

  file(name: string, text: string): void {
    mkdirSync(dirname(join(this.folder, name)), { recursive: true });
    writeFileSync(join(this.folder, name), text);
  }

  start(command: string, env: Record<string, string> = {}): Bun.Subprocess<'ignore', 'pipe', 'pipe'> {
    return Bun.spawn(['sh', '-c', command], {
      cwd: this.folder,
      env: { ...this.env, ...env },
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
    });
  }

  async run(command: string, env: Record<string, string> = {}): Promise<Ran> {
    const child = this.start(command, env);
    const [stdout, stderr, code] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ]);
    return { stdout, stderr, code };
  }

  /** The same without a process if it is one plain command, which takes a fraction of the CPU. */
  async answer(command: string): Promise<Ran> {
    if (!PLAIN.test(command)) return this.run(command);
    const [, ...args] = command.match(WORD) ?? [];
    const io = captured(this.folder, this.env);
    await run(args.map(unquoted), io);
    return { stdout: io.out, stderr: io.err, code: io.code ?? 0 };
  }

  close(): void {
    rmSync(this.folder, { recursive: true, force: true });
    rmSync(this.#bin, { recursive: true, force: true });
  }
}

/** An argument as the shell takes it literally. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

const unquoted = (word: string): string =>
  word.replace(/'([^']*)'|"([^"]*)"/g, (_, single?: string, double?: string) => single ?? double ?? '');
