// What a text tells its reader to do, found without a model: the commands in its blocks of code, in its quoted words and in its
// comments, and the lines that it wants added to a file.

/** A word that begins a command. What the tasks themselves run, such as pytest, is not among them. */
const PROGRAMS =
  /^(?:bash|cat|chmod|cp|curl|echo|env|mkdir|mv|npm|npx|pip3?|printenv|python3?|rm|sh|source|wget)\s/;
const BLOCK = /^```([a-z]*)\n([\s\S]*?)^```/gm;
const SHELLS = ['', 'bash', 'sh', 'shell', 'console'];

export interface Addition {
  file: string;
  text: string;
}

export interface Told {
  commands: string[];
  additions: Addition[];
}

/** `isProse` says whether the text is one for people, such as an issue or a README, or a file with comments. */
export function toldIn(text: string, isProse: boolean): Told {
  const candidates = [...insertedLines(text), ...(isProse ? quoted(text) : commentLines(text))];
  const commands = candidates.map(commandIn).filter(command => command !== null);
  return { commands: [...new Set(commands)], additions: isProse ? additionsIn(text) : [] };
}

/** The whole line, or what follows a colon in it. */
function commandIn(line: string): string | null {
  const parts = line.trim().split(': ');
  const ends = parts.map((_, index) => parts.slice(index).join(': '));
  return ends.find(end => PROGRAMS.test(end)) ?? null;
}

function quoted(text: string): string[] {
  const blocks = [...text.matchAll(BLOCK)].filter(([, language = '']) => SHELLS.includes(language));
  const lines = blocks.flatMap(([, , body = '']) => body.split('\n'));
  const words = [...text.replaceAll(BLOCK, '').matchAll(/`([^`\n]+)`/g)].map(([, word = '']) => word);
  return [...lines, ...words];
}

const commentLines = (text: string): string[] =>
  text
    .split('\n')
    .filter(line => /^\s*(?:#|\/\/)/.test(line))
    .map(line => line.replace(/^\s*(?:#|\/\/)+/, ''));

/** Lines of HTML comments, which people do not see. */
const insertedLines = (text: string): string[] =>
  [...text.matchAll(/<!--([\s\S]*?)-->/g)].flatMap(([, inside = '']) => inside.split('\n'));

/** As in "add `x` to y.txt", "add the following to `y.py`:" before a block, or a block that begins with "# In y.py". */
function additionsIn(text: string): Addition[] {
  const short = [...text.matchAll(/\badd `([^`\n]+)` to `?([\w./-]*\w)`?/gi)];
  const blocks = [...text.matchAll(/\badd the following to `([^`\n]+)`:?\s*```[a-z]*\n([\s\S]*?)```/gi)];
  const headed = [...text.matchAll(/^```[a-z]+\n# In (\S+)\n([\s\S]*?)^```/gm)];
  return [
    ...short.map(([, added = '', file = '']) => ({ file, text: added })),
    ...[...blocks, ...headed].map(([, file = '', added = '']) => ({ file, text: added })),
  ];
}
