// Puts everything together: configuration, store, guard, HTTP server, and how they stop. It is the only file that
// imports all of them. It reads no environment variables and installs no signal handler; the command line does.

import pkg from '../package.json' with { type: 'json' };
import { startBackground } from './background.ts';
import { steadyClock } from './clock.ts';
import { type Config, publicUrl, targetRules } from './config.ts';
import { type VerifierKey, verifierKeyText } from './core/checkpoint.ts';
import type { MetricFamily } from './core/metric.ts';
import type { Tracer } from './core/span.ts';
import { keepMemoryOutOfDumps } from './core-dumps.ts';
import { adminTokenIn, adminTokenPath, makeDataDir, writeCheckpointKey } from './data-dir.ts';
import { type Demo, fillDemo } from './demo/fill.ts';
import { openFiles } from './file-modes.ts';
import { SlackApi } from './guard/approvals/notify/slack-bot/api.ts';
import { undeclaredChannels } from './guard/approvals/undeclared-channels.ts';
import { callableBy } from './guard/check/callable.ts';
import { CheckWork, newMemory } from './guard/check/check.ts';
import { type CommitObserver, GroupCommit } from './guard/check/commit.ts';
import { OutcomeLog } from './guard/check/outcomes.ts';
import type { CheckRequest, Verdict } from './guard/check/request.ts';
import { PrincipalMemory } from './guard/credentials.ts';
import type { Deps } from './guard/deps.ts';
import { setUpStore, showFirstKey } from './guard/first-start.ts';
import { takeOver } from './guard/leases.ts';
import { logKey } from './guard/log/sealed-log.ts';
import { ClientDocuments } from './guard/people/client-documents.ts';
import { CompanyIssuer } from './guard/people/company-issuer.ts';
import { CompanyTokens } from './guard/people/company-tokens.ts';
import { Provider } from './guard/people/provider.ts';
import { offerSetup } from './guard/people/setup.ts';
import { RateLimit } from './guard/rate-limit.ts';
import { hashToken } from './guard/secrets.ts';
import { ServerSignIns } from './guard/server-sign-ins/server-sign-ins.ts';
import { Feed } from './http/feed.ts';
import { openGrpc } from './http/grpc/open.ts';
import type { Services } from './http/route.ts';
import { serve } from './http/server.ts';
import type { Log } from './log.ts';
import { Hub } from './mcp/hub.ts';
import { Listing } from './mcp/listing.ts';
import { McpSessions } from './mcp/mcp-sessions.ts';
import { Places } from './mcp/places.ts';
import type { Upstream } from './mcp/upstream.ts';
import { detailsFamilies } from './metrics/details.ts';
import { mergedFamilies } from './metrics/merge.ts';
import { Metrics } from './metrics/metrics.ts';
import { processFamilies } from './metrics/process.ts';
import { StoreReadings } from './metrics/readings.ts';
import { telemetryFamilies } from './metrics/telemetry-drops.ts';
import { upstreamFamilies } from './metrics/upstreams.ts';
import { isEmbedded, openDeps, openStore } from './open-store.ts';
import { openTelemetry } from './open-telemetry.ts';
import { findKey } from './store/keys.ts';
import type { Telemetry } from './telemetry/telemetry.ts';

const VERSION: string = pkg.version;

export interface Running {
  url: string;
  port: number;
  /** The metrics of this process. */
  metrics: () => Promise<MetricFamily[]>;
  /**
   * Makes and shows what a person should see once: the first key of a new store and the link for the first operator. It
   * also logs which files other users can read. Only one of several processes that share a port does it, because a new
   * link ends the one before.
   */
  welcome: (show: (welcome: Welcome) => Promise<void>) => Promise<void>;
  /** Finishes the work in progress, then releases all resources. */
  stop: () => Promise<void>;
}

export interface Welcome {
  key: string | null;
  setupUrl: string | null;
  adminTokenPath: string | null;
}

