// The small changes that `npm run mutants` makes to a source file, one at a time: a bound moved by one, a negated
// condition, a branch always or never taken, a statement left out. This file reads the text, not a syntax tree: the
// formatter puts blanks around every operator, which distinguishes `a < b` from `Map<a, b>`. mutants.ts chooses and
// tries the changes.

export interface Change {
  /** The path relative to the project's root. */
  file: string;
  line: number;
  from: number;
  to: number;
  /** The original text, and its replacement. */
  was: string;
  becomes: string;
}

interface Kind {
  find: RegExp;
  /** The replacement for a match, or null to leave it alone. */
  replace: (found: RegExpMatchArray, text: string) => { was: string; becomes: string } | null;
  /** Whether to search in code or in the SQL inside its strings. */
  within: 'code' | 'sql';
}

const SWAPS: Record<string, string> = {
  '>': '>=',
  '>=': '>',
  '<': '<=',
  '<=': '<',
  '===': '!==',
  '!==': '===',
  '&&': '||',
  '||': '&&',
  '+': '-',
  '-': '+',
  '*': '/',
};

const SQL_SWAPS: Record<string, string> = {
  '>': '>=',
  '>=': '>',
  '<': '<=',
  '<=': '<',
  '=': '<>',
  '<>': '=',
  AND: 'OR',
  'IS NULL': 'IS NOT NULL',
  'IS NOT NULL': 'IS NULL',
  DESC: 'ASC',
};

const swap = (table: Record<string, string>) => (found: RegExpMatchArray) => {
  const was = found[0];
  const becomes = table[was];
  return becomes === undefined ? null : { was, becomes };
};

const KINDS: Kind[] = [
  {
    within: 'code',
    find: /(?<=[\w)\]'"`] )(?:>=?|<=?|[=!]==|&&|\|\||[-+*])(?=\s)/g,
    replace: swap(SWAPS),
  },
  { within: 'code', find: /(?<=[( ])!(?=[\w(])/g, replace: () => ({ was: '!', becomes: '' }) },
  { within: 'code', find: /\bif \(/g, replace: whole },
  { within: 'code', find: /\breturn (?:true|false);/g, replace: found => opposite(found[0]) },
  {
    // A call or an assignment that is a statement by itself, on one line.
    within: 'code',
    find: /(?<=\n) +(?:await )?(?:this\.)?#?[\w.#?]+(?:\(.*\)| [-+]?= [^=].*);(?=\n)/g,
    replace: found => (NOT_LEFT_OUT.test(found[0]) ? null : { was: found[0].trimStart(), becomes: ';' }),
  },
  {
    within: 'sql',
    find: /(?<= )(?:[<>]=?|=|<>|AND|IS (?:NOT )?NULL|DESC)(?=[\s),]|$)/g,
    replace: (found, text) => (assigns(found, text) ? null : swap(SQL_SWAPS)(found)),
  },
];

/** Statements that cannot be left out, or that every test of the class would notice: a field set from a parameter. */
const NOT_LEFT_OUT = /^ *(?:(?:return|throw|const|let|type|case|break|continue|super)\b|this\.#?(\w+) = \1;)/;

/** In a list of columns to set, `=` is not a comparison. */
function assigns(found: RegExpMatchArray, text: string): boolean {
  const before = text.slice(Math.max(0, (found.index ?? 0) - 500), found.index);
  return found[0] === '=' && before.lastIndexOf(' SET ') > before.lastIndexOf('WHERE ');
}

/** Every change that can be made to a file. */
export function changesIn(file: string, text: string): Change[] {
  const masks = { code: masked(text, 'code'), sql: masked(text, 'sql') };
  const found = KINDS.flatMap(({ find, replace, within }) =>
    [...masks[within].matchAll(find)].flatMap(match => {
      const made = replace(match, masks[within]);
      if (made === null) return [];
      const from = match.index + match[0].indexOf(made.was.slice(0, match[0].trimStart().length));
      // The mask contains no strings, so the original is read from the text itself.
      const was = text.slice(from, from + made.was.length);
      return [
        {
          file,
          line: text.slice(0, from).split('\n').length,
          from,
          to: from + was.length,
          was,
          becomes: made.becomes,
        },
      ];
    }),
  );
  return found.sort((a, b) => a.from - b.from);
}

export function changed(text: string, { from, to, becomes }: Change): string {
  return text.slice(0, from) + becomes + text.slice(to);
}

/** Makes the condition of an `if` always or never true, depending on the length of the condition. */
function whole(found: RegExpMatchArray, text: string): { was: string; becomes: string } | null {
  const open = (found.index ?? 0) + found[0].length - 1;
  let depth = 0;
  for (let at = open; at < text.length; at++) {
    if (text[at] === '(') depth++;
    else if (text[at] === ')' && --depth === 0) {
      const was = text.slice(found.index, at + 1);
      return { was, becomes: was.length % 2 === 0 ? 'if (false)' : 'if (true)' };
    }
  }
  return null;
}

function opposite(was: string): { was: string; becomes: string } {
  return { was, becomes: was.includes('true') ? 'return false;' : 'return true;' };
}

const TOKEN =
  /\/\/[^\n]*|\/\*[\s\S]*?\*\/|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`|(?<=[(=,:!&|?] ?)\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n])+\/[a-z]*/g;
const SQL = /^['"`]\s*(?:SELECT|INSERT|UPDATE|DELETE|WITH|AND|WHERE|FROM)\b/;

/**
 * The text with everything except code, or everything except SQL, replaced by blanks, so that positions stay the same.
 * Code inside the braces of a template is left out.
 */
function masked(text: string, keep: 'code' | 'sql'): string {
  const blank = (part: string) => part.replace(/[^\n]/g, '_');
  if (keep === 'code') return text.replace(TOKEN, blank);
  let out = '';
  let end = 0;
  for (const match of text.matchAll(TOKEN)) {
    out += blank(text.slice(end, match.index)) + (SQL.test(match[0]) ? match[0] : blank(match[0]));
    end = match.index + match[0].length;
  }
  return out + blank(text.slice(end));
}
