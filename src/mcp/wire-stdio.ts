// The wire to a Connected Tool that is a child process, with one JSON message per line. Only commands from the
// operator's file are started, as an exact argv, with an environment that holds only what the file and an allow-list
// give. Standard error may repeat arguments, so it is counted and dropped. The process group of a child ends with this
// process, even if this process is killed.

import { type ChildProcess, spawn } from 'node:child_process';
import type { AnswerRation } from '../guard/rations/answer-ration.ts';
import type { StdioServer } from '../settings/server-file.ts';
import { Duplex } from './duplex.ts';
import { LineTooLong, readLines } from './lines.ts';
import { MAX_MESSAGE_BYTES } from './wire.ts';

/** Variables that programs need to run at all. None of them can hold a secret of ours. */
const PASSED_ON = ['PATH', 'HOME', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR', 'USER', 'LOGNAME', 'SHELL'];

/**
 * A shell runs this constant script and is then replaced by the command. Before that it starts a watcher, which waits
 * for the pipe on descriptor 3 to close. The pipe closes when this process ends, even by SIGKILL. The watcher then
 * kills the whole process group: the command and what it forked. The operator's words are "$@" and are never read as
 * shell.
 */
const WATCHED = '{ read -r _ <&3; kill -9 0; } & exec 3<&-; exec "$@"';
const CLOSE_MS = 2000;

export class StdioWire extends Duplex {
  readonly #child: ChildProcess;

  /** `onDropped` is given how many bytes of standard error were dropped. */
  constructor(
    server: StdioServer,
    stderr: 'drop' | 'inherit',
    onDropped: (bytes: number) => void,
    newRation: () => AnswerRation,
  ) {
    super(newRation);
    const stdio: ('pipe' | 'inherit')[] = ['pipe', 'pipe', stderr === 'inherit' ? 'inherit' : 'pipe', 'pipe'];
    this.#child = spawn('/bin/sh', ['-c', WATCHED, 'toolgate-stdio', server.command, ...server.args], {
      env: { ...passedOn(), ...server.env },
      stdio,
      detached: true,
    });
    this.#child.on('error', () => this.broken('the command could not be started'));
    this.#child.on('exit', code => this.#exited(code));
    this.#child.stdin?.on('error', () => this.broken('the command takes no messages'));
    if (this.#child.stdout !== null) this.#read(this.#child.stdout);
    this.#child.stderr?.on('data', ({ length }: Uint8Array) => onDropped(length));
  }

  protected write(text: string): Promise<void> {
    return new Promise((taken, failed) =>
      this.#child.stdin?.write(`${text}\n`, error => (error ? failed(error) : taken())),
    );
  }

  /** Ends the child's input first, as the protocol asks; later the watcher kills what is left of the group. */
  protected end(): void {
    this.#child.stdin?.end();
    setTimeout(() => this.#release(), CLOSE_MS);
  }

  #exited(code: number | null): void {
    this.broken(howItEnded(code));
    this.#release();
  }

  #release(): void {
    (this.#child.stdio[3] as { destroy?: () => void } | null)?.destroy?.();
  }

  /** Reads no more than it processes, so a command that writes faster has to wait. */
  async #read(stdout: AsyncIterable<Uint8Array>): Promise<void> {
    try {
      for await (const line of readLines(stdout, MAX_MESSAGE_BYTES)) {
        const waiting = this.take(line);
        if (waiting !== null) await waiting;
      }
    } catch (error) {
      const tooLong = error instanceof LineTooLong;
      this.broken(tooLong ? 'the command wrote a line that is too long' : 'the command cannot be read');
    }
  }
}

/** Explains the exit code. The shell that starts a command uses 126 and 127 when it cannot. */
function howItEnded(code: number | null): string {
  if (code === null) return `the command was killed; ${SHOWN}`;
  const ended = `the command ended with exit code ${code}`;
  if (code === 127)
    return `${ended}: not found; "command" in the server file is the program alone, its arguments go into "args"`;
  if (code === 126) return `${ended}: "command" in the server file names something that cannot be executed`;
  return `${ended}; ${SHOWN}`;
}

const SHOWN = 'TOOLGATE_STDIO_STDERR=inherit shows its output';

function passedOn(): Record<string, string> {
  return Object.fromEntries(
    PASSED_ON.flatMap(name => (process.env[name] ? [[name, process.env[name] as string]] : [])),
  );
}
