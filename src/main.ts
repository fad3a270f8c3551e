// Puts everything together: configuration, store, guard, HTTP server, and how they stop. Together with services.ts it
// imports all of them. It reads no environment variables and installs no signal handler; the command line does.

import { steadyClock } from './clock.ts';
import { verifierKeyText } from './core/log/checkpoint.ts';
import type { MetricFamily } from './core/wire/metric.ts';
import type { Demo } from './demo/fill.ts';
import type { PrintApproval } from './guard/approvals/notify/send.ts';
import { undeclaredChannels } from './guard/approvals/undeclared-channels.ts';
import type { Deps } from './guard/deps.ts';
import { setUpStore, showFirstKey } from './guard/first-start.ts';
import { takeOver } from './guard/leases.ts';
import { logKey } from './guard/log/sealed-log.ts';
import { offerSetup } from './guard/people/setup.ts';
import { lookAtSome } from './guard/tool-servers/looks.ts';
import { openGrpc } from './http/grpc/open.ts';
import { serve } from './http/server.ts';
import type { Services } from './http/serving/services.ts';
import type { Log } from './log.ts';
import { mergedFamilies } from './metrics/merge.ts';
import { startBackground } from './process/background.ts';
import { keepMemoryOutOfDumps } from './process/core-dumps.ts';
import { adminTokenIn, adminTokenPath, makeDataDir, writeCheckpointKey } from './process/data-dir.ts';
import { openFiles } from './process/file-modes.ts';
import { isEmbedded, openDeps, openStore } from './process/open-store.ts';
import { openTelemetry } from './process/open-telemetry.ts';
import { createServices, VERSION } from './process/services.ts';
import { type Config, publicUrl } from './settings/config.ts';
import type { Db } from './store/engine/db.ts';
import type { Progress } from './store/engine/migrate.ts';
import { readSetting } from './store/settings.ts';

export type { PrintApproval };

export interface Running {
  url: string;
  port: number;
  /** Logs that it serves, once signals can stop it. */
  announce: () => void;
  /** The metrics of this process. */
  metrics: () => Promise<MetricFamily[]>;
  /**
   * Makes and shows what a person should see once: the first key of a new store and the link for the first operator. It
   * also logs which files other users can read. Only one of several processes that share a port does it, because a new
   * link ends the one before.
   */
  welcome: (show: (welcome: Welcome) => Promise<void>) => Promise<void>;
  /** Reads the server file again, here and in the other processes on the port; logs it if that fails. */
  reload: () => Promise<void>;
  /** Does so in this process alone, which another one has asked for. */
  followReload: () => Promise<void>;
  /** Finishes the work in progress, within the grace period, then releases all resources. */
  stop: () => Promise<void>;
}

export interface Welcome {
  key: string | null;
  setupUrl: string | null;
  adminTokenPath: string | null;
}

interface Others {
  gather(): Promise<[worker: number, families: MetricFamily[]][]>;
  /** Has them read the server file again, and says what went wrong in them. */
  reload(): Promise<string[]>;
}

interface Environment {
  log: Log;
  /** Called when it is unknown whether a write is durable, or where it went. */
  onFatal: (error: Error) => void;
  /** Shows notifications for the terminal. */
  print: PrintApproval;
  now?: () => number;
  /** The other processes on the same port, if there are any; they are asked for their metrics. */
  others?: Others | null;
  /** Reads the configuration anew; a ConfigError says what is wrong with it. */
  readConfig: () => Config;
}

export async function start(
  config: Config,
  { log, onFatal, others = null, readConfig, print, now = clockOf(log) }: Environment,
): Promise<Running> {
  keepMemoryOutOfDumps();
  makeDataDir(config.dataDir);
  // What was opened is closed in reverse order, also if the start fails half way.
  await using opening = new AsyncDisposableStack();
  const db = await openStoreOf(config, log, onFatal);
  opening.defer(() => db.close());
  const deps = await openDeps(config, db, now, isEmbedded(config) ? undefined : progressIn(log));
  if (isEmbedded(config)) await takeOver(deps);
  // Until somebody has looked at a definition, calls of its tool are held.
  while (await lookAtSome(deps));
  if ((await readSetting(db, 'demo')) !== null) await (await import('./demo/live.ts')).holdDemoDetails(deps);
  const adminToken = config.adminToken ?? adminTokenIn(config.dataDir);
  const checkpointKey = await logKey(deps);
  writeCheckpointKey(config.dataDir, verifierKeyText(checkpointKey));
  const telemetry = await openTelemetry(config, log, {
    version: VERSION,
    oneOfSeveral: others !== null,
    families: () => services.metrics.families(),
  });
  opening.defer(() => telemetry?.stop());
  opening.defer(() => deps.details.close());
  opening.defer(() => deps.results.close());
  const services = createServices(config, readConfig, deps, adminToken, checkpointKey, log, telemetry);
  opening.defer(() => services.serverSignIns.settle());
  const { liveness } = services.mcp.tasks;
  await liveness.start();
  opening.defer(() => liveness.stop());
  if (others !== null) {
    services.allMetrics = async () => mergedFamilies(await others.gather());
    services.serverFile.tellOthers = () => others.reload();
  }
  // It is started when the address is known, and finishes what the last requests have left to do.
  let background: { stop: () => Promise<void> } | null = null;
  opening.defer(() => background?.stop());
  const doors: Door[] = [];
  opening.defer(() => shut(services, doors, config.stopGrace));
  const serving = serve(services, config.host, config.port, others !== null);
  doors.push({ stop: () => serving.stop(config.stopGrace, () => services.mcp.hub.giveUp()) });
  const grpc = await openGrpc(config, serving.ask, others !== null);
  if (grpc !== null) doors.push(grpc);
  const url = publicUrl(config, serving.port);
  services.serverSignIns.servedAt(url);
  background = await startBackground(config, services, url, print);
  const opened = opening.move();
  let stopped: Promise<void> | null = null;
  return {
    url,
    port: serving.port,
    announce: () => log.info({ url, version: VERSION }, 'serving'),
    metrics: () => services.metrics.families(),
    welcome: show => {
      const welcomed = welcome(config, deps, log, url, show);
      // The store records that the key was shown before anything else is closed.
      opened.defer(() => welcomed.catch(() => {}));
      return welcomed;
    },
    reload: () => reloaded(log, services.serverFile.reload(deps, 'system')),
    followReload: () => services.serverFile.follow(),
    stop: () => {
      stopped ??= opened.disposeAsync();
      return stopped;
    },
  };
}

