// The text of a configuration file as it may be shown: names stay, and of the values only those that are ours, numbers
// and truth values. What others keep there may be a secret whatever it is called: a header, an argument, a comment.

import type { Entry, Format } from '../../core/clients/client.ts';
import { textsIn } from '../../core/wire/json.ts';

const HIDDEN = '…';

/** The same lines, with nothing of anybody else but names. */
export function withoutSecrets(text: string, format: Format, entries: readonly Entry[]): string {
  const own = new Set(entries.flatMap(({ value }) => textsIn(value)));
  const marks = entries.flatMap(({ mark }) => mark ?? []);
  const isOurs = (value: string): boolean => own.has(value) || marks.some(mark => mark.test(value));
  return format === 'yaml' ? ofYaml(text, isOurs) : ofQuoted(text, format, isOurs);
}

type IsOurs = (value: string) => boolean;

const COMMENTS = { json: String.raw`\/\/[^\n]*|\/\*[\s\S]*?\*\/`, toml: '#[^\\n]*' };
const STRINGS = String.raw`"""[\s\S]*?"""|'''[\s\S]*?'''|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'`;
/** What stands outside of texts and is harmless: names before a sign, numbers, truth values, and signs. */
const PLAIN =
  /\[[\w.\- ]*\]?|[\w.-]+(?=\s*=)|-?[\d.]+(?:[eE][+-]?\d+)?\b|(?:true|false|null)\b|[\s{}\]:,=.]+/y;
/** Anything else, up to the next sign. */
const WORD = /[^\s{}[\]:,="'#]+|[\s\S]/y;

function ofQuoted(text: string, format: 'json' | 'toml', isOurs: IsOurs): string {
  const token = new RegExp(`(${COMMENTS[format]})|(${STRINGS})(?=(\\s*[:=\\].])?)`, 'y');
  const shown: string[] = [];
  for (let at = 0; at < text.length; ) {
    const [found = '', comment, string, sign] = next(token, text, at) ?? [];
    const plain = found === '' ? (next(PLAIN, text, at)?.[0] ?? '') : '';
    const word = found + plain === '' ? (next(WORD, text, at)?.[0] ?? ' ') : '';
    if (comment !== undefined) shown.push(emptied(comment, format === 'toml' ? '# ' : '// '));
    else if (string === undefined) shown.push(word === '' ? plain : HIDDEN);
    else shown.push(isName(sign, format) || isOurs(contentOf(string)) ? string : emptied(string, '"', '"'));
    at += (found + plain + word).length;
  }
  return shown.join('');
}

function next(sticky: RegExp, text: string, at: number): RegExpExecArray | null {
  sticky.lastIndex = at;
  return sticky.exec(text);
}

/** A text before a sign is a name. In TOML it may be one of several in the header of a table. */
function isName(sign: string | undefined, format: 'json' | 'toml'): boolean {
  const last = sign?.trim();
  return format === 'json' ? last === ':' : last === '=' || last === '.';
}

function contentOf(string: string): string {
  try {
    return string.startsWith('"') ? String(JSON.parse(string)) : string.slice(1, -1);
  } catch {
    return string;
  }
}

/** Lines are kept, so that both sides of a difference have the same. */
function emptied(text: string, before: string, after = ''): string {
  return `${before}${HIDDEN}${after}${'\n'.repeat(text.split('\n').length - 1)}`;
}

const YAML_PAIR = /^(\s*(?:- )*(?:[\w.-]+|"[^"]*"|'[^']*'):)(\s*)(.*?)(\r?)$/;
const YAML_PLAIN = /^(?:|-?[\d.]+|true|false|null|~|\{\}|\[\])$/;
/** After these a name may still have names below it. */
const YAML_OPEN = /^(?:#.*|[&!]\S*)?$/;

function ofYaml(text: string, isOurs: IsOurs): string {
  // The column of the last value: what stands further in goes on with that value, even if it looks like a name.
  let column = Number.POSITIVE_INFINITY;
  const shown = text.split('\n').map(line => {
    const start = line.search(/\S/);
    if (start > column) return line.replace(/\S.*?(?=\r?$)/, HIDDEN);
    if (start >= 0) column = columnOfValue(line);
    const [, name, space = '', value = '', end = ''] = YAML_PAIR.exec(line) ?? [];
    if (name === undefined) return line.replace(/[^\s-].*?(?=\r?$)/, HIDDEN);
    return `${name}${space}${YAML_PLAIN.test(value) || isOurs(contentOf(value)) || isOurs(value) ? value : HIDDEN}${end}`;
  });
  return shown.join('\n');
}

/** Where the name of a value stands, or the dash before it. A value on lines of its own has neither. */
function columnOfValue(line: string): number {
  const [, name, , value = ''] = YAML_PAIR.exec(line) ?? [];
  if (name !== undefined) return YAML_OPEN.test(value) ? Number.POSITIVE_INFINITY : name.search(/[^\s-]/);
  const start = line.search(/\S/);
  if (/^\s*["'|>{[]/.test(line)) return start - 1;
  const afterDashes = /^\s*(?:- )*(?=- \S)/.exec(line)?.[0].length;
  return afterDashes ?? (/^[^#]*:\s+[^#\s]/.test(line) ? start : Number.POSITIVE_INFINITY);
}
