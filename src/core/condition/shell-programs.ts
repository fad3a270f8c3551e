// The programs behind `shell.reads`, as data: those that only read files and print, each with the options that keep it so. A
// program or an option that is not listed here may write a file, run another program or reach the network. docs/path-lists.md
// names them, and shell-reads.ts reads their arguments.

import { TYPE } from './file-types.ts';

export interface Program {
  /** Arguments that are options. Every one that begins with a hyphen has to be one of them. */
  options: RegExp;
  /** Options whose next argument is their value, and no file. */
  values?: RegExp;
  /** What such a value has to be, if not any text without a hyphen. */
  value?: RegExp;
  /**
   * What the other arguments are: files that it reads, a pattern and then files, or texts that it prints or changes. With
   * `none` there must not be any.
   */
  rest: 'files' | 'pattern' | 'texts' | 'none';
  /** The most of these. */
  most?: number;
  /** Whether it reads the folder that it works in if it is given no file. */
  here?: true;
}

const NO_OPTION = /^(?!)/;
const none = (options: RegExp = NO_OPTION): Program => ({ options, rest: 'none' });
const texts = (options: RegExp = /^-/): Program => ({ options, rest: 'texts' });
const files = (options: RegExp, values?: RegExp): Program => ({
  options,
  rest: 'files',
  ...(values !== undefined && { values }),
});
const folder = (options: RegExp, values?: RegExp): Program => ({ ...files(options, values), here: true });

export const PROGRAMS: Readonly<Record<string, Program>> = {
  pwd: none(),
  true: none(),
  whoami: none(),
  nproc: none(),
  uname: none(/^-[amnrsv]+$/),
  date: none(/^(-u|-I|\+[%\w:., -]*)$/),
  echo: texts(),
  tr: texts(),
  basename: texts(),
  dirname: texts(),
  which: texts(/^-a$/),
  cat: files(/^-[AbeEnstTuv]+$/),
  head: files(/^-(\d+|[nc]-?\d*|[qv]+)$/, /^-[nc]$/),
  tail: files(/^-(\d+|[nc][+-]?\d*|[fFqv]+)$/, /^-[nc]$/),
  wc: files(/^-[clmwL]+$/),
  nl: files(/^-([pbs]|ba|bt|bn)$/, /^-[bs]$/),
  cut: files(/^-([bcdfs]|[bcf][\d,-]+|d.)$/, /^-[bcdf]$/),
  stat: files(/^-[cL]$/, /^-c$/),
  file: files(/^-[bihkL]+$/),
  cmp: files(/^-s$/),
  realpath: files(NO_OPTION),
  // Its options begin with -o where it writes a file.
  sort: files(/^-([bcdfghinruVz]+|k|t|k[\d,.bdfginrV]+|t.)$/, /^-[kt]$/),
  // Its second file is one that it writes.
  uniq: none(/^-[cdiu]+$/),
  ls: folder(/^-[A-Za-z0-9]+$/),
  du: folder(/^-([achksm]+|d\d*)$/, /^-d$/),
  tree: folder(/^-([adfC]+|[LIP])$/, /^-[LIP]$/),
  find: folder(
    /^(-(name|iname|path|ipath|type|maxdepth|mindepth|size|mtime|mmin|not|a|o|and|or|print|prune|empty)|[()!])$/,
    /^-(name|iname|path|ipath|type|maxdepth|mindepth|size|mtime|mmin)$/,
  ),
  // Without -r: that would read hidden files as well. And without -e, which would make a file of the first other argument.
  grep: { options: /^-([ivnclwxoqsEFHh]+|[ABCm]\d*)$/, values: /^-[ABCm]$/, rest: 'pattern' },
  rg: {
    options: new RegExp(`^(-([ivnclwxoqsFSHNI]+|[ABCm]\\d*|t${TYPE}?)|--no-heading|--heading)$`),
    values: /^-[ABCmt]$/,
    value: new RegExp(`^(\\d+|${TYPE})$`),
    rest: 'pattern',
    here: true,
  },
};

/** Programs that may be asked for their version. Others, such as cargo, go and npm, run the version that a project names. */
export const VERSIONED = ['node', 'bun', 'python3', 'python', 'git', 'rg'];

const LOG = new RegExp(
  `^(-(\\d+|[pswiu]+|[nSGU]|[nU]\\d+)|--no-(merges|patch|color|decorate|ext-diff|textconv)|--(${[
    'oneline|stat|shortstat|numstat|name-only|name-status|graph|all|decorate|abbrev-commit|follow|reverse|merges|patch',
    'first-parent|cached|staged|word-diff|ignore-all-space|summary',
    '(since|until|after|before|author|grep|date|max-count|unified|diff-filter|color)=.*',
    // To show a signature, git runs gpg or whatever else it is told.
    '(format|pretty)=(?!.*%[-+ ]?G).*',
  ].join('|')}))$`,
  's',
);
const log = (more: Partial<Program> = {}): Program => ({ ...folder(LOG, /^-[nSG]$/), ...more });

/** The commands of git. Other options of git itself, such as -c and -C, are not among them. */
export const GIT: Readonly<Record<string, Program>> = {
  status: folder(/^(-(s|b|sb|u|uno|uall)|--(short|branch|porcelain|porcelain=v[12]|ignored))$/),
  log: log(),
  show: log(),
  // With two of them, outside of a work tree or with a file outside of it, it compares any two files or folders.
  diff: log({ most: 1 }),
  grep: { options: /^-([iInwlcEFpWh]+|[ABC]\d*)$/, values: /^-[ABC]$/, rest: 'pattern', here: true },
  blame: files(/^-([wse]+|L)$/, /^-L$/),
  'ls-files': folder(/^(-[cdomst]+|--(others|exclude-standard|cached|modified|deleted))$/),
  'rev-parse': files(/^--(abbrev-ref|show-toplevel|short|is-inside-work-tree)$/),
  branch: none(/^(-[avr]+|--(show-current|list|all))$/),
  tag: none(/^(-l|--list)$/),
  remote: none(),
  stash: none(/^list$/),
};
