// Writes the audit log as it arrives. A file gets its name only when it is complete. The progress is shown on stderr,
// repeatedly on a terminal and otherwise once at the end.

import { createWriteStream, renameSync, rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { CliError, EXIT } from './exit.ts';
import { type Http, type Query, Unreachable } from './http.ts';
import type { IO } from './io.ts';

const PROGRESS_MS = 200;
const NEWLINE = 10;

/** False once the reader has gone away. */
type Send = (chunk: Uint8Array) => Promise<boolean>;

export async function exportTo(
  io: IO,
  http: Http,
  path: string,
  query: Query,
  { output, json }: { output?: string; json?: boolean },
): Promise<void> {
  const stream = await http.stream(path, query, io.interrupted());
  const progress = new Progress(io, query['format'] === 'csv' ? 1 : 0);
  if (output === undefined) await pump(stream, io.stdout.send, progress);
  else await toFile(output, resolve(io.cwd, output), send => pump(stream, send, progress));
  progress.end(output);
  if (json && output !== undefined)
    io.stdout.write(`${JSON.stringify({ entries: progress.entries, output })}\n`);
}

async function pump(stream: ReadableStream<Uint8Array>, send: Send, progress: Progress): Promise<void> {
  try {
    for await (const chunk of stream) {
      if (!(await send(chunk))) return;
      progress.add(chunk);
    }
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw new Unreachable(`The export broke off after ${progress.entries} entries.`, error);
  }
}

async function toFile(shown: string, path: string, write: (send: Send) => Promise<void>): Promise<void> {
  const part = `${path}.part`;
  const file = createWriteStream(part, { mode: 0o600 });
  const failed = new Promise<never>((_, reject) => {
    file.on('error', error => reject(unwritable(shown, error)));
  });
  const send: Send = chunk =>
    Promise.race([failed, new Promise<boolean>(done => file.write(chunk, error => done(!error)))]);
  try {
    await Promise.race([failed, write(send)]);
    await Promise.race([failed, new Promise<void>(done => file.end(done))]);
    renameSync(part, path);
  } catch (error) {
    file.destroy();
    rmSync(part, { force: true });
    throw error;
  }
}

function unwritable(shown: string, error: NodeJS.ErrnoException): CliError {
  const why = error.code === 'ENOENT' ? 'there is no such folder' : (error.message.split(',')[0] ?? '');
  return new CliError(EXIT.noAnswer, `${shown} cannot be written: ${why}.`);
}

class Progress {
  readonly #io: IO;
  #lines: number;
  #bytes = 0;
  #shownAt = 0;

  constructor(io: IO, headings: number) {
    this.#io = io;
    this.#lines = -headings;
  }

  get entries(): number {
    return Math.max(this.#lines, 0);
  }

  add(chunk: Uint8Array): void {
    this.#bytes += chunk.length;
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, at + 1)) this.#lines++;
    if (!this.#io.stderr.isTTY || Date.now() - this.#shownAt < PROGRESS_MS) return;
    this.#shownAt = Date.now();
    this.#io.stderr.write(`\r${this.#text()}`);
  }

  end(output: string | undefined): void {
    const start = this.#io.stderr.isTTY ? '\r' : '';
    this.#io.stderr.write(`${start}${this.#text()}${output === undefined ? '' : ` in ${output}`}\n`);
  }

  #text(): string {
    const noun = this.entries === 1 ? 'entry' : 'entries';
    return `${this.entries} ${noun}, ${(this.#bytes / 1024).toFixed(1)} KiB`;
  }
}
