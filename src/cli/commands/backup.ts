// toolgate backup: makes a consistent copy of the SQLite store while the service runs.

import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { embeddedPath, loadConfig } from '../../config.ts';
import { backupSqlite } from '../../store/backup.ts';
import { CliError, EXIT } from '../exit.ts';
import { command } from '../help.ts';
import { type IO, say } from '../io.ts';
import { printJson } from '../print.ts';

export function build(io: IO): Command {
  const what =
    'Copy the embedded store to a file, also while the service runs. Run it where the service runs.';
  return command('backup', what, ['toolgate backup toolgate-backup.db', 'toolgate backup nightly.db --json'])
    .argument('<file>', 'the file to write; it must not exist yet')
    .option('--json', 'print JSON')
    .action((file: string, options: { json?: boolean }) => {
      const { config } = loadConfig(io.env, io.cwd);
      const path = embeddedPath(config);
      if (path === null) {
        throw new CliError(
          EXIT.failed,
          'The store is on PostgreSQL: back it up with pg_dump or your server’s tools.',
        );
      }
      const target = resolve(io.cwd, file);
      if (io.stderr.isTTY) say(io, 'Copying…');
      const bytes = copy(resolve(io.cwd, path), target);
      if (options.json) return printJson(io, { file: target, bytes });
      const key = join(config.dataDir, 'master.key');
      say(
        io,
        `${bytes} bytes are in ${file}. What is encrypted in it can be read only with the master key: keep ${key} too, elsewhere.`,
      );
    });
}

function copy(source: string, target: string): number {
  try {
    return backupSqlite(source, target);
  } catch (error) {
    throw new CliError(EXIT.noAnswer, (error as Error).message, { cause: error });
  }
}
