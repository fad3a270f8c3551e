// `shell.reads(text, folder)` of the condition language: the files and folders, as absolute paths, that are read by
// commands which only read and print. It fails, which is null, on a program or an option that shell-programs.ts does
// not list, and wherever `shell.commands` fails. `shell.secret(text)` says whether a command line names a secret, as
// far as its text shows it; it never fails, so that a rule can deny by it.

import { pathJoin } from './path.ts';
import { entriesOf, SECRET } from './path-lists.ts';
import { pathSecret } from './path-names.ts';
import { type ShellCommand, type ShellStep, shellSteps } from './shell.ts';
import { GIT, PROGRAMS, type Program, VERSIONED } from './shell-programs.ts';

/** The most folders in which the commands of one line may work. */
const MOST_FOLDERS = 8;

export function shellReads(text: string, folder: string): string[] | null {
  const steps = shellSteps(text);
  const start = pathJoin(folder, '.');
  if (steps === null || start === null || inRepository(start)) return null;
  const places = new ReadPaths(start);
  const found = new Set<string>();
  for (const step of steps) {
    const read = step.name === 'cd' ? places.enter(step) : readBy(step, places.now);
    if (read === null) return null;
    for (const path of read) found.add(path);
    places.after(step);
  }
  return [...found];
}

/**
 * The folders in which the next command may work. `cd` changes it for what follows by `&&`; after any other separator it may
 * have failed, in a pipe it changes nothing, and after `||` it may not have run.
 */
class ReadPaths {
  now: string[];
  readonly #all: Set<string>;
  #before: string | null = null;

  constructor(start: string) {
    this.now = [start];
    this.#all = new Set(this.now);
  }

  enter({ args }: ShellCommand): string[] | null {
    const [target, ...more] = args;
    if (target === undefined || more.length > 0 || target.startsWith('-')) return null;
    const entered = joined(this.now, target);
    if (entered === null || entered.some(inRepository)) return null;
    for (const each of entered) this.#all.add(each);
    if (this.#all.size > MOST_FOLDERS) return null;
    this.now = entered;
    return entered;
  }

  after({ then }: ShellStep): void {
    if (then !== '&&' || this.#before === '|' || this.#before === '||') this.now = [...this.#all];
    this.#before = then;
  }
}

/** Git takes a folder inside of `.git` for a repository without a work tree. */
function inRepository(folder: string): boolean {
  return folder
    .toLowerCase()
    .split('/')
    .some(part => part === '.git' || part.endsWith('.git'));
}

function readBy({ name, args }: ShellCommand, folders: readonly string[]): string[] | null {
  if (VERSIONED.includes(name) && args.length === 1 && args[0] === '--version') return [];
  if (name === 'git') return readByGit(args, folders);
  if (name === 'sed') return readBySed(args, folders);
  if (name === 'rg' && args[0] === '--files')
    return pathsOf(args.slice(1), { ...program('rg'), rest: 'files' }, folders);
  return Object.hasOwn(PROGRAMS, name) ? pathsOf(args, program(name), folders) : null;
}

const program = (name: string): Program => PROGRAMS[name] as Program;

/** Lines of a file, by their numbers. */
const LINES = /^(\d+|\$)(,(\d+|\$))?p$/;

function readBySed(
  [quiet, script = '', ...files]: readonly string[],
  folders: readonly string[],
): string[] | null {
  if (quiet !== '-n' || !LINES.test(script) || files.some(each => each.startsWith('-'))) return null;
  return joinedAll(folders, files);
}

function readByGit(args: readonly string[], folders: readonly string[]): string[] | null {
  const [command = '', ...rest] = args[0] === '--no-pager' ? args.slice(1) : args;
  const known = Object.hasOwn(GIT, command) ? (GIT[command] as Program) : null;
  if (known === null || (command === 'stash' && rest.join(' ') !== 'list')) return null;
  // Pathspecs with a meaning of their own, such as `:/` and `:(top)`, begin with a colon; after `--` there is no revision.
  const paths = rest.includes('--') ? rest.slice(rest.indexOf('--')) : [];
  if (rest.some(each => each.startsWith(':')) || paths.some(each => each.includes(':'))) return null;
  return pathsOf(rest.map(fileInRevision), known, folders);
}

/** `HEAD:src/a.ts` is the file `src/a.ts`, and `HEAD:` the folder. */
function fileInRevision(arg: string): string {
  if (arg.startsWith('-') || !arg.includes(':')) return arg;
  return arg.slice(arg.indexOf(':') + 1) || '.';
}

function pathsOf(args: readonly string[], known: Program, folders: readonly string[]): string[] | null {
  const others = operandsOf(args, known);
  if (others === null || others.length > (known.most ?? Number.POSITIVE_INFINITY)) return null;
  if (known.rest === 'none') return others.length === 0 ? [] : null;
  if (known.rest === 'texts') return [];
  const files = (known.rest === 'pattern' ? others.slice(1) : others).filter(each => each !== '-');
  // Where `--` is no end of options for the program, it takes these for options: `find -- . -delete`.
  if (files.some(each => each.startsWith('-'))) return null;
  return files.length === 0 && known.here ? [...folders] : joinedAll(folders, files);
}

/** A hyphen, or a number: git looks for options also among the values of others. */
const VALUE = /^(?!-)|^-$|^-\d/;

/** The arguments that are neither options nor their values. */
function operandsOf(
  args: readonly string[],
  { options, values, value = VALUE, rest }: Program,
): string[] | null {
  const found: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] as string;
    if (arg === '--') return [...found, ...args.slice(at + 1)];
    if (values?.test(arg) && !value.test(args[++at] ?? '')) return null;
    else if (options.test(arg)) continue;
    else if (arg.startsWith('-') && arg !== '-' && rest !== 'texts') return null;
    else found.push(arg);
  }
  return found;
}

