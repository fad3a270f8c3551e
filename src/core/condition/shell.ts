// `shell.commands(text)` of the condition language: the commands that a shell runs when it is given the text, each with its
// arguments after quotes are removed. It answers only for plain commands that sh, bash, dash and zsh read alike; everything
// that is expanded, redirected, nested or run by another command is a failure, which is null. test/core/condition compares it
// with real shells. It says what is run, not what a program does with its arguments: `find -exec` is a call of `find`.

import { isPlainCommand } from './shell-names.ts';

export interface ShellCommand {
  name: string;
  args: string[];
}

/** A command, and what separates it from the next one; null at the end. */
export interface ShellStep extends ShellCommand {
  then: string | null;
}

const MAX_LENGTH = 65_536;
/** Words, blanks, separators, and the parts of words that are quoted in different ways: about 2 ms of work. */
const MAX_PARTS = 4_000;

/** Control characters but tab and newline, and halves of characters, fail even in quotes. */
const UNCLEAR = /[^\P{Cc}\t\n]|\p{Cs}/u;

const BLANKS = /[ \t]*/y;
const BLANK_LINES = /[ \t\n]*/y;
const SEPARATOR = /&&|\|\|?|[;\n]/y;
const END_OF_WORD = /[ \t\n;&|]|$/y;
/** At the beginning of a word, also after empty quotes, zsh reads `=ls` as the path of ls, and `=` alone as it is. */
const PATH_OF = /=(?![ \t\n;&|]|$)/y;

/** Characters that no shell gives a meaning to inside a word. All others have to be quoted. */
const ORDINARY = /[A-Za-z0-9_\-./:,+@%=]+/y;
/** zsh can be set to read '' inside quotes as a quote, so no other quotes may follow. */
const SINGLE_QUOTED = /'([^']*)'(?!')/y;
const ESCAPED = /\\([ -~])/y;
const DOUBLE_QUOTE = /"/y;
/** `$` and a backtick begin an expansion, and so does `!` at a prompt. */
const IN_DOUBLE_QUOTES = /[^"\\$`!]+/y;
const ESCAPED_IN_DOUBLE_QUOTES = /\\([$`"\\])/y;
/** Before other characters a backslash stands for itself; before a newline it joins two lines. */
const BACKSLASH_IN_DOUBLE_QUOTES = /\\(?![\n!])/y;

/** Reads the text once, from the left. A method returns null, or false, at what it does not understand. */
class Reader {
  private at = 0;
  private parts = 0;
  private readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  steps(): ShellStep[] | null {
    const steps: ShellStep[] = [];
    this.take(BLANK_LINES);
    while (!this.atEnd()) {
      const words = this.words();
      if (words === null) return null;
      const [name, ...args] = words;
      if (name === undefined || !isPlainCommand(name, args)) return null;
      const then = this.atEnd() ? null : this.take(SEPARATOR);
      steps.push({ name, args, then });
      if (then === null) return this.atEnd() ? steps : null;
      this.take(BLANK_LINES);
      // After `&&`, `||` and `|`, another one has to follow.
      if (this.atEnd() && then !== ';' && then !== '\n') return null;
    }
    return steps.length === 0 ? null : steps;
  }

  private words(): string[] | null {
    const words: string[] = [];
    while (!this.sees(END_OF_WORD)) {
      const word = this.word();
      if (word === null) return null;
      words.push(word);
      this.take(BLANKS);
    }
    return words;
  }

  private word(): string | null {
    let word = '';
    while (!this.sees(END_OF_WORD)) {
      if (word === '' && this.sees(PATH_OF)) return null;
      const part =
        this.take(ORDINARY) ?? this.take(SINGLE_QUOTED) ?? this.take(ESCAPED) ?? this.doubleQuoted();
      if (part === null) return null;
      word += part;
    }
    return word;
  }

  private doubleQuoted(): string | null {
    if (this.take(DOUBLE_QUOTE) === null) return null;
    let quoted = '';
    while (this.text[this.at] !== '"') {
      const part =
        this.take(IN_DOUBLE_QUOTES) ??
        this.take(ESCAPED_IN_DOUBLE_QUOTES) ??
        this.take(BACKSLASH_IN_DOUBLE_QUOTES);
      if (part === null) return null;
      quoted += part;
    }
    this.at++;
    return quoted;
  }

  private atEnd(): boolean {
    return this.at === this.text.length;
  }

  private sees(pattern: RegExp): boolean {
    pattern.lastIndex = this.at;
    return pattern.test(this.text);
  }

  /** Goes past what the pattern matches here: its group, or all of it. */
  private take(pattern: RegExp): string | null {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found === null || ++this.parts > MAX_PARTS) return null;
    this.at = pattern.lastIndex;
    return found[1] ?? found[0];
  }
}

/** A text without any command fails, because `all` would be true of an empty list. */
export function shellCommands(text: string): ShellCommand[] | null {
  return shellSteps(text)?.map(({ name, args }) => ({ name, args })) ?? null;
}

/** The same, with what separates them. */
export function shellSteps(text: string): ShellStep[] | null {
  if (text.length > MAX_LENGTH || UNCLEAR.test(text)) return null;
  return new Reader(text).steps();
}
