// What the language offers, in words: for the completion of the policy editor. The checker does not use it; a test
// compares both.

export interface Entry {
  /** As it is written, without what it is called on: `contains`, `path.within`. */
  name: string;
  /** `method` is called on a value, `x.contains(y)`; `both` is `size(x)` or `x.size()`. */
  form: 'function' | 'method' | 'both';
  signature: string;
  help: string;
}

const entry = (form: Entry['form'], name: string, signature: string, help: string): Entry => ({
  name,
  form,
  signature,
  help,
});

export const MANUAL: readonly Entry[] = [
  entry(
    'function',
    'has',
    'has(args.x): bool',
    'Whether a field is there. Reading one that is absent fails.',
  ),
  entry('both', 'size', 'size(x): int', 'The length of a string in characters, of a list or of a map.'),
  entry('method', 'contains', 'text.contains(part): bool', 'Whether a text contains another.'),
  entry('method', 'startsWith', 'text.startsWith(part): bool', 'Whether a text begins with another.'),
  entry('method', 'endsWith', 'text.endsWith(part): bool', 'Whether a text ends with another.'),
  entry(
    'both',
    'matches',
    'text.matches("pattern"): bool',
    'Whether a regular expression (RE2) matches a part of a text; ^ and $ make it the whole.',
  ),
  entry('function', 'int', 'int(x): int', 'A number or a text as a whole number; fails if it is none.'),
  entry('function', 'double', 'double(x): double', 'A number or a text as a number with a fraction.'),
  entry('function', 'string', 'string(x): string', 'A bool or a number as text.'),
  entry('function', 'type', 'type(x): type', 'The type of a value: type(args.x) == string.'),
  entry(
    'function',
    'known',
    'known(x): bool',
    'Whether the person or a trusted tool has named this text or number, or each of a list, in this run.',
  ),
  entry('method', 'all', 'list.all(x, condition): bool', 'Whether the condition holds for every element.'),
  entry('method', 'exists', 'list.exists(x, condition): bool', 'Whether it holds for at least one element.'),
  entry('method', 'exists_one', 'list.exists_one(x, condition): bool', 'Whether it holds for exactly one.'),
  entry('method', 'filter', 'list.filter(x, condition): list', 'The elements for which the condition holds.'),
  entry('method', 'map', 'list.map(x, expression): list', 'What the expression gives for each element.'),
  entry('method', 'lowerAscii', 'text.lowerAscii(): string', 'The text with A to Z in lower case.'),
  entry('method', 'upperAscii', 'text.upperAscii(): string', 'The text with a to z in upper case.'),
  entry('method', 'trim', 'text.trim(): string', 'The text without spaces at both ends.'),
  entry('method', 'split', 'text.split(separator): list', 'The parts of a text between separators.'),
  entry('method', 'replace', 'text.replace(old, new): string', 'The text with every old part replaced.'),
  entry('method', 'join', 'list.join(separator): string', 'The texts of a list as one text.'),
  entry(
    'method',
    'substring',
    'text.substring(start, end): string',
    'The characters from start up to before end.',
  ),
  entry(
    'method',
    'indexOf',
    'text.indexOf(part): int',
    'Where a part first stands, from 0; -1 if it is absent.',
  ),
  entry(
    'function',
    'path.within',
    'path.within(path, root): bool',
    'Whether an absolute POSIX path lies in a folder, after "." and ".." are resolved.',
  ),
  entry(
    'function',
    'path.join',
    'path.join(base, path): string',
    'The path that a program opens when it works in the folder base; an absolute path stays.',
  ),
  entry(
    'function',
    'path.secret',
    'path.secret(path): bool',
    'Whether a path names a file that usually holds a secret: keys, tokens, passwords.',
  ),
  entry(
    'function',
    'path.decidesLater',
    'path.decidesLater(path): bool',
    'Whether a path names a file that decides what programs do later: hooks, settings of agents, CI.',
  ),
  entry('function', 'url.host', 'url.host(url): string', 'The host of a URL, without the port.'),
  entry('function', 'url.scheme', 'url.scheme(url): string', 'The scheme of a URL, such as https.'),
  entry(
    'function',
    'url.port',
    'url.port(url): int',
    'The port of a URL; the scheme’s own where none is written.',
  ),
  entry(
    'function',
    'email.domain',
    'email.domain(address): string',
    'The domain of one e-mail address, in lower case.',
  ),
  entry(
    'function',
    'shell.commands',
    'shell.commands(text): list',
    'The plain commands of a shell text, each with name and args; fails on anything else.',
  ),
  entry(
    'function',
    'shell.reads',
    'shell.reads(text, folder): list',
    'The paths that commands read which only read and print, such as cat and git log; fails on all others.',
  ),
  entry(
    'function',
    'shell.secret',
    'shell.secret(text): bool',
    'Whether a command line names a file that usually holds a secret, as far as its text shows it.',
  ),
];
