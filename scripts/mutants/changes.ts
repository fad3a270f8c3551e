// The small changes that `npm run mutants` makes to a source file, one at a time: a bound moved by one, a condition
// turned round, a branch always or never taken, a statement left out. It reads the text, not a syntax tree: the
// formatter puts blanks around every operator, which tells `a < b` from `Map<a, b>`. Which of them are tried, and
// what became of them, is mutants.ts's.

export interface Change {
  /** Relative to the project's root. */
  file: string;
  line: number;
  from: number;
  to: number;
  /** What stands there, and what is put in its place. */
  was: string;
  becomes: string;
}

interface Kind {
  find: RegExp;
  /** What is put in place of the match, or null when this one is left alone. */
  replace: (found: RegExpMatchArray, text: string) => { was: string; becomes: string } | null;
  /** Whether it is looked for in code or in the SQL inside its strings. */
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

/** No statement that may be left out, or one that every test of the class would miss: a field set from a parameter. */
const NOT_LEFT_OUT = /^ *(?:(?:return|throw|const|let|type|case|break|continue|super)\b|this\.#?(\w+) = \1;)/;

/** In a list of columns to set, `=` is no comparison. */
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
      // The mask has no strings in it: what stands there is read from the text itself.
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

/** The condition of an `if`, always or never met; which of the two, its length decides. */
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
 * The text with everything but code, or everything but SQL, blanked out, so that places stay the same. Code inside
 * the braces of a template is left alone.
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
