// toolgate backup: makes a consistent copy of the SQLite store while the service runs, and proves that it can be used.

import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { embeddedPath, loadConfig } from '../../settings/config.ts';
import { backupSqlite } from '../../store/engine/backup.ts';
import { CliError, EXIT } from '../exit.ts';
import { command } from '../help.ts';
import { type IO, say } from '../io.ts';
import { printJson } from '../print.ts';
import { summaryOf, verifyCopy } from '../verify-copy.ts';

interface Options {
  verify?: boolean;
  json?: boolean;
}

export function build(io: IO): Command {
  const what =
    'Copy the embedded store to a file, also while the service runs. Run it where the service runs.';
  return command('backup', what, [
    'toolgate backup toolgate-backup.db',
    'toolgate backup nightly.db --verify',
    'toolgate backup nightly.db --json',
  ])
    .argument('<file>', 'the file to write; it must not exist yet')
    .option('--verify', 'then open, migrate and verify a copy of it; exit 1 if it could not be restored')
    .option('--json', 'print JSON')
    .action(async (file: string, options: Options) => {
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
      const dataDir = resolve(io.cwd, config.dataDir);
      const verified = options.verify ? await verifyCopy(io, { ...config, dataDir }, target, file) : null;
      if (options.json) return printJson(io, { file: target, bytes, ...(verified && { verified }) });
      const key = join(config.dataDir, 'master.key');
      say(
        io,
        `${bytes} bytes are in ${file}. What is encrypted in it can be read only with the master key: keep ${key} too, elsewhere.`,
      );
      if (verified !== null) say(io, `Verified: ${summaryOf(verified)}`);
    });
}

function copy(source: string, target: string): number {
  try {
    return backupSqlite(source, target);
  } catch (error) {
    throw new CliError(EXIT.noAnswer, (error as Error).message, { cause: error });
  }
}
