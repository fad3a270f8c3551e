// Makes the parts that requests need, from the configuration and the store: the group commit, the MCP proxy, the
// metrics, and the sign-ins of people. src/main.ts starts and stops the service.

import pkg from '../../package.json' with { type: 'json' };
import type { VerifierKey } from '../core/log/checkpoint.ts';
import type { Tracer } from '../core/wire/span.ts';
import { SlackApi } from '../guard/approvals/notify/slack-bot/api.ts';
import { callableBy } from '../guard/check/callable.ts';
import { type CheckMemory, CheckWork, newMemory } from '../guard/check/check.ts';
import { GroupCommit } from '../guard/check/commit.ts';
import type { CommitObserver, CommittedGroup } from '../guard/check/group-work.ts';
import { GuardedCall } from '../guard/check/guarded-call.ts';
import { Learner } from '../guard/check/learner.ts';
import { OutcomeLog } from '../guard/check/outcomes.ts';
import { ReportedResults } from '../guard/check/reported-results.ts';
import type { CheckRequest, Verdict, Watched } from '../guard/check/request.ts';
import { Told } from '../guard/check/told.ts';
import { watchedCall } from '../guard/check/watched-again.ts';
import { type Principal, PrincipalMemory } from '../guard/credentials.ts';
import type { Deps } from '../guard/deps.ts';
import { ClientDocuments } from '../guard/people/client-documents.ts';
import { CompanyIssuer } from '../guard/people/company-issuer.ts';
import { CompanyTokens } from '../guard/people/company-tokens.ts';
import { Provider } from '../guard/people/provider.ts';
import { RateLimit } from '../guard/rate-limit.ts';
import { Rations } from '../guard/rations/rations.ts';
import { hashToken } from '../guard/secrets.ts';
import { ServerSignIns } from '../guard/server-sign-ins/server-sign-ins.ts';
import { HeldCalls } from '../guard/tasks/held-calls.ts';
import { type Left, Liveness } from '../guard/tasks/liveness.ts';
import { Feed } from '../http/serving/feed.ts';
import type { Services } from '../http/serving/services.ts';
import type { Log } from '../log.ts';
import { AwaitedAnswers } from '../mcp/awaited-answers.ts';
import { CallSlots } from '../mcp/call-slots.ts';
import { Hub } from '../mcp/hub.ts';
import { Listing } from '../mcp/listing.ts';
import { McpSessions } from '../mcp/mcp-sessions.ts';
import type { TaskServices } from '../mcp/services.ts';
import { TaskSubscriptions } from '../mcp/tasks/subscriptions.ts';
import { TaskRuns } from '../mcp/tasks/task-runs.ts';
import { TaskWatch } from '../mcp/tasks/task-watch.ts';
import type { Upstream } from '../mcp/upstream.ts';
import { detailsFamilies } from '../metrics/details.ts';
import { Metrics } from '../metrics/metrics.ts';
import { processFamilies } from '../metrics/process.ts';
import { rationFamilies } from '../metrics/rations.ts';
import { StoreReadings } from '../metrics/readings.ts';
import { taskFamilies } from '../metrics/tasks.ts';
import { telemetryFamilies } from '../metrics/telemetry-drops.ts';
import { upstreamFamilies } from '../metrics/upstreams.ts';
import { type Config, documentRules, targetRules } from '../settings/config.ts';
import { findKey } from '../store/keys.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { isEmbedded } from './open-store.ts';
import { ServerFileReader } from './server-file.ts';

export const VERSION: string = pkg.version;

const APPROVE_PER_MINUTE = 100;
const TASK_REQUESTS_PER_MINUTE = 600;

/**
 * With several replicas, calls that count against a limit have groups of their own: they wait for replicas that count
 * for the same, and other calls must not wait with them. SQLite has one writer, so there one group decides all.
 */
function groupCommit(
  deps: Deps,
  config: Config,
  observer: CommitObserver,
  memory: CheckMemory,
): GroupCommit<CheckRequest, Verdict> {
  if (isEmbedded(config))
    return new GroupCommit(deps.db, new CheckWork(deps, memory), config.queueLimit, observer);
  const metered = new GroupCommit(deps.db, new CheckWork(deps, memory), config.queueLimit, observer);
  const work = new CheckWork(deps, memory, true);
  return new GroupCommit(deps.db, work, config.queueLimit, observer, metered);
}

