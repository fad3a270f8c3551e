// Parts of a value that an approver reads, for colours: JSON, SQL, shell commands and diffs. The parts put together are
// the text itself, character by character, so that colours hide nothing; where a text is read wrongly, only a colour is
// wrong. Each pattern takes time in proportion to the text: a quotation that is not closed goes to the end.

export type Language = 'json' | 'sql' | 'shell' | 'diff';
export type Kind = 'name' | 'string' | 'number' | 'word' | 'sign' | 'comment' | 'added' | 'removed' | 'part';

export interface Part {
  text: string;
  /** Null for what has no colour. */
  kind: Kind | null;
}

/** The longest text, in UTF-16 units, that has colours. */
const MOST = 65_536;

const SQL_WORDS =
  'add|all|alter|and|as|asc|begin|between|by|call|cascade|case|commit|copy|create|cross|database|delete|desc|distinct|do|drop|else|end|except|exec|execute|exists|explain|from|full|function|grant|group|having|in|index|inner|insert|intersect|into|is|join|left|like|limit|lock|merge|not|null|offset|on|or|order|outer|replace|returning|revoke|right|rollback|schema|select|set|table|then|to|transaction|trigger|truncate|union|update|user|using|values|view|when|where|with';

const PATTERNS: Record<Exclude<Language, 'diff'>, RegExp> = {
  json: /(?<name>"[^"\\]*(?:\\[\s\S][^"\\]*)*"(?=\s{0,99}:))|(?<string>"[^"\\]*(?:\\[\s\S][^"\\]*)*"?)|(?<number>-?\d[\d.eE+-]*)|(?<word>\b(?:true|false|null)\b)/g,
  sql: new RegExp(
    [
      String.raw`(?<comment>--[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/)?)`,
      `(?<string>'[^']*'?)`,
      String.raw`(?<name>"[^"]*"?|\x60[^\x60]*\x60?)`,
      String.raw`(?<number>(?<![\w$])\d[\w.]*)`,
      String.raw`(?<word>\b(?:${SQL_WORDS})\b)`,
      '(?<sign>;)',
    ].join('|'),
    'gi',
  ),
  shell:
    /(?<string>'[^']*'?|"[^"\\]*(?:\\[\s\S][^"\\]*)*"?)|(?<comment>(?<![^\s;&|()])#[^\n]*)|(?<word>\$\{?[\w@#?*!-]+\}?|\$\()|(?<sign>[;&|<>()`{}]+|\\\n)|(?<name>(?<![^\s;&|()])-[\w-]+)/g,
};

/** The text in parts; all of it as one part if it is in no language that is known here, or too long. */
export function partsOf(text: string, language: Language | null): Part[] {
  if (language === null || text.length > MOST) return [{ text, kind: null }];
  return language === 'diff' ? diffParts(text) : coloured(text, PATTERNS[language]);
}

function coloured(text: string, pattern: RegExp): Part[] {
  const parts: Part[] = [];
  let end = 0;
  const put = (piece: string, kind: Kind | null) => {
    if (piece !== '') parts.push({ text: piece, kind });
  };
  for (const found of text.matchAll(pattern)) {
    put(text.slice(end, found.index), null);
    const [kind = null] = Object.entries(found.groups ?? {}).find(([, each]) => each !== undefined) ?? [];
    put(found[0], kind as Kind | null);
    end = found.index + found[0].length;
  }
  put(text.slice(end), null);
  return parts;
}

const DIFF_PARTS = /^(?:diff |index |--- |\+\+\+ |@@|\*\*\* )/;

function diffParts(text: string): Part[] {
  return text.split(/(?<=\n)/).map(line => {
    if (DIFF_PARTS.test(line)) return { text: line, kind: 'part' };
    return { text: line, kind: line[0] === '+' ? 'added' : line[0] === '-' ? 'removed' : null };
  });
}

const SHELL_NAMES = new Set(['command', 'commands', 'cmd', 'script', 'shell', 'bash']);
const SQL_NAMES = new Set(['sql', 'query', 'statement']);
const SQL_BEGINS =
  /^\s{0,99}(?:select|insert|update|delete|with|create|alter|drop|truncate|grant|revoke|begin|explain|merge|copy|call)\s/i;
const DIFF_BEGINS = /^(?:diff --git |\*\*\* Begin Patch|--- [^\n]*\n\+\+\+ |@@ )/m;

/** The language of the value at this path, as far as its name and its beginning tell. */
export function languageOf(path: string, value: string): Language | null {
  const name = /([\w-]+)\W*$/.exec(path.slice(-99))?.[1]?.toLowerCase() ?? '';
  if (DIFF_BEGINS.test(value)) return 'diff';
  if (SHELL_NAMES.has(name)) return 'shell';
  if (SQL_BEGINS.test(value) && (SQL_NAMES.has(name) || /^\s{0,99}[A-Z]{3}/.test(value))) return 'sql';
  return isJson(value) ? 'json' : null;
}

function isJson(value: string): boolean {
  if (value.length > MOST || !/^\s{0,99}[[{]/.test(value)) return false;
  try {
    JSON.parse(value);
    return true;
  } catch {
    return false;
  }
}