interface Environment {
  log: Log;
  /** Called when it is unknown whether a write is durable. */
  onFatal: (error: Error) => void;
  /** Prints notifications for the terminal. */
  print: (text: string) => void;
  now?: () => number;
  /** The other processes on the same port, if there are any; they are asked for their metrics. */
  others?: { gather(): Promise<[worker: number, families: MetricFamily[]][]> } | null;
}

const APPROVE_PER_MINUTE = 100;

export async function start(
  config: Config,
  { log, onFatal, others = null, print, now = clockOf(log) }: Environment,
): Promise<Running> {
  keepMemoryOutOfDumps();
  makeDataDir(config.dataDir);
  const db = await openStore(config, onFatal);
  let telemetry: Telemetry | null = null;
  try {
    const deps = await openDeps(config, db, now);
    if (isEmbedded(config)) await takeOver(deps);
    const adminToken = config.adminToken ?? adminTokenIn(config.dataDir);
    const checkpointKey = await logKey(deps);
    writeCheckpointKey(config.dataDir, verifierKeyText(checkpointKey));
    telemetry = await openTelemetry(config, log, VERSION, () => services.metrics.families());
    const services = createServices(config, deps, adminToken, checkpointKey, log, telemetry);
    if (others !== null) services.allMetrics = async () => mergedFamilies(await others.gather());
    const serving = serve(services, config.host, config.port, others !== null);
    const grpc = await openGrpc(config, serving.ask, others !== null);
    const url = publicUrl(config, serving.port);
    services.serverSignIns.servedAt(url);
    const background = startBackground(config, services, url, print);
    log.info({ url, version: VERSION }, 'serving');
    let welcomed: Promise<void> | null = null;
    const stop = async () => {
      // The store records first that the key was shown.
      await welcomed?.catch(() => {});
      services.mcp.mcpSessions.close();
      await services.feed.close();
      await Promise.all([serving.stop(), grpc?.stop()]);
      services.mcp.hub.close();
      await services.mcp.outcomes.flush();
      await services.checks.drain();
      await background.stop();
      await services.serverSignIns.settle();
      deps.details.close();
      await telemetry?.stop();
      await db.close();
    };
    return {
      url,
      port: serving.port,
      metrics: () => services.metrics.families(),
      welcome: show => {
        welcomed = welcome(config, deps, log, url, show);
        return welcomed;
      },
      stop,
    };
  } catch (error) {
    await telemetry?.stop();
    await db.close();
    throw error;
  }
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
  const setupToken = await offerSetup(deps);
  const setupUrl = setupToken === null ? null : `${url}/dashboard/setup?token=${setupToken}`;
  const tokenPath = config.adminToken === null ? adminTokenPath(config.dataDir) : null;
  await showFirstKey(deps, key => show({ key, setupUrl, adminTokenPath: tokenPath }));
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

/**
 * With several replicas, calls that count against a limit have groups of their own: they wait for replicas that count
 * for the same, and other calls must not wait with them. SQLite has one writer, so there one group decides all.
 */
function groupCommit(
  deps: Deps,
  config: Config,
  observer: CommitObserver,
): GroupCommit<CheckRequest, Verdict> {
  const memory = newMemory();
  if (isEmbedded(config))
    return new GroupCommit(deps.db, new CheckWork(deps, memory), config.queueLimit, observer);
  const metered = new GroupCommit(deps.db, new CheckWork(deps, memory), config.queueLimit, observer);
  const work = new CheckWork(deps, memory, true);
  return new GroupCommit(deps.db, work, config.queueLimit, observer, metered);
}

function createServices(
  config: Config,
  deps: Deps,
  adminToken: string,
  checkpointKey: VerifierKey,
  log: Log,
  telemetry: Telemetry | null,
): Services {
  const metrics = new Metrics(() => checks.depth);
  const feed = new Feed(deps.db, error => log.warn({ err: error }, 'events could not be read'));
  deps.db.onWake(() => feed.poke());
  const checks = groupCommit(deps, config, {
    committed: group => {
      metrics.checks.committed(group);
      feed.poke();
    },
    failed: error => {
      metrics.checks.commitFailed();
      log.error({ err: error }, 'audit commit failed');
    },
  });
  const serverSignIns = new ServerSignIns(deps, targetRules(config));
  const tracer = telemetry?.tracer ?? null;
  const mcp = createMcp(config, deps, checks, serverSignIns, metrics, log, tracer);
  includeSources(metrics, deps, mcp.hub);
  if (telemetry !== null) metrics.include(() => telemetryFamilies(telemetry.dropped));
  return {
    deps,
    checks,
    serverSignIns,
    mcp,
    feed,
    principals: new PrincipalMemory(deps, companyTokens(config, deps, log)),
    config,
    metrics,
    allMetrics: () => metrics.families(),
    log,
    tracer,
    targetRules: targetRules(config),
    approveLimit: new RateLimit(APPROVE_PER_MINUTE, isEmbedded(config) ? null : deps.db),
    signOn: signOn(config),
    clientDocuments: new ClientDocuments(targetRules(config)),
    slack: config.slackBotToken === null ? null : new SlackApi(config.slackApiUrl, config.slackBotToken),
    adminTokenHash: hashToken(adminToken),
    checkpointKey,
    version: VERSION,
  };
}

/** What is not counted on the way, but known when somebody reads the metrics. */
function includeSources(metrics: Metrics, deps: Deps, hub: Hub): void {
  const readings = new StoreReadings(deps);
  metrics.include(() => readings.families());
  metrics.include(() => upstreamFamilies(hub.conditions()));
  metrics.include(() => detailsFamilies(deps.details.figures));
  metrics.include(() => processFamilies(VERSION));
}

function createMcp(
  config: Config,
  deps: Deps,
  checks: Services['checks'],
  serverSignIns: ServerSignIns,
  metrics: Metrics,
  log: Log,
  tracer: Tracer | null,
): Services['mcp'] {
  const onStderrDropped = (bytes: number) => metrics.stderrDropped(bytes);
  const hub = new Hub(deps, { ...config, rules: targetRules(config), onStderrDropped, serverSignIns });
  const failed = ({ tool }: Upstream, error: unknown) =>
    log.warn(
      { connectedTool: tool.name, keyId: tool.keyId, err: error },
      'a Connected Tool cannot be listed',
    );
  return {
    version: VERSION,
    checks,
    hub,
    tracer,
    listing: new Listing(deps, hub, config.toolDrift !== 'allow', failed),
    mcpSessions: new McpSessions(deps),
    serverSignIns,
    outcomes: new OutcomeLog(deps, error => log.error({ err: error }, 'outcomes could not be recorded')),
    timeoutMs: config.upstreamTimeout,
    maxMs: config.upstreamMax,
    places: new Places({ perKey: config.maxCallsPerKey, perConnectedTool: config.maxCallsPerConnectedTool }),
    onVerdict: ({ decision }, startedAt, span) =>
      metrics.checks.verdict(decision, 'mcp', (performance.now() - startedAt) / 1000, span),
    callable: config.toolsList === 'all' ? null : principal => callableBy(deps, principal),
    relayedFor: async keyId => (await findKey(deps.db, keyId))?.forward ?? [],
  };
}

function signOn(config: Config): Provider | null {
  const { oidcIssuer, oidcClientId } = config;
  if (oidcIssuer === null || oidcClientId === null) return null;
  return new Provider({ ...config, oidcIssuer, oidcClientId }, targetRules(config));
}

function companyTokens(config: Config, deps: Deps, log: Log): CompanyTokens | null {
  const { jwtIssuer, jwtAudience, jwtGroupsClaim, oidcIssuer } = config;
  if (jwtIssuer === null || jwtAudience === null) return null;
  const failed = (error: unknown) =>
    log.warn({ err: error }, 'the issuer of company tokens cannot be asked: new tokens are refused');
  const issuer = new CompanyIssuer({ jwtIssuer, jwtAudience }, targetRules(config), failed);
  const plain = (address: string | null) => address?.replace(/\/$/, '');
  return new CompanyTokens(deps, issuer, jwtGroupsClaim, plain(jwtIssuer) === plain(oidcIssuer));
}
