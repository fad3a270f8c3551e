// A command's access to its environment: its streams, environment variables, folder and exit code. Data goes to stdout
// and messages to stderr. Colours appear on terminals only, and never with NO_COLOR.

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { styleText } from 'node:util';
import { visible } from '../core/text/visible.ts';
import { CliError, EXIT } from './exit.ts';

export type Format = Parameters<typeof styleText>[0];

export interface Output {
  readonly isTTY: boolean;
  write: (text: string) => void;
  /** For long streams: false once the reader has gone away. */
  send: (chunk: Uint8Array) => Promise<boolean>;
  style: (format: Format, text: string) => string;
}

export interface IO {
  stdout: Output;
  stderr: Output;
  stdin: { readonly isTTY: boolean; text: () => Promise<string>; line: () => Promise<string> };
  env: Record<string, string | undefined>;
  cwd: string;
  /** The folder below which the settings of the whole machine are. It is empty except in tests. */
  root: string;
  exit: (code: number) => void;
  /** Aborted on Ctrl-C. A command that takes the signal is no longer ended by Ctrl-C itself. */
  interrupted: () => AbortSignal;
}

export function systemIo(): IO {
  return {
    stdout: output(process.stdout),
    stderr: output(process.stderr),
    stdin: { isTTY: process.stdin.isTTY === true, text: () => Bun.stdin.text(), line: firstLine },
    env: process.env,
    cwd: process.cwd(),
    root: '',
    exit: code => {
      process.exitCode = code;
    },
    interrupted,
  };
}

function output(stream: NodeJS.WriteStream): Output {
  // A reader that goes away (`| head`) is not an error and must not change the exit code.
  stream.on('error', () => {});
  return {
    isTTY: stream.isTTY === true,
    write: text => {
      stream.write(text);
    },
    send: chunk => new Promise(done => stream.write(chunk, error => done(!error))),
    style: (format, text) => styleText(format, text, { stream }),
  };
}

async function firstLine(): Promise<string> {
  for await (const line of console) return line;
  return '';
}

function interrupted(): AbortSignal {
  const controller = new AbortController();
  // The signal may arrive twice: from the terminal, and passed on by the launcher.
  process.on('SIGINT', () => controller.abort());
  return controller.signal;
}

/** Writes a message for the user: one line on stderr, without control sequences. */
export function say(io: IO, text: string): void {
  io.stderr.write(`${visible(text)}\n`);
}

/** The text of a file, or of standard input when its name is `-`. */
export async function readText(io: IO, file: string): Promise<string> {
  if (file === '-') return io.stdin.text();
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(resolve(io.cwd, file)));
  } catch (error) {
    const why =
      error instanceof TypeError ? 'it is not UTF-8 text' : reasonOf(error as NodeJS.ErrnoException);
    throw new CliError(EXIT.noAnswer, `${file} cannot be read: ${why}.`, { cause: error });
  }
}

const REASONS: Record<string, string> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a folder',
  EACCES: 'permission denied',
};

function reasonOf(error: NodeJS.ErrnoException): string {
  return REASONS[error.code ?? ''] ?? error.message;
}

/** The name of a file in messages. */
export function shownFile(file: string): string {
  return file === '-' ? '<stdin>' : visible(file);
}
