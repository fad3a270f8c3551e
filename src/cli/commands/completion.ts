// toolgate completion: prints a script for the shell, made from the commands themselves.

import { Argument, type Command } from 'commander';
import { command } from '../help.ts';
import type { IO } from '../io.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

/** The words that may follow after the words so far: `` for the first word, `keys` after it, `keys list` after both. */
type Words = Map<string, string[]>;

export function build(io: IO, program: () => Promise<Command>): Command {
  return command('completion', 'Print a completion script for a shell.', [
    'source <(toolgate completion bash)',
    'toolgate completion zsh > ~/.zfunc/_toolgate',
    'toolgate completion fish > ~/.config/fish/completions/toolgate.fish',
  ])
    .addArgument(new Argument('<shell>', 'which one').choices(SHELLS))
    .action(async (shell: Shell) => {
      io.stdout.write(SCRIPTS[shell](collect(await program(), '', new Map())));
    });
}

function collect(at: Command, path: string, words: Words): Words {
  const options = at.options.filter(option => !option.hidden).map(option => option.long ?? '');
  const names = at.commands.map(each => each.name());
  const choices = at.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []);
  words.set(path, [...names, ...choices, ...options, '--help']);
  for (const each of at.commands) collect(each, path === '' ? each.name() : `${path} ${each.name()}`, words);
  return words;
}

const SCRIPTS: Record<Shell, (words: Words) => string> = { bash, zsh, fish };

function cases(words: Words): string {
  return [...words].map(([path, next]) => `    '${path}') words='${next.join(' ')}' ;;`).join('\n');
}

function bash(words: Words): string {
  return `# bash completion for toolgate
_toolgate() {
  local current="\${COMP_WORDS[COMP_CWORD]}" path='' words='' word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in -*) ;; *) case "$path $word" in
      ${paths(words)}) path="\${path:+$path }$word" ;; esac ;;
    esac
  done
  case "$path" in
${cases(words)}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  [ \${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- "$current"))
}
complete -F _toolgate toolgate
`;
}

/** The words that have subcommands, as a shell pattern. */
function paths(words: Words): string {
  const known = [...words.keys()].filter(path => path !== '');
  return known.map(path => (path.includes(' ') ? `'${path}'` : `' ${path}'`)).join('|');
}

function zsh(words: Words): string {
  return `#compdef toolgate
_toolgate() {
  local place='' offered='' word
  for word in \${words[2,CURRENT-1]}; do
    case "$word" in -*) ;; *) case "$place $word" in
      ${paths(words)}) place="\${place:+$place }$word" ;; esac ;;
    esac
  done
  case "$place" in
${cases(words).replaceAll(') words=', ') offered=')}
  esac
  compadd -- \${=offered} || _files
}
if [ "$funcstack[1]" = "_toolgate" ]; then _toolgate "$@"; else compdef _toolgate toolgate; fi
`;
}

function fish(words: Words): string {
  const lines = [...words].flatMap(([path, next]) => next.map(word => fishLine(path, word)));
  return `# fish completion for toolgate\n${lines.join('\n')}\n`;
}

function fishLine(path: string, word: string): string {
  const seen = path.split(' ').filter(each => each !== '');
  const when =
    seen.length === 0
      ? '__fish_use_subcommand'
      : seen.map(each => `__fish_seen_subcommand_from ${each}`).join('; and ');
  const what = word.startsWith('--') ? `-l ${word.slice(2)}` : `-f -a ${word}`;
  return `complete -c toolgate -n '${when}' ${what}`;
}