function openStoreOf(config: Config, log: Log, onFatal: (error: Error) => void): Promise<Db> {
  // On PostgreSQL a start may wait: for the server, or for another replica. SQLite is there at once.
  if (!isEmbedded(config))
    log.info({ database: new URL(config.databaseUrl ?? '').host }, 'connecting to PostgreSQL');
  return openStore(config, onFatal, failure => tellMoving(log, failure));
}

/** Nobody waits for the result of a signal, so it is logged. */
async function reloaded(log: Log, reloading: Promise<unknown>): Promise<void> {
  await reloading.catch(error => log.error({ err: error }, 'the server file could not be read again'));
}

/** What takes requests. */
interface Door {
  stop: () => Promise<void>;
}

/** Closes all doors at once, and finishes what came in through them. */
async function shut({ mcp, feed, checks }: Services, doors: readonly Door[], graceMs: number): Promise<void> {
  const stopped = doors.map(door => door.stop());
  // These streams have no end of their own, so they would hold up the stop.
  mcp.mcpSessions.endStreams();
  mcp.tasks.subscriptions.end();
  mcp.awaited.giveUp();
  const tasksEnded = mcp.tasks.runs.stop(graceMs, () => mcp.hub.giveUp());
  await Promise.all([feed.close(), tasksEnded, ...stopped]);
  mcp.tasks.calls.close();
  mcp.hub.close();
  await mcp.outcomes.flush();
  await checks.drain();
}

function progressIn(log: Log): Progress {
  return {
    waits: () => log.info('waiting for another replica that prepares the same store'),
    applies: ({ version, name }) => log.info({ version, name }, 'preparing the store: a migration begins'),
  };
}

function tellMoving(log: Log, failure: unknown): void {
  if (failure === null) log.info('the write-ahead log of the store can be moved into its file again');
  else
    log.error({ err: failure }, 'the write-ahead log of the store cannot be moved into its file: it grows');
}

async function welcome(
  config: Config,
  deps: Deps,
  log: Log,
  url: string,
  show: (welcome: Welcome) => Promise<void>,
): Promise<void> {
  for (const { file, mode, advice } of openFiles(config)) log.warn({ file, mode }, advice);
  for (const about of await undeclaredChannels(deps))
    log.warn(
      about,
      'a channel is named that the server file does not declare: its questions are told to nobody',
    );
  const tokenPath = config.adminToken === null ? adminTokenPath(config.dataDir) : null;
  await showFirstKey(deps, async key => {
    // Only one replica at a time is here, so the link that is shown last is the one that holds.
    const setupToken = await offerSetup(deps);
    const setupUrl = setupToken === null ? null : `${url}/dashboard/setup?token=${setupToken}`;
    await show({ key, setupUrl, adminTokenPath: tokenPath });
  });
}

export interface DemoStore extends Demo {
  /** A key of the policy `default`, if the store was new. */
  key: string | null;
}

/** How long before the demo the store was first started: its week of data and some time before. */
const DEMO_AGE_MS = 30 * 86_400_000;

/** Fills the configured store with the demo's week. With SQLite, the service must not run at the same time. */
export async function fillStore(
  config: Config,
  force: boolean,
  progress: (what: string) => void,
): Promise<DemoStore> {
  const { fillDemo } = await import('./demo/fill.ts');
  makeDataDir(config.dataDir);
  // A failure of the disk is thrown here as an error and ends the command.
  const db = await openStore(config, () => {});
  try {
    const deps = await openDeps(config, db, Date.now);
    const key = await setUpStore({ ...deps, now: () => Date.now() - DEMO_AGE_MS });
    return { key, ...(await fillDemo(deps, force, progress)) };
  } finally {
    await db.close();
  }
}

function clockOf(log: Log): () => number {
  return steadyClock(backMs =>
    log.warn({ backMs }, 'the clock was set back; time goes on from where it was until a restart'),
  );
}
