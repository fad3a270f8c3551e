// Transcripts: what a person types and what comes back. A file holds `=== name` … `===` blocks (files to make
// first), and commands after `$ `, each followed by its stdout, its stderr (lines after `2> `) and its exit code
// (`-> 0`). Ids, tokens and times are named by the order in which they appear (`<id:1>`), and stand for their
// values in later commands. With TOOLGATE_TEST_RECORD=1 the answers are written down anew.

import type { Shell } from './shell.ts';

export interface Step {
  command: string;
  expected: string;
}

export interface Transcript {
  /** Everything before the first command, as it stands. */
  head: string;
  files: { name: string; text: string }[];
  steps: Step[];
}

export function parseTranscript(text: string): Transcript {
  const first = text.search(/^\$ /m);
  const head = text.slice(0, first);
  const files = [...head.matchAll(/^=== (.+)\n((?:.|\n)*?)^===$/gm)].map(found => ({
    name: found[1] as string,
    text: found[2] as string,
  }));
  const steps = text
    .slice(first)
    .split(/^\$ /m)
    .slice(1)
    .map(part => {
      const end = part.indexOf('\n');
      return { command: part.slice(0, end), expected: part.slice(end + 1).trimEnd() };
    });
  return { head, files, steps };
}

export function formatTranscript({ head, steps }: Transcript): string {
  return head + steps.map(({ command, expected }) => `$ ${command}\n${expected}\n`).join('\n');
}

/** What running a transcript gives. */
export async function play(shell: Shell, { head, files, steps }: Transcript): Promise<Transcript> {
  for (const { name, text } of files) shell.file(name, text);
  const names = new Names();
  const played: Step[] = [];
  for (const { command } of steps) {
    const { stdout, stderr, code } = await shell.answer(names.valuesIn(command));
    const errors = stderr.replace(/^(?=.)/gm, '2> ');
    const answer = `${lined(sortedJson(stdout))}${lined(errors)}-> ${code}`;
    played.push({ command, expected: names.namesIn(answer).replaceAll(shell.folder, '<folder>') });
  }
  return { head, files, steps: played };
}

/** The order of fields is the service's business: JSON is written down with its names sorted. */
function sortedJson(text: string): string {
  try {
    return `${JSON.stringify(JSON.parse(text), sortNames, 2)}\n`;
  } catch {
    return text;
  }
}

function sortNames(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function lined(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}

const VOLATILE = [
  ['id', /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g],
  ['key', /tg_key_[0-9A-Za-z]{49}/g],
  ['session', /tg_ses_[0-9A-Za-z]{49}/g],
  ['link', /(?<=[?&]token=)[\w-]{43}/g],
  ['secret', /whsec_[0-9A-Za-z+/]{43}=/g],
] as const;

const ERASED = [
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, '<time>'],
  [/(tg_(?:key|ses)_)[0-9A-Za-z]{6}(?=…|")/g, '$1<6>'],
  [/("(?:latencyMs|durationMs|grantExpiresAt)": ?)\d+/g, '$1<n>'],
  [/\d+ ms\b/g, '<n> ms'],
  [/[\d.]+ KiB/g, '<n> KiB'],
  [/http:\/\/127\.0\.0\.1:\d{4,5}/g, '<service>'],
] as const;

class Names {
  readonly #names = new Map<string, string>();
  readonly #values = new Map<string, string>();

  namesIn(text: string): string {
    let named = text;
    for (const [kind, pattern] of VOLATILE) named = named.replace(pattern, value => this.#name(kind, value));
    for (const [pattern, word] of ERASED) named = named.replace(pattern, word);
    return named;
  }

  valuesIn(command: string): string {
    return command.replace(/<(?:id|key|session|link|secret):\d+>/g, name => {
      const value = this.#values.get(name);
      if (value === undefined) throw new Error(`${name} has not appeared before: ${command}`);
      return value;
    });
  }

  #name(kind: string, value: string): string {
    const known = this.#names.get(value);
    if (known !== undefined) return known;
    const count = [...this.#values.keys()].filter(name => name.startsWith(`<${kind}:`)).length;
    const name = `<${kind}:${count + 1}>`;
    this.#names.set(value, name);
    this.#values.set(name, value);
    return name;
  }
}
