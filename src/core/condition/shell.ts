// `shell.commands(text)` of the condition language: the commands that a shell runs when it is given the text, each with its
// arguments after quotes are removed. It answers only for plain commands that sh, bash, dash and zsh read alike; everything
// that is expanded, redirected, nested or run by another command is a failure, which is null. test/core/condition compares it
// with real shells. It says what is run, not what a program does with its arguments: `find -exec` is a call of `find`.

import { isPlainCommand } from './shell-names.ts';

export interface ShellCommand {
  name: string;
  args: string[];
}

const MAX_LENGTH = 65_536;

/** Characters that no shell gives a meaning to; of `=` and `%`, only inside a word. All others have to be quoted. */
const ORDINARY = /[A-Za-z0-9_\-./:,+@%=]/;
/** Control characters but tab and newline, and halves of characters, fail even in quotes. */
const UNCLEAR = /[^\P{Cc}\t\n]|\p{Cs}/u;
/** In double quotes these begin an expansion; `!` does so at a prompt. */
const EXPANDED = /[$`!]/;

/** Reads the text once, from the left. Every method returns null, or false, at what it does not understand. */
class Reader {
  private at = 0;
  private readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  commands(): ShellCommand[] | null {
    const commands: ShellCommand[] = [];
    this.skip(/[ \t\n]/);
    while (this.at < this.text.length) {
      const words = this.words();
      if (words === null) return null;
      const [name, ...args] = words;
      if (name === undefined || !isPlainCommand(name, args)) return null;
      commands.push({ name, args });
      if (!this.separator()) return null;
    }
    return commands.length === 0 ? null : commands;
  }

  /** Goes past what ends a command. False if a command has to follow and the text ends, or if something else stands here. */
  private separator(): boolean {
    const joined = ['&&', '||', '|'].find(operator => this.text.startsWith(operator, this.at));
    if (joined !== undefined) this.at += joined.length;
    else if (this.at < this.text.length && !this.take(';') && !this.take('\n')) return false;
    this.skip(/[ \t\n]/);
    return joined === undefined || this.at < this.text.length;
  }

  private words(): string[] | null {
    const words: string[] = [];
    while (this.at < this.text.length && !/[\n;&|]/.test(this.here())) {
      const word = this.word();
      if (word === null) return null;
      words.push(word);
      this.skip(/[ \t]/);
    }
    return words;
  }

  private word(): string | null {
    // zsh reads `=ls` as the path of ls, and `=` alone as it is.
    if (this.here() === '=' && !/[ \t\n;&|]/.test(this.text[this.at + 1] ?? '\n')) return null;
    let word = '';
    while (this.at < this.text.length && !/[ \t\n;&|]/.test(this.here())) {
      const part = this.part();
      if (part === null) return null;
      word += part;
    }
    return word;
  }

  private part(): string | null {
    const char = this.here();
    this.at++;
    if (char === "'") return this.singleQuoted();
    if (char === '"') return this.doubleQuoted();
    if (char === '\\') return this.escaped();
    return ORDINARY.test(char) ? char : null;
  }

  private singleQuoted(): string | null {
    const end = this.text.indexOf("'", this.at);
    // zsh can be set to read '' inside quotes as a quote.
    if (end === -1 || this.text[end + 1] === "'") return null;
    const quoted = this.text.slice(this.at, end);
    this.at = end + 1;
    return quoted;
  }

  private doubleQuoted(): string | null {
    let quoted = '';
    while (this.at < this.text.length) {
      const char = this.here();
      this.at++;
      if (char === '"') return quoted;
      if (EXPANDED.test(char)) return null;
      if (char !== '\\') quoted += char;
      else if (/[$`"\\]/.test(this.here())) quoted += this.text[this.at++];
      else if (this.here() === '\n') return null;
      else quoted += '\\';
    }
    return null;
  }

  private escaped(): string | null {
    const char = this.here();
    if (char === '' || char === '\n' || char > '~') return null;
    this.at++;
    return char;
  }

  private here(): string {
    return this.text[this.at] ?? '';
  }

  private take(char: string): boolean {
    if (this.here() !== char) return false;
    this.at++;
    return true;
  }

  private skip(chars: RegExp): void {
    while (this.at < this.text.length && chars.test(this.here())) this.at++;
  }
}

/** A text without any command fails, because `all` would be true of an empty list. */
export function shellCommands(text: string): ShellCommand[] | null {
  if (text.length > MAX_LENGTH || UNCLEAR.test(text)) return null;
  return new Reader(text).commands();
}
