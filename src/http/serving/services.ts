// What the routes work with: the parts of the running service. process/services.ts makes them once.

import type { VerifierKey } from '../../core/log/checkpoint.ts';
import type { MetricFamily } from '../../core/wire/metric.ts';
import type { Tracer } from '../../core/wire/span.ts';
import type { SlackApi } from '../../guard/approvals/notify/slack-bot/api.ts';
import type { GroupCommit } from '../../guard/check/commit.ts';
import type { ReportedResults } from '../../guard/check/reported-results.ts';
import type { CheckRequest, Verdict } from '../../guard/check/request.ts';
import type { Told } from '../../guard/check/told.ts';
import type { PrincipalMemory } from '../../guard/credentials.ts';
import type { Actor, Deps } from '../../guard/deps.ts';
import type { TargetRules } from '../../guard/outgoing/addresses.ts';
import type { ClientDocuments } from '../../guard/people/client-documents.ts';
import type { Provider } from '../../guard/people/provider.ts';
import type { RateLimit } from '../../guard/rate-limit.ts';
import type { Rations } from '../../guard/rations/rations.ts';
import type { ServerSignIns } from '../../guard/server-sign-ins/server-sign-ins.ts';
import type { Reloaded } from '../../guard/tool-servers/server-file.ts';
import type { Log } from '../../log.ts';
import type { McpServices } from '../../mcp/services.ts';
import type { Metrics } from '../../metrics/metrics.ts';
import type { Config } from '../../settings/config.ts';
import type { Feed } from './feed.ts';

export interface Services {
  deps: Deps;
  checks: GroupCommit<CheckRequest, Verdict>;
  /** Takes what people and trusted tools have said. */
  told: Told;
  /** Looks at results of calls that others have run. */
  results: ReportedResults;
  principals: PrincipalMemory;
  config: Config;
  metrics: Metrics;
  /** The metrics of all processes on this port. */
  allMetrics: () => Promise<MetricFamily[]>;
  log: Log;
  /** Begins the spans of requests. Null if no traces are sent. */
  tracer: Tracer | null;
  /** Which addresses webhooks may have. */
  targetRules: TargetRules;
  approveLimit: RateLimit;
  /** How much each caller may have at once. */
  rations: Rations;
  /** Null if single sign-on is not configured. */
  signOn: Provider | null;
  /** The documents in which OAuth clients describe themselves. */
  clientDocuments: ClientDocuments;
  /** Null if no Slack app is configured. */
  slack: SlackApi | null;
  /** Our sign-ins to the servers of Connected Tools. */
  serverSignIns: ServerSignIns;
  mcp: McpServices;
  /** The server file, which can be read again; `path` is null if there is none. */
  serverFile: { path: string | null; reload(deps: Deps, actor: Actor): Promise<Reloaded> };
  /** The stream of events for open pages of the dashboard. */
  feed: Feed;
  adminTokenHash: string;
  /** Verifies the audit log's checkpoints. */
  checkpointKey: VerifierKey;
  version: string;
}
