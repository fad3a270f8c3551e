// One style for every command: the layout of its help, the message after a mistake, and examples below each help text.

import { Command, CommanderError } from 'commander';
import type { IO } from './io.ts';

/** A command with examples under its help. */
export function command(name: string, description: string, examples: readonly string[]): Command {
  const lines = examples.map(example => `  $ ${example}`);
  return new Command(name).description(description).addHelpText('after', `\nExamples:\n${lines.join('\n')}`);
}

/** A command that only has subcommands. */
export function group(
  name: string,
  description: string,
  examples: readonly string[],
  commands: readonly Command[],
): Command {
  const made = command(name, description, examples).usage('<command> [options]').helpCommand(false);
  for (const each of commands) made.addCommand(each);
  return made;
}

/**
 * Gives a command and all its subcommands the same settings; commander passes them on only to commands it makes itself.
 */
export function polish(io: IO, root: Command): Command {
  root
    .configureHelp({ styleTitle: title => io.stdout.style('bold', title), showGlobalOptions: false })
    .configureOutput({
      writeOut: text => io.stdout.write(text),
      writeErr: text => io.stderr.write(text),
      outputError: (text, write) => write(text.replace(/^error: /, 'toolgate: ')),
    })
    .helpOption('-h, --help', 'show this help')
    .showSuggestionAfterError()
    .showHelpAfterError('(add --help for what it takes)')
    .exitOverride();
  for (const each of root.commands) polish(io, each);
  return root;
}

export function isHelpOrMistake(error: unknown): error is CommanderError {
  return error instanceof CommanderError;
}
