// The command line: one file per command. `serve` is the only one that brings the whole service along, so
// that the others start at once.

import { Command } from 'commander';
import pkg from '../../package.json' with { type: 'json' };
import { configCommand } from './commands/config.ts';
import { serveCommand } from './commands/serve.ts';

const EXIT_USAGE = 64;

const program = new Command('toolgate')
  .description('A guard for the tool calls of AI agents: allow, deny, or ask a human; always recorded first.')
  .version(pkg.version)
  .addCommand(serveCommand())
  .addCommand(configCommand())
  .configureHelp({ sortSubcommands: false })
  .showSuggestionAfterError()
  .showHelpAfterError('(add --help for what it takes)')
  .exitOverride(error => process.exit(error.exitCode === 0 ? 0 : EXIT_USAGE));

await program.parseAsync();
