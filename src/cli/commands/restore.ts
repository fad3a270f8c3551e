// toolgate restore: puts a backup in the place of the SQLite store, after it has proved that the service can use it.

import { existsSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import type { Command } from 'commander';
import { masterKeyPath } from '../../process/data-dir.ts';
import { type Config, embeddedPath, loadConfig } from '../../settings/config.ts';
import { isDiskFault, requireOneFile } from '../../store/engine/sqlite-copy.ts';
import { Restore } from '../../store/engine/sqlite-restore.ts';
import { CliError, EXIT } from '../exit.ts';
import { command } from '../help.ts';
import { type IO, say } from '../io.ts';
import { printJson } from '../print.ts';
import { type CopyReport, diskFault, summaryOf, unusable, verifyCopy } from '../verify-copy.ts';

const ON_POSTGRES =
  'The store is on PostgreSQL: stop the replicas, restore into an empty database with pg_restore or your server’s ' +
  'tools, verify it with `toolgate audit verify --database-url <url>`, and start the replicas on it with the same master key.';

/** What to know about a store after it was restored to an earlier state. */
const MEANS = [
  'What happened since the backup is gone: verdicts, approvals, changes of policies. Limits have their old counts.',
  'What was revoked since then is valid again: revoke keys, sessions and grants once more.',
  'Events and messages that were waiting then are sent again; receivers recognise them by their id.',
  'Shipping of the audit log goes on from where it was then; receivers recognise repeats by the entry’s id.',
  'Checkpoints that were signed since then are in no store any more: kept elsewhere, they show that it was restored.',
];

interface Options {
  check?: boolean;
  force?: boolean;
  json?: boolean;
}

export function build(io: IO): Command {
  const what =
    'Put a backup in the place of the embedded store, once it is proved to be usable. The service must not run. ' +
    'Exit 1: the backup cannot be used; 3: it cannot be restored there.';
  return command('restore', what, [
    'toolgate restore nightly.db',
    'toolgate restore nightly.db --force',
    'toolgate restore nightly.db --check',
  ])
    .argument('<file>', 'a backup made with toolgate backup')
    .option('--check', 'only verify the backup, also while the service runs; nothing is replaced')
    .option('--force', 'replace the store that is there; it is kept beside the new one')
    .option('--json', 'print JSON')
    .action(async (file: string, options: Options) => {
      const { config } = loadConfig(io.env, io.cwd);
      const path = embeddedPath(config);
      if (path === null) throw new CliError(EXIT.failed, ON_POSTGRES);
      const settings = { ...config, dataDir: resolve(io.cwd, config.dataDir) };
      const source = resolve(io.cwd, file);
      if (!existsSync(source))
        throw new CliError(EXIT.noAnswer, `${file} cannot be read: there is no such file.`);
      if (options.check) return check(io, settings, { source, file, json: options.json ?? false });
      await restore(io, settings, { ...options, source, file, store: resolve(io.cwd, path) });
    });
}

interface Given {
  source: string;
  /** The name of the backup as it was given. */
  file: string;
  json: boolean;
}

async function check(io: IO, settings: Config, { source, file, json }: Given): Promise<void> {
  usable(file, () => requireOneFile(source));
  const verified = await verifyCopy(io, settings, source, file);
  if (json) printJson(io, { file: source, verified });
  else say(io, `${file} can be restored: ${summaryOf(verified)}`);
}

async function restore(
  io: IO,
  settings: Config,
  given: Omit<Given, 'json'> & Options & { store: string },
): Promise<void> {
  const { source, file, force = false, store, json } = given;
  const restoring = begin(store, force);
  try {
    if (io.stderr.isTTY) say(io, 'Copying…');
    const bytes = usable(file, () => restoring.copy(source));
    const verified = await verifyCopy(io, settings, restoring.draft, file);
    const kept = replaced(restoring);
    if (json) return printJson(io, { file: source, store: restoring.path, bytes, kept, verified });
    tell(io, settings, { file, store: restoring.path, kept, verified });
  } finally {
    restoring.close();
  }
}

function begin(store: string, force: boolean): Restore {
  try {
    return new Restore(store, force);
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    const said = ['EACCES', 'EPERM', 'EROFS'].includes(code)
      ? `${dirname(store)} cannot be written (${code}): run this as the user of the service, or give the folder to that user.`
      : message;
    throw new CliError(EXIT.noAnswer, said, { cause: error });
  }
}

function replaced(restoring: Restore): string | null {
  try {
    return restoring.finish(Date.now());
  } catch (error) {
    throw isDiskFault(error) ? diskFault(error as Error) : error;
  }
}

function usable<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw unusable(file, error as Error);
  }
}

interface Done {
  file: string;
  store: string;
  kept: string | null;
  verified: CopyReport;
}

function tell(io: IO, settings: Config, { file, store, kept, verified }: Done): void {
  const near = (path: string) => relative(io.cwd, path) || path;
  say(io, `${near(store)} is now what ${file} holds: ${summaryOf(verified)}`);
  if (kept !== null)
    say(io, `The store that was there is kept as ${near(kept)}: remove it once nobody needs it.`);
  const key = masterKeyPath(settings.dataDir);
  if (settings.masterKey === null && !existsSync(key)) {
    say(
      io,
      `Before the start, put the master key of the store at ${near(key)}, or set TOOLGATE_MASTER_KEY to it.`,
    );
  }
  for (const line of MEANS) say(io, `- ${line}`);
}