/** The services, and what only this folder and main.ts do with them. */
interface Made extends Services {
  serverFile: ServerFileReader;
}

export function createServices(
  config: Config,
  readConfig: () => Config,
  deps: Deps,
  adminToken: string,
  checkpointKey: VerifierKey,
  log: Log,
  telemetry: Telemetry | null,
): Made {
  const metrics = new Metrics(() => checks.depth);
  const feed = new Feed(deps.db, error => log.warn({ err: error }, 'events could not be read'));
  deps.db.onWake(() => feed.poke());
  const rations = new Rations();
  const observer = {
    committed: (group: CommittedGroup) => {
      metrics.checks.committed(group);
      feed.poke();
    },
    failed: (error: unknown) => {
      metrics.checks.commitFailed();
      log.error({ err: error }, 'audit commit failed');
    },
  };
  const learner = new Learner(deps, rations.turns, error =>
    log.error({ err: error }, 'what a trusted tool returned could not be recorded, so it is not known'),
  );
  const memory = newMemory(rations.turns, learner);
  const checks = groupCommit(deps, config, observer, memory);
  const serverSignIns = new ServerSignIns(deps, targetRules(config));
  const tracer = telemetry?.tracer ?? null;
  const guarded = (watched: Watched) =>
    new GuardedCall(deps, watched, error =>
      log.error({ err: error }, 'a result could not be looked at, so it is withheld'),
    );
  const earlierCall = async (principal: Principal, toolCallId: string) => {
    const watched = await watchedCall(deps, memory.policies, principal, toolCallId);
    return watched && guarded(watched);
  };
  const tasks = { ...taskServices(config, deps, log), earlierCall };
  const mcp = createMcp(
    config,
    deps,
    checks,
    learner,
    guarded,
    tasks,
    rations,
    serverSignIns,
    metrics,
    log,
    tracer,
  );
  includeSources(metrics, deps, mcp, rations);
  if (telemetry !== null) metrics.include(() => telemetryFamilies(telemetry.dropped));
  return {
    deps,
    checks,
    told: new Told(deps, memory.policies, learner),
    results: new ReportedResults(deps, {
      policies: memory.policies,
      learner,
      outcomes: mcp.outcomes,
      guarded,
    }),
    serverSignIns,
    mcp,
    serverFile: new ServerFileReader(config, readConfig, mcp.hub, log),
    feed,
    principals: new PrincipalMemory(deps, companyTokens(config, deps, log)),
    config,
    metrics,
    allMetrics: () => metrics.families(),
    log,
    tracer,
    targetRules: targetRules(config),
    rations,
    approveLimit: new RateLimit(APPROVE_PER_MINUTE, isEmbedded(config) ? null : deps.db),
    signOn: signOn(config),
    clientDocuments: new ClientDocuments(documentRules(config)),
    slack: config.slackBotToken === null ? null : new SlackApi(config.slackApiUrl, config.slackBotToken),
    adminTokenHash: hashToken(adminToken),
    checkpointKey,
    version: VERSION,
  };
}

/** What is not counted on the way, but known when somebody reads the metrics. */
function includeSources(
  metrics: Metrics,
  deps: Deps,
  { hub, tasks }: Services['mcp'],
  rations: Rations,
): void {
  const readings = new StoreReadings(deps);
  metrics.include(() => readings.families());
  metrics.include(() => upstreamFamilies(hub.conditions()));
  metrics.include(() => detailsFamilies(deps.details.figures));
  metrics.include(() => rationFamilies(rations.held));
  metrics.include(() => taskFamilies(tasks.calls.figures, deps.results.figures, deps.executing.size));
  metrics.include(() => processFamilies(VERSION, deps.db.moveErrors));
}