function joinedAll(folders: readonly string[], files: readonly string[]): string[] | null {
  const found: string[] = [];
  for (const file of files) {
    const paths = joined(folders, file);
    if (paths === null) return null;
    found.push(...paths);
  }
  return found;
}

function joined(folders: readonly string[], path: string): string[] | null {
  const found = folders.map(folder => pathJoin(folder, path));
  return found.every(each => each !== null) ? (found as string[]) : null;
}

/** Nobody reads more of a command, and what is longer is no plain command that a rule would allow. */
const MOST_CHARACTERS = 4_000;
const BETWEEN_WORDS = /[\s"'`=:@<>()|&;,{}$\\]+/;
/** Endings of secret files that words of programs have as well, such as `process.env`. */
const OF_OTHERS = ['env', 'key', 'jwk'];
const ENDINGS = entriesOf(SECRET)
  .flatMap(each => /^\*\.(\w+)$/.exec(each)?.[1] ?? [])
  .filter(each => !OF_OTHERS.includes(each));
/** A word that can hardly be anything but a path. */
const LIKE_A_PATH = new RegExp(`^\\.\\w|/|^id_\\w|\\.(?:${ENDINGS.join('|')})$`, 'i');
/** A repository as a whole, by its address or its folder, is no secret. */
const REPOSITORY = /\.git\/?$/i;

export function shellSecret(text: string): boolean {
  if (text.length > MOST_CHARACTERS) return false;
  const words = new Set(textsOf(text).flatMap(each => each.split(BETWEEN_WORDS)));
  return [...words].some(
    each => LIKE_A_PATH.test(each) && !REPOSITORY.test(each) && pathSecret(each) === true,
  );
}

/** Where paths may stand: in the arguments of plain commands, but not in sentences such as the message of a commit. */
function textsOf(text: string): string[] {
  const steps = shellSteps(text);
  if (steps === null) return [text, text.replace(QUOTES, '')];
  return steps.flatMap(({ args }) => args.filter(each => !/\s/.test(each)));
}

/** `.e''nv` is `.env`. */
const QUOTES = /["'\\]/g;

export const secretWeight = (text: string): number => (text.length > MOST_CHARACTERS ? 0 : 64);
