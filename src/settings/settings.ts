// Every setting with its name, meaning, default and reader. people-settings.ts has those about people, audit-settings.ts
// those about the audit log, and telemetry-settings.ts those about OpenTelemetry; config.ts finds the texts and compares
// settings with each other.

import { DEFAULT_PORT } from '../core/default-port.ts';
import { AUDIT_SETTINGS } from './audit-settings.ts';
import { NOTIFY_SETTINGS, PEOPLE_SETTINGS, SIGN_ON_SETTINGS } from './people-settings.ts';
import { optional, secret, setting } from './setting.ts';
import {
  cidrs,
  databaseUrl,
  duration,
  host,
  longText,
  masterKey,
  mcpMethods,
  oneOf,
  text,
  traceUrl,
  trueOrFalse,
  webUrl,
  wholeNumber,
} from './setting-readers.ts';
import { TELEMETRY_SETTINGS } from './telemetry-settings.ts';
import { toolsLock } from './tools-lock.ts';

const MIB = 1024 * 1024;

export const SETTINGS = {
  port: setting(
    'TOOLGATE_PORT',
    String(DEFAULT_PORT),
    wholeNumber(0, 65535),
    'Port to listen on; 0 takes a free one.',
  ),
  grpcPort: optional(
    'TOOLGATE_GRPC_PORT',
    wholeNumber(1, 65535),
    'Port for ext_authz over gRPC (Envoy’s Authorization/Check), without encryption. Default: none.',
  ),
  stopGrace: setting(
    'TOOLGATE_STOP_GRACE',
    '8s',
    duration,
    'How long a stop waits for calls under way; then they are given up, and their clients are told. Docker kills after 10 s unless told otherwise.',
  ),
  host: setting('TOOLGATE_HOST', '127.0.0.1', host, 'Address to listen on; 0.0.0.0 for every interface.'),
  publicUrl: optional(
    'TOOLGATE_PUBLIC_URL',
    webUrl,
    'Address under which people and agents reach the service; links are made with it. Default: http://<host>:<port>.',
  ),
  dataDir: setting(
    'TOOLGATE_DATA_DIR',
    './data',
    text,
    'Folder for the embedded database and generated secrets.',
  ),
  databaseUrl: optional(
    'TOOLGATE_DATABASE_URL',
    databaseUrl,
    'sqlite:<path> or postgres://…. Default: toolgate.db in the data folder.',
  ),
  databasePool: setting(
    'TOOLGATE_DATABASE_POOL',
    '8',
    wholeNumber(1, 100),
    'PostgreSQL connections for everything but checks.',
  ),
  databasePooling: setting(
    'TOOLGATE_DATABASE_POOLING',
    'session',
    oneOf('session', 'transaction'),
    'How a proxy in front of PostgreSQL lends connections; transaction for PgBouncer with pool_mode=transaction.',
  ),
  traceUrl: optional(
    'TOOLGATE_TRACE_URL',
    traceUrl,
    'Where operators look at traces, with {traceId}: the dashboard links the entries of traced calls to it. Default: no link.',
  ),
  logLevel: setting(
    'TOOLGATE_LOG_LEVEL',
    'info',
    oneOf('trace', 'debug', 'info', 'warn', 'error', 'silent'),
    'Lowest level of the log lines to write (JSON, to standard error).',
  ),
  printSecrets: setting(
    'TOOLGATE_PRINT_SECRETS',
    'terminal',
    oneOf('terminal', 'always', 'never'),
    'When the first key, the set-up link and approval links are printed: if standard output is a terminal, always or never. Otherwise they go into printed-secrets.txt in the data folder.',
  ),
  masterKey: secret(
    'TOOLGATE_MASTER_KEY',
    masterKey,
    'Base64 of 32 bytes; encrypts secrets at rest. Default: generated into the data folder. Replicas share one.',
  ),
  adminToken: secret(
    'TOOLGATE_ADMIN_TOKEN',
    longText(32),
    'Token for /admin/v1, 32 characters or more. Default: generated into the data folder.',
  ),
  queueLimit: setting(
    'TOOLGATE_QUEUE_LIMIT',
    '10000',
    wholeNumber(1, 1_000_000),
    'Checks that may wait for the audit commit; more are answered 503.',
  ),
  checkBodyLimit: setting(
    'TOOLGATE_CHECK_BODY_LIMIT',
    String(MIB),
    wholeNumber(1024, 64 * MIB),
    'Largest body of a check, of what is told, or of a new session, in bytes.',
  ),
  resultBodyLimit: setting(
    'TOOLGATE_RESULT_BODY_LIMIT',
    String(6 * MIB),
    wholeNumber(1024, 64 * MIB),
    'Largest body with a result that is to be looked at, in bytes.',
  ),
  mcpBodyLimit: setting(
    'TOOLGATE_MCP_BODY_LIMIT',
    String(4 * MIB),
    wholeNumber(1024, 64 * MIB),
    'Largest MCP message, in bytes.',
  ),
  policyBodyLimit: setting(
    'TOOLGATE_POLICY_BODY_LIMIT',
    String(8 * MIB),
    wholeNumber(1024, 64 * MIB),
    'Largest body with a policy, or with definitions of tools to accept, in bytes.',
  ),
  bodyLimit: setting(
    'TOOLGATE_BODY_LIMIT',
    String(64 * 1024),
    wholeNumber(1024, 64 * MIB),
    'Largest body of any other request, in bytes.',
  ),
  extAuthzOther: setting(
    'TOOLGATE_EXT_AUTHZ_OTHER',
    'initialize,ping,tools/list,notifications/*',
    mcpMethods,
    'What gateways may pass on besides tools/call, comma-separated: methods of MCP, responses, GET, DELETE; or allow, deny.',
  ),
  toolhiveSecret: secret(
    'TOOLGATE_TOOLHIVE_SECRET',
    longText(16),
    'Secret with which ToolHive signs its webhooks, 16 characters or more; where set, unsigned ones are refused.',
  ),
  obotSecret: secret(
    'TOOLGATE_OBOT_SECRET',
    longText(16),
    'Secret with which Obot signs its webhooks, 16 characters or more; where set, unsigned ones are refused.',
  ),
  approvalTimeout: setting(
    'TOOLGATE_APPROVAL_TIMEOUT',
    '60m',
    duration,
    'How long an approval stays open: 90s, 60m, 24h.',
  ),
  approvedFor: setting(
    'TOOLGATE_APPROVED_FOR',
    '24h',
    duration,
    'How long an approved call may still be made after the approval: 30m, 24h.',
  ),
  runRest: setting(
    'TOOLGATE_RUN_REST',
    '60m',
    duration,
    'How long marks and known values of calls that name no run and no session are remembered after the last call: 15m, 8h.',
  ),
  approvePage: setting(
    'TOOLGATE_APPROVE_PAGE',
    'auto',
    oneOf('auto', 'confirm'),
    'Whether an approval link submits itself (auto) or waits for a click (confirm).',
  ),
  maxOpenApprovalsPerSession: setting(
    'TOOLGATE_MAX_OPEN_APPROVALS_PER_SESSION',
    '20',
    wholeNumber(1, 1_000_000),
    'Approvals that may be open per session; further calls are denied.',
  ),
  maxOpenApprovalsPerKey: setting(
    'TOOLGATE_MAX_OPEN_APPROVALS_PER_KEY',
    '100',
    wholeNumber(1, 1_000_000),
    'Approvals that may be open per key; further calls are denied.',
  ),
  detailsMemory: setting(
    'TOOLGATE_DETAILS_MEMORY',
    String(64 * MIB),
    wholeNumber(0, 1024 * MIB),
    'Memory for the details of calls that wait for approval, in bytes; the oldest go first. 0 holds none.',
  ),
  tasksMemory: setting(
    'TOOLGATE_TASKS_MEMORY',
    String(64 * MIB),
    wholeNumber(0, 1024 * MIB),
    'Memory for calls that wait as tasks of MCP clients, and as much again for results that wait to be fetched, in bytes. 0 holds none.',
  ),
  resultsFor: setting(
    'TOOLGATE_RESULTS_FOR',
    '10m',
    duration,
    'How long the result of a task can be fetched after its end: 5m, 1h.',
  ),
  maxSessionsPerKey: setting(
    'TOOLGATE_MAX_SESSIONS_PER_KEY',
    '10000',
    wholeNumber(1, 1_000_000),
    'Active sessions that one key may have; no more are minted until some have ended.',
  ),
  trustedProxies: setting(
    'TOOLGATE_TRUSTED_PROXIES',
    '',
    cidrs,
    'Networks (CIDR, comma-separated) whose X-Forwarded-For is trusted.',
  ),
  ...NOTIFY_SETTINGS,
  allowPrivateNetworks: optional(
    'TOOLGATE_ALLOW_PRIVATE_NETWORKS',
    trueOrFalse,
    'Whether webhooks and Connected Tools may be on private addresses. Default: only while listening on loopback; documents of OAuth clients: only while the public URL is loopback.',
  ),
  ...SIGN_ON_SETTINGS,
  ...PEOPLE_SETTINGS,
  toolsList: setting(
    'TOOLGATE_TOOLS_LIST',
    'all',
    oneOf('all', 'callable'),
    'Whether tools/list shows every tool, or only those the credential could call.',
  ),
  toolDrift: setting(
    'TOOLGATE_TOOL_DRIFT',
    'allow',
    oneOf('allow', 'require_approval', 'deny'),
    'What happens to a call of a tool whose definition differs from the one first seen or last accepted.',
  ),
  toolsLock: optional(
    'TOOLGATE_TOOLS_LOCK',
    toolsLock,
    'A file with the accepted tool definitions, as `toolgate servers lock` writes it. While it is set, nothing else is accepted.',
  ),
  upstreamTimeout: setting(
    'TOOLGATE_UPSTREAM_TIMEOUT',
    '55s',
    duration,
    'How long a forwarded call may take without a sign of life; clients give up after 60 s by default.',
  ),
  maxCallsPerKey: setting(
    'TOOLGATE_MAX_CALLS_PER_KEY',
    '200',
    wholeNumber(1, 10_000),
    'Calls of one key that a process forwards at a time; further calls are denied.',
  ),
  maxCallsPerConnectedTool: setting(
    'TOOLGATE_MAX_CALLS_PER_CONNECTED_TOOL',
    '100',
    wholeNumber(1, 10_000),
    'Calls to one Connected Tool that a process forwards at a time; further calls are denied.',
  ),
  upstreamMax: setting(
    'TOOLGATE_UPSTREAM_MAX',
    '30m',
    duration,
    'How long a forwarded call may take in all, however much progress the tool server reports.',
  ),
  upstreamStart: setting(
    'TOOLGATE_UPSTREAM_START',
    '60s',
    duration,
    'How long the command of a stdio server may take to start; the first time it may have to be downloaded.',
  ),
  ...AUDIT_SETTINGS,
  ...TELEMETRY_SETTINGS,
  stdioStderr: setting(
    'TOOLGATE_STDIO_STDERR',
    'drop',
    oneOf('drop', 'inherit'),
    'What happens to the standard error of stdio servers: it is counted and dropped, or shown for debugging.',
  ),
};

type Settings = typeof SETTINGS;
export type Values = { [Name in keyof Settings]: ReturnType<Settings[Name]['read']> };