function createMcp(
  config: Config,
  deps: Deps,
  checks: Services['checks'],
  learner: Learner,
  guarded: Services['mcp']['guarded'],
  tasks: TaskServices,
  rations: Rations,
  serverSignIns: ServerSignIns,
  metrics: Metrics,
  log: Log,
  tracer: Tracer | null,
): Services['mcp'] {
  const onStderrDropped = (bytes: number) => metrics.stderrDropped(bytes);
  const rules = targetRules(config);
  const hub = new Hub(deps, { ...config, rules, rations, onStderrDropped, serverSignIns });
  const failed = ({ source: { name, keyId, toolServerId } }: Upstream, error: unknown) =>
    toolServerId === null
      ? log.warn({ connectedTool: name, keyId, err: error }, 'a Connected Tool cannot be listed')
      : log.warn({ toolServer: toolServerId, err: error }, 'a tool server cannot be listed');
  return {
    version: VERSION,
    checks,
    learner,
    guarded,
    hub,
    rations,
    tracer,
    listing: new Listing(deps, hub, config.toolDrift !== 'allow' || config.toolsLock !== null, failed),
    mcpSessions: new McpSessions(deps),
    awaited: new AwaitedAnswers(deps.db, error => log.warn({ err: error }, 'approvals could not be read')),
    serverSignIns,
    outcomes: new OutcomeLog(deps, error => log.error({ err: error }, 'outcomes could not be recorded')),
    timeoutMs: config.upstreamTimeout,
    maxMs: config.upstreamMax,
    slots: new CallSlots({
      perKey: config.maxCallsPerKey,
      perConnectedTool: config.maxCallsPerConnectedTool,
    }),
    onVerdict: ({ decision }, startedAt, span) =>
      metrics.checks.verdict(decision, 'mcp', (performance.now() - startedAt) / 1000, span),
    tasks,
    callable: config.toolsList === 'all' ? null : principal => callableBy(deps, principal),
    relayedFor: async keyId => (await findKey(deps.db, keyId))?.forward ?? [],
  };
}

function taskServices(config: Config, deps: Deps, log: Log): Omit<TaskServices, 'earlierCall'> {
  const failed = (what: string) => (error: unknown) => log.error({ err: error }, what);
  return {
    deps,
    calls: new HeldCalls(
      deps,
      config.tasksMemory,
      failed('it could not be recorded that the call of a task is not held any more'),
    ),
    runs: new TaskRuns(failed('the call of a task could not be made, or its end could not be recorded')),
    liveness: new Liveness(deps, {
      shared: !isEmbedded(config),
      failed: failed(
        'it could not be recorded that this process lives; it forwards nothing for tasks meanwhile',
      ),
      gaveUp: (left, isOwn) => tellLeft(log, left, isOwn),
    }),
    subscriptions: new TaskSubscriptions(
      new TaskWatch(deps, failed('tasks could not be read for those who listen to them')),
    ),
    requests: new RateLimit(
      TASK_REQUESTS_PER_MINUTE,
      isEmbedded(config) ? null : deps.db,
      'Too many requests about tasks with this key.',
    ),
    areOnFor: async keyId => (await findKey(deps.db, keyId))?.tasks === true,
  };
}

function tellLeft(log: Log, left: Left, isOwn: boolean): void {
  if (!isOwn) log.warn(left, 'a process has ended that forwarded calls, or held calls of tasks');
  else if (left.calls === 0) log.info(left, 'this process stops, and holds no calls of tasks any more');
  else log.warn(left, 'this process stops before its calls have ended: it is not known whether they ran');
}

function signOn(config: Config): Provider | null {
  const { oidcIssuer, oidcClientId } = config;
  if (oidcIssuer === null || oidcClientId === null) return null;
  return new Provider({ ...config, oidcIssuer, oidcClientId }, targetRules(config));
}

function companyTokens(config: Config, deps: Deps, log: Log): CompanyTokens | null {
  const { jwtIssuer, jwtAudience, jwtGroupsClaim } = config;
  if (jwtIssuer === null || jwtAudience === null) return null;
  const failed = (error: unknown) =>
    log.warn({ err: error }, 'the issuer of company tokens cannot be asked: new tokens are refused');
  const issuer = new CompanyIssuer({ jwtIssuer, jwtAudience }, targetRules(config), failed);
  return new CompanyTokens(deps, issuer, jwtGroupsClaim);
}
