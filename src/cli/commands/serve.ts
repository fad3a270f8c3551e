// toolgate serve: runs the service until it receives a signal to stop.

import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Log } from '../../log.ts';
import type { PrintApproval, Running, Welcome } from '../../main.ts';
import { SecretFile } from '../../process/printed-secrets.ts';
import { type Config, ConfigError, loadConfig } from '../../settings/config.ts';
import { banner, SETUP_LINK, secretsOf } from '../banner.ts';
import { EXIT } from '../exit.ts';
import { type AtHangup, onHangup } from '../hangup.ts';
import { command } from '../help.ts';
import { type IO, say } from '../io.ts';
import { WorkerLink, Workers } from '../workers.ts';

/** The disk failed to sync, or the files of the store were removed or replaced: a person should look before a restart. */
const EXIT_STORE_BROKEN = 70;

export function build(io: IO): Command {
  const what = 'Run the service. Settings are environment variables; `toolgate config` lists them.';
  const examples = ['toolgate serve', 'TOOLGATE_PORT=9000 toolgate serve', 'toolgate serve --workers 4'];
  return command('serve', what, examples)
    .addOption(
      new Option('--workers <n>', 'processes that share the port; more than one needs PostgreSQL')
        .default(1)
        .argParser(workerCount),
    )
    .addOption(new Option('--worker <n>').argParser(Number).hideHelp())
    .action(async (options: ServeOptions) => {
      // The first process of a container without an init has to wait for orphaned processes.
      if (process.pid === 1 && process.platform === 'linux') (await import('../reaper.ts')).reapOrphans();
      await (options.workers > 1 ? serveMany(io, options) : serve(io, options));
    });
}

interface ServeOptions {
  workers: number;
  /** The number of this process among several workers. */
  worker?: number;
}

function workerCount(text: string): number {
  if (!/^[1-9]\d?$/.test(text)) throw new InvalidArgumentError('It is a whole number from 1 to 99.');
  return Number(text);
}

async function serveMany(io: IO, { workers }: ServeOptions): Promise<void> {
  try {
    const { config } = loadConfig(io.env, io.cwd);
    if (!config.databaseUrl?.startsWith('postgres')) {
      throw new ConfigError(
        'Several workers need PostgreSQL: one SQLite file serves one process. Set TOOLGATE_DATABASE_URL=postgres://…, or leave --workers out.',
      );
    }
    const { createLog } = await import('../../log.ts');
    const log = createLog(config.logLevel, line => io.stderr.write(line));
    process.exit(await new Workers(io, log, workers, config.port).run());
  } catch (error) {
    say(io, `toolgate: ${explain(error)}`);
    process.exit(EXIT.failed);
  }
}

async function serve(io: IO, { worker }: ServeOptions): Promise<void> {
  let where = 'The port';
  // Whoever sends it while the service starts must not end it.
  const atHangup: AtHangup = { stop: () => process.exit(EXIT.failed), reload: () => {} };
  onHangup(io, atHangup);
  try {
    const loaded = loadConfig(io.env, io.cwd);
    where = `Port ${loaded.config.port} of ${loaded.config.host}`;
    const [{ createLog }, { start }] = await Promise.all([import('../../log.ts'), import('../../main.ts')]);
    const log = createLog(loaded.config.logLevel, line => io.stderr.write(line));
    for (const name of loaded.config.unknown)
      log.warn({ name }, 'unknown setting in the environment; `toolgate config` lists them');
    const onFatal = (error: Error) => {
      log.fatal({ err: error }, 'the store is broken; stopping at once');
      process.exit(EXIT_STORE_BROKEN);
    };
    const link = worker === undefined ? null : new WorkerLink();
    const file = prints(io, loaded.config) ? null : new SecretFile(loaded.config.dataDir);
    const readConfig = () => loadConfig(io.env, io.cwd).config;
    const print = printer(io, file);
    const running = await start(loaded.config, { log, onFatal, print, others: link, readConfig });
    // The handlers come first, because a signal may arrive as soon as we report that we serve, in the log or to the others.
    const stop = stopOnSignals(running, log);
    Object.assign(atHangup, { stop: () => stop('SIGHUP'), reload: running.reload });
    running.announce();
    link?.ready(running, () => stop('SIGTERM'));
    if (worker === undefined || worker === 1) {
      if (['0', 'false'].includes(io.env['NODE_TLS_REJECT_UNAUTHORIZED'] ?? '')) log.warn(UNVERIFIED);
      await running.welcome(shown => greet(io, running, loaded.config, shown, file));
    }
  } catch (error) {
    say(io, `toolgate: ${explain(error, where)}`);
    // A half-open store or listener must not keep the process alive.
    process.exit(EXIT.failed);
  }
}

/** A person reads a terminal; anything else that standard output leads to may keep what is printed. */
function prints(io: IO, { printSecrets }: Config): boolean {
  return printSecrets === 'always' || (printSecrets === 'terminal' && io.stdout.isTTY);
}

function printer(io: IO, file: SecretFile | null): PrintApproval {
  return async (about, textOf) => {
    await file?.keep([{ ...about, text: textOf(null) }]);
    io.stdout.write(textOf(file?.path ?? null));
  };
}

async function greet(
  io: IO,
  { url, port }: Running,
  { dataDir }: Config,
  shown: Welcome,
  file: SecretFile | null,
): Promise<void> {
  // An earlier link is dead, whether or not there is a new one.
  await file?.keep(secretsOf(url, shown), [SETUP_LINK]);
  await io.stdout.send(
    new TextEncoder().encode(await banner(io, url, shown, { port, dataDir }, file?.path ?? null)),
  );
}

const UNVERIFIED =
  'NODE_TLS_REJECT_UNAUTHORIZED is not obeyed: certificates of servers are verified. To trust an authority of your own, ' +
  'name the file with its certificate in NODE_EXTRA_CA_CERTS';

/** A Ctrl-C arrives twice: from the terminal, and passed on by the launcher. */
const ECHO_MS = 500;

function stopOnSignals(running: Running, log: Log): (signal: string) => Promise<void> {
  let since: number | null = null;
  const stop = async (signal: string) => {
    if (since !== null) {
      // A second signal stops the process at once.
      if (performance.now() - since > ECHO_MS) process.exit(EXIT.failed);
      return;
    }
    since = performance.now();
    log.info({ signal }, 'stopping');
    await running.stop();
    log.info('stopped');
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => stop(signal));
  return stop;
}

/** `where` is the address to listen on, as the beginning of a sentence. */
function explain(error: unknown, where = 'The port'): string {
  // What was opened could not be closed either. Why the start failed comes first.
  if (error instanceof SuppressedError) return explain(error.suppressed, where);
  if (error instanceof ConfigError) return error.message;
  const { message, code } = error as Error & { code?: string };
  return LISTENING[code ?? '']?.(where) ?? message;
}

/** Why a listener could not be opened. The system's error does not name the setting and often not the address. */
const LISTENING: Record<string, (where: string) => string> = {
  EADDRINUSE: where => `${where} is taken. Choose another with TOOLGATE_PORT, or stop what uses it.`,
  EACCES: where =>
    `${where} is not for this user: ports below 1024 are for root. Choose another with TOOLGATE_PORT.`,
  EADDRNOTAVAIL: () =>
    'This machine does not have the address in TOOLGATE_HOST. Use 127.0.0.1 for this machine alone, or 0.0.0.0 for every address it has.',
  EINVAL: () =>
    'TOOLGATE_HOST is not an address that can be listened on. Use 127.0.0.1 for this machine alone, or 0.0.0.0 for every address it has.',
};
