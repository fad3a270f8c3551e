// toolgate audit verify, prove and checkpoints: the sealed audit log. `verify` works offline, with the store or with
// copies of the log and its checkpoints; the other two ask the service.

import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import type { Checkpoint } from '../../core/api/resources.ts';
import { parseDuration } from '../../core/time/duration.ts';
import { loadConfig } from '../../settings/config.ts';
import { CliError, EXIT } from '../exit.ts';
import { openExportedLog } from '../exported-log.ts';
import { command } from '../help.ts';
import type { IO } from '../io.ts';
import { type ListOptions, printList, withList } from '../list.ts';
import { printJson, time } from '../print.ts';
import { type AdminOptions, asAdmin, withAdmin, withJson } from '../service-options.ts';
import { explain, readKey, verify } from '../verify.ts';

const OWN_KEY =
  'The public key is the one in the data folder: this proves nothing against somebody who can write there.';

interface VerifyOptions {
  log?: string;
  databaseUrl?: string;
  checkpoints?: string[];
  publicKey?: string;
  retention?: number;
  json?: boolean;
}

export function verifyCommand(io: IO): Command {
  const what =
    'Compare the audit log with its signed checkpoints, offline. Exit 0: as signed; 1: tampered with; 3: cannot be read.';
  const made = command('verify', what, [
    'toolgate audit verify',
    'toolgate audit verify --checkpoints kept-elsewhere.txt --public-key audit.pub',
    'toolgate audit verify --log sealed.jsonl --checkpoints checkpoints.txt --public-key audit.pub',
  ])
    .option(
      '--log <file>',
      'an export made with audit export --sealed, or what was shipped: a file or a folder; else the store is read',
    )
    .option('--database-url <url>', 'the store (TOOLGATE_DATABASE_URL, or the data folder)')
    .option('--checkpoints <files...>', 'checkpoints kept elsewhere; else those in the data folder')
    .option('--public-key <key>', 'the log’s public key or a file with it; else the one in the data folder')
    .option('--retention <duration>', 'how long entries had to be kept at least, such as 90d', duration);
  return withJson(made).action(async (options: VerifyOptions) => {
    const { dataDir, databaseUrl } = loadConfig(io.env, io.cwd).config;
    const folder = resolve(io.cwd, dataDir);
    const source = await open(io, options, databaseUrl ?? `sqlite:${join(folder, 'toolgate.db')}`);
    try {
      const key = readKey(io, options.publicKey ?? inFolder(folder, 'checkpoints.pub', '--public-key'));
      const files = checkpointFiles(folder, options);
      const found = await verify(io, source, { key, files, retention: options.retention ?? null });
      if (options.publicKey === undefined) found.notices.push(OWN_KEY);
      if (options.json) printJson(io, found);
      else explain(io, found);
      if (!found.ok) io.exit(EXIT.failed);
    } finally {
      await source.close();
    }
  });
}

function duration(text: string): number {
  const ms = parseDuration(text);
  if (ms === null) throw new InvalidArgumentError('It must be a duration such as 90d or 8760h.');
  return ms;
}

async function open(io: IO, options: VerifyOptions, stored: string) {
  if (options.log !== undefined) return openExportedLog(options.log, resolve(io.cwd, options.log));
  // Only this command needs the code of the store, so the other commands start without loading it.
  const { openStoreLog } = await import('../sealed-source.ts');
  const url = options.databaseUrl ?? stored;
  const path = url.startsWith('sqlite:') ? `sqlite:${resolve(io.cwd, url.slice('sqlite:'.length))}` : url;
  return openStoreLog(path);
}

function checkpointFiles(folder: string, { checkpoints, log }: VerifyOptions): string[] {
  if (checkpoints !== undefined) return checkpoints;
  const kept = join(folder, 'checkpoints.txt');
  if (existsSync(kept)) return [kept];
  return log === undefined ? [] : [inFolder(folder, 'checkpoints.txt', '--checkpoints')];
}

function inFolder(folder: string, name: string, option: string): string {
  const path = join(folder, name);
  if (existsSync(path)) return path;
  throw new CliError(EXIT.noAnswer, `There is no ${path}: give ${option}.`);
}

export function proveCommand(io: IO): Command {
  const made = command(
    'prove',
    'Print a proof, as JSON, that a tool call is in the signed audit log; the clients verify it.',
    ['toolgate audit prove 019a8c3e-7b1d-7c52-9d0e-3f6b1c2a4d5e > proof.json'],
  ).argument('<toolCallId>', 'from the verdict, or the id of an audit entry');
  return withAdmin(made).action(async (id: string, options: AdminOptions) => {
    printJson(io, await asAdmin(io, options).get(`/audit/${encodeURIComponent(id)}/proof`));
  });
}

export function checkpointsCommand(io: IO): Command {
  const made = command(
    'checkpoints',
    'List the signed checkpoints, newest first, or print them to keep elsewhere.',
    [
      'toolgate audit checkpoints --limit 5',
      'toolgate audit checkpoints --limit 1 --notes >> kept-elsewhere.txt',
      'toolgate audit checkpoints --public-key > audit.pub',
    ],
  )
    .option('--notes', 'print the signed notes themselves, oldest first')
    .option('--public-key', 'print the key that verifies them');
  interface Options extends AdminOptions, ListOptions {
    notes?: boolean;
    publicKey?: boolean;
  }
  return withAdmin(withList(made)).action(async (options: Options) => {
    const http = asAdmin(io, options);
    if (options.publicKey) {
      const { publicKey } = await http.get<{ publicKey: string }>('/audit/sealing');
      return io.stdout.write(`${publicKey}\n`);
    }
    if (options.notes) {
      const { limit, cursor } = options;
      const { items } = await http.page<Checkpoint>('/audit/checkpoints', 'checkpoints', {
        limit,
        cursor,
      });
      return io.stdout.write(
        items
          .map(each => `\n${each.note}\n`)
          .reverse()
          .join(''),
      );
    }
    await printList<Checkpoint>(io, http, options, {
      path: '/audit/checkpoints',
      plural: 'checkpoints',
      nothing: 'Nothing is signed yet.',
      columns: [
        ['TIME', each => time(each.createdAt)],
        ['ENTRIES', each => String(each.size)],
        ['PRUNED BEFORE', each => String(each.prunedBefore)],
        ['ROOT', each => each.root],
      ],
    });
  });
}
