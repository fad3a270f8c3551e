// A temporary home for `toolgate connect`. It is compared as a whole: every path with its mode and its bytes.

import { afterAll, expect } from 'bun:test';
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { run } from '../../../src/cli/program.ts';
import { type Captured, captured } from '../captured.ts';

export const KEY = 'tg_key_canary0123456789canary0123456789canary012345678';
const homes: string[] = [];
afterAll(() => {
  for (const home of homes) rmSync(home, { recursive: true, force: true });
});

export class Home {
  readonly folder = mkdtempSync(join(tmpdir(), 'toolgate-connect-'));
  readonly project = join(this.folder, 'project');

  constructor(files: Record<string, string> = {}) {
    homes.push(this.folder);
    mkdirSync(this.project);
    for (const [path, text] of Object.entries(files)) this.write(path, text);
  }

  write(path: string, text: string): void {
    mkdirSync(dirname(join(this.folder, path)), { recursive: true });
    writeFileSync(join(this.folder, path), text);
  }

  read(path: string): string {
    return readFileSync(join(this.folder, path), 'utf8');
  }

  mode(path: string): number {
    return lstatSync(join(this.folder, path)).mode & 0o777;
  }

  /** Everything that is here. */
  all(): Record<string, string> {
    const paths = readdirSync(this.folder, { recursive: true, encoding: 'utf8' }).sort();
    return Object.fromEntries(
      paths.map(path => {
        const full = join(this.folder, path);
        const about = lstatSync(full);
        const mode = (about.mode & 0o777).toString(8);
        if (about.isDirectory()) return [path, mode];
        return [
          path,
          about.isSymbolicLink() ? `-> ${readlinkSync(full)}` : `${mode} ${readFileSync(full, 'latin1')}`,
        ];
      }),
    );
  }

  /** Runs a command, and wants this exit code; a key is given and no question asked unless the words say otherwise. */
  async connect(
    words: string,
    code: number | null = null,
    env: Record<string, string> = {},
    answer?: string,
  ): Promise<Captured> {
    const io = captured(this.project, { HOME: this.folder, PATH: '', ...env }, answer);
    io.root = join(this.folder, 'machine');
    if (answer !== undefined) {
      Object.assign(io.stdin, { isTTY: true });
      Object.assign(io.stderr, { isTTY: true });
    }
    await run(['connect', ...words.split(' ')], io);
    expect([words, io.code, code === null ? io.err : '']).toEqual([
      words,
      code,
      code === null ? expect.any(String) : '',
    ]);
    expect(io.out + io.err).not.toContain(KEY);
    return io;
  }
}

export const withKey = { TOOLGATE_API_KEY: KEY };
