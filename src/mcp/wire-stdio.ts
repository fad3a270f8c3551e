// The wire to a Connected Tool that is a child process, with one JSON message per line. Only commands from the
// operator's file are started, as an exact argv, with an environment that holds only what the file and an allow-list
// give. Standard error may repeat arguments, so it is counted and dropped. The process group of a child ends with this
// process, even if this process is killed. A command with a sandbox is started and watched by sandbox/ instead.

import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import type { AnswerRation } from '../guard/rations/answer-ration.ts';
import type { StdioServer } from '../settings/server-file.ts';
import { Duplex } from './duplex.ts';
import { LineTooLong, readLines } from './lines.ts';
import { type Confined, confine, confinementFault } from './sandbox/confine.ts';
import { type Report, TALK } from './sandbox/plan.ts';
import { MAX_MESSAGE_BYTES, UpstreamError } from './wire.ts';

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
const NOT_STARTED = 'the command was not started';

/** More is no report. */
const MAX_REPORT_BYTES = 64 * 1024;

interface Options {
  stderr: 'drop' | 'inherit';
  /** Given how many bytes of standard error were dropped. */
  onDropped: (bytes: number) => void;
  newRation: () => AnswerRation;
  /** Whether several keys call the command. */
  isShared?: () => boolean;
}

export class StdioWire extends Duplex {
  readonly #child: ChildProcess;

  /** Rejects with an UpstreamError if the command has a sandbox that cannot be enforced here. */
  static async open(server: StdioServer, options: Options): Promise<StdioWire> {
    const fault = await confinementFault(server);
    if (fault !== null) throw new UpstreamError(`${NOT_STARTED}: ${fault}`);
    return new StdioWire(server, options, await confine(server, environmentOf(server)));
  }

  /** For a command without a sandbox. `open` says how one with a sandbox is started. */
  constructor(
    server: StdioServer,
    { stderr, onDropped, newRation, isShared }: Options,
    confined: Confined | null = null,
  ) {
    super(newRation, isShared);
    const stdio: ('pipe' | 'inherit')[] = ['pipe', 'pipe', stderr === 'inherit' ? 'inherit' : 'pipe', 'pipe'];
    const watched = ['/bin/sh', '-c', WATCHED, 'toolgate-stdio', server.command, ...server.args];
    const [program = '', ...args] = confined?.argv ?? watched;
    const env = confined === null ? environmentOf(server) : {};
    this.#child = spawn(program, args, { env, stdio, detached: true });
    this.#child.on('error', () => this.broken('the command could not be started'));
    if (confined === null) this.#child.on('exit', code => this.#exited(code));
    else this.#confine(confined);
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

  /** Tells the supervisor what to start, and waits for its report, which it closes the channel after. */
  #confine({ plan }: Confined): void {
    const channel = this.#child.stdio[TALK] as Socket;
    let said = '';
    const over = () => this.broken(howItWasReported(said));
    channel.setEncoding('utf8').on('data', (text: string) => {
      if (said.length < MAX_REPORT_BYTES) said += text;
      if (said.endsWith('\n')) over();
    });
    channel.on('error', over).on('close', over);
    channel.write(plan);
  }

  #release(): void {
    (this.#child.stdio[TALK] as { destroy?: () => void } | null)?.destroy?.();
  }

  /** Reads no more than it processes, so a command that writes faster has to wait. */
  async #read(stdout: AsyncIterable<Uint8Array>): Promise<void> {
    try {
      for await (const line of readLines(stdout, MAX_MESSAGE_BYTES, this.tooLong)) {
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

function howItWasReported(said: string): string {
  if (!said.endsWith('\n')) return 'the command was ended, because what watches it has failed';
  const report = JSON.parse(said) as Report;
  if (report.kind === 'failed') return `${NOT_STARTED}: ${report.why}`;
  return report.why === null ? howItEnded(report.code) : `the command was ended: ${report.why}`;
}

const SHOWN = 'TOOLGATE_STDIO_STDERR=inherit shows its output';

function environmentOf(server: StdioServer): Record<string, string> {
  return { ...passedOn(), ...server.env };
}

function passedOn(): Record<string, string> {
  return Object.fromEntries(
    PASSED_ON.flatMap(name => (process.env[name] ? [[name, process.env[name] as string]] : [])),
  );
}
