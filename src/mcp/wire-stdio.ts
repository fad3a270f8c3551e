// A Connected Tool as a child process, one JSON message per line. Only commands from the operator's file, as an
// exact argv, with an empty environment plus what the file and an allow-list give. Its standard error may repeat
// arguments, so it is counted and dropped. No child outlives us, however we end.

import { type ChildProcess, spawn } from 'node:child_process';
import type { StdioServer } from '../server-file.ts';
import { Duplex } from './duplex.ts';
import { MAX_MESSAGE_BYTES } from './wire.ts';

/** What programs need to run at all; nothing that could hold a secret of ours. */
const PASSED_ON = ['PATH', 'HOME', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR', 'USER', 'LOGNAME', 'SHELL'];

/**
 * The command replaces this constant script, whose only other part waits for the pipe on descriptor 3 to close,
 * which it does when we end, even by SIGKILL, and then kills the whole process group: the command and what it
 * forked. The operator's words are "$@" and are never read as shell.
 */
const WATCHED = '{ read -r _ <&3; kill -9 0; } & exec 3<&-; exec "$@"';
const CLOSE_MS = 2000;

export class StdioWire extends Duplex {
  readonly #child: ChildProcess;
  /** Of the line that is arriving: kept in pieces, so that each character is looked at once. */
  #pieces: string[] = [];
  #length = 0;
  /** Bytes of standard error that were dropped. */
  stderrBytes = 0;

  constructor(server: StdioServer, stderr: 'drop' | 'inherit') {
    super();
    const stdio: ('pipe' | 'inherit')[] = ['pipe', 'pipe', stderr === 'inherit' ? 'inherit' : 'pipe', 'pipe'];
    this.#child = spawn('/bin/sh', ['-c', WATCHED, 'toolgate-stdio', server.command, ...server.args], {
      env: { ...passedOn(), ...server.env },
      stdio,
      detached: true,
    });
    this.#child.on('error', () => this.broken('the command could not be started'));
    this.#child.on('exit', code => this.#exited(code));
    this.#child.stdin?.on('error', () => this.broken('the command takes no messages'));
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => this.#read(text));
    this.#child.stderr?.on('data', (bytes: Uint8Array) => {
      this.stderrBytes += bytes.length;
    });
  }

  protected write(text: string): void {
    this.#child.stdin?.write(`${text}\n`);
  }

  /** End of input first, as the protocol asks; then the watcher ends what is left of the group. */
  protected end(): void {
    this.#child.stdin?.end();
    setTimeout(() => this.#release(), CLOSE_MS);
  }

  #exited(code: number | null): void {
    this.broken(code === null ? 'the command was killed' : `the command ended with exit code ${code}`);
    this.#release();
  }

  #release(): void {
    (this.#child.stdio[3] as { destroy?: () => void } | null)?.destroy?.();
  }

  #read(text: string): void {
    let from = 0;
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', from)) {
      const line = (this.#pieces.join('') + text.slice(from, end)).trim();
      from = end + 1;
      this.#pieces = [];
      this.#length = 0;
      if (line !== '') this.take(line);
    }
    this.#pieces.push(text.slice(from));
    this.#length += text.length - from;
    if (this.#length > MAX_MESSAGE_BYTES) {
      this.#child.stdout?.destroy();
      this.#pieces = [];
      this.broken('the command wrote a line that is too long');
      this.#release();
    }
  }
}

function passedOn(): Record<string, string> {
  return Object.fromEntries(
    PASSED_ON.flatMap(name => (process.env[name] ? [[name, process.env[name] as string]] : [])),
  );
}
