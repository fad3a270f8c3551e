// The common part of all strict readers of YAML files: parsing the file, refusing unknown fields, and reporting a fault
// with file and line. Each reader interprets its own file.

import { isScalar, LineCounter, type Node, parseDocument, type YAMLMap } from 'yaml';
import { CliError } from './exit.ts';
import { type IO, shownFile } from './io.ts';

export abstract class YamlReader {
  protected readonly io: IO;
  protected readonly file: string;
  protected readonly text: string;
  readonly #exitCode: number;
  readonly #lines = new LineCounter();

  /** `exitCode` is the exit code of the command after a fault in the file. */
  constructor(io: IO, file: string, text: string, exitCode: number) {
    this.io = io;
    this.file = file;
    this.text = text;
    this.#exitCode = exitCode;
  }

  protected root(): Node | null {
    const document = parseDocument(this.text, { lineCounter: this.#lines, uniqueKeys: true, version: '1.2' });
    const [error] = document.errors;
    if (error !== undefined) throw this.wrong(error.pos[0], error.message.split('\n')[0] ?? 'cannot be read');
    return document.contents;
  }

  protected known(map: YAMLMap, fields: readonly string[], what: string): void {
    for (const { key } of map.items) {
      const name = isScalar(key) ? String(key.value) : '?';
      if (fields.includes(name)) continue;
      throw this.wrong(offset(key), `unknown field "${name}" in ${what}; known: ${fields.join(', ')}`);
    }
  }

  protected line(at: number): number {
    return Math.max(this.#lines.linePos(at).line, 1);
  }

  protected wrong(at: number, message: string): CliError {
    return new CliError(this.#exitCode, `${shownFile(this.file)}:${this.line(at)}: ${message}.`);
  }
}

export function offset(node: unknown): number {
  return (node as Node | null | undefined)?.range?.[0] ?? 0;
}
