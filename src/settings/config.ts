// Reads the configuration: settings from the environment or from a server file in YAML; the environment takes
// precedence. A wrong value stops the start with a sentence that says which setting is wrong, why, and what would be
// right.

import { join } from 'node:path';
import ipaddr from 'ipaddr.js';
import { type Channel, type Channels, typeOf } from '../core/channels/channels.ts';
import type { ShippingTargets } from '../core/log/shipping.ts';
import { TRACE_ID } from '../core/wire/trace-context.ts';
import { readChannels } from './channel-settings.ts';
import { ConfigError, readServerFile, type ServerFile } from './server-file.ts';
import type { Setting } from './setting.ts';
import { Wrong } from './setting-readers.ts';
import { SETTINGS, type Values } from './settings.ts';
import { readShipping } from './shipping-settings.ts';
import { StdioServers } from './stdio-servers.ts';
import { signalTargets } from './telemetry-settings.ts';

export { ConfigError };

export interface Config extends Values {
  /** The commands of the server file: of all that is configured, only they change while the service runs. */
  stdioServers: StdioServers;
  /** The named channels of the server file. */
  channels: Channels;
  /** Where the audit log is shipped to, from the server file. */
  shipping: ShippingTargets;
  /** Where each setting comes from, to be shown to people. */
  origins: Origin[];
  /** The file that was read, and whether it contains a secret. */
  serverFile: { path: string; secret: boolean } | null;
  /** Variables in the environment that look like settings and are none, probably misspelt. */
  unknown: string[];
}

interface Origin {
  name: string;
  env: string;
  meaning: string;
  fallback: string | null;
  /** The text as given, or the default; secrets are masked. */
  value: string | null;
  origin: 'default' | 'environment' | 'file';
}

export interface LoadedConfig {
  config: Config;
  file: string | null;
}

type Env = Record<string, string | undefined>;

/** Variables that clients, the command line and tests read; they are not settings of the service. */
const ELSEWHERE = /^TOOLGATE_(CONFIG|API_KEY|BASE_URL|WEBHOOK_SECRET|TEST_.*)$/;

export function loadConfig(env: Env, cwd: string): LoadedConfig {
  const file = readServerFile(env['TOOLGATE_CONFIG'], cwd, name => name in SETTINGS);
  const values: Record<string, unknown> = {};
  const origins: Origin[] = [];
  const later = new Map<string, ConfigError>();
  for (const [name, each] of Object.entries(SETTINGS) as [string, Setting<unknown>][]) {
    const given = env[each.env] || undefined;
    const raw = given ?? file.values[name] ?? each.fallback;
    const origin = given !== undefined ? 'environment' : file.values[name] !== undefined ? 'file' : 'default';
    values[name] = raw === null ? null : readSetting(origin === 'file' ? name : each.env, each, raw, later);
    const value = raw === null ? null : shown(each, raw);
    origins.push({ name, env: each.env, meaning: each.meaning, fallback: each.fallback, value, origin });
  }
  const unknown = unknownIn(env);
  const channels = readChannels(file.path, file.channels);
  const shipping = readShipping(file.path, file.shipping);
  const secret = holdsSecret(file, channels) || Object.keys(shipping).length > 0;
  const serverFile = file.path === null ? null : { path: file.path, secret };
  const stdioServers = new StdioServers(file.stdioServers);
  const config = { ...(values as Values), stdioServers, channels, shipping, origins, serverFile, unknown };
  checkTelemetry(config, later);
  checkTogether(config);
  return { config, file: file.path };
}

export function settingNames(): string[] {
  return Object.values(SETTINGS).map(each => each.env);
}

/** Variables that look like settings and are none. */
export function unknownIn(env: Env): string[] {
  const known = new Set(settingNames());
  return Object.keys(env).filter(
    name => name.startsWith('TOOLGATE_') && !known.has(name) && !ELSEWHERE.test(name),
  );
}

/** The base address of links; without the setting it is made from host and port. */
export function publicUrl(config: Config, port: number): string {
  if (config.publicUrl !== null) return config.publicUrl;
  const host = config.host === '0.0.0.0' || config.host === '::' ? 'localhost' : config.host;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** The path of the SQLite store; null when the store is PostgreSQL. */
export function embeddedPath({
  databaseUrl,
  dataDir,
}: Pick<Config, 'databaseUrl' | 'dataDir'>): string | null {
  if (databaseUrl === null) return join(dataDir, 'toolgate.db');
  return databaseUrl.startsWith('sqlite:') ? databaseUrl.slice('sqlite:'.length) : null;
}

export function listensOnLoopback({ host }: Config): boolean {
  return isLoopback(host);
}

function isLoopback(host: string): boolean {
  if (host === 'localhost') return true;
  return ipaddr.isValid(host) && ipaddr.process(host).range() === 'loopback';
}

/**
 * Where webhooks and Connected Tools may be. Private addresses are allowed while only this machine can reach the
 * service; otherwise the operator has to allow them.
 */
export function targetRules(config: Config): { allowPrivate: boolean } {
  return { allowPrivate: config.allowPrivateNetworks ?? listensOnLoopback(config) };
}

/**
 * Where the documents of OAuth clients may be. Strangers name those addresses, and a service that listens on loopback may
 * well be behind a proxy, so that is no reason to allow private ones: only a public URL that is loopback itself is.
 */
export function documentRules({ allowPrivateNetworks, publicUrl }: Config): { allowPrivate: boolean } {
  const host = publicUrl === null ? '' : new URL(publicUrl).hostname.replace(/^\[|\]$/g, '');
  return { allowPrivate: allowPrivateNetworks ?? isLoopback(host) };
}

/**
 * Variables of OpenTelemetry are often set for all programs of a platform. A wrong value is therefore put into `later`,
 * and stops the start only if it is used.
 */
function readSetting(
  name: string,
  each: Setting<unknown>,
  raw: string,
  later: Map<string, ConfigError>,
): unknown {
  try {
    return each.read(raw);
  } catch (error) {
    if (!(error instanceof Wrong)) throw error;
    const given = each.secret ? '(hidden)' : JSON.stringify(shown(each, raw));
    const fault = new ConfigError(`${name} is ${given}: it must be ${error.message}.`);
    if (!each.env.startsWith('OTEL_')) throw fault;
    later.set(each.env, fault);
    return each.fallback === null ? null : each.read(each.fallback);
  }
}

function checkTelemetry(config: Config, faults: ReadonlyMap<string, ConfigError>): void {
  if (config.otelDisabled) return;
  const sends = signalTargets(config).length > 0;
  for (const [name, fault] of faults) if (sends || name.endsWith('_ENDPOINT')) throw fault;
  if (sends && config.otelProtocol === 'grpc') {
    throw new ConfigError(
      'OTEL_EXPORTER_OTLP_PROTOCOL is grpc, which is not spoken here: set it to http/protobuf, and the endpoint to the ' +
        'collector’s port for HTTP, which is mostly 4318.',
    );
  }
}

function holdsSecret({ values, stdioServers }: ServerFile, channels: Channels): boolean {
  const settings = SETTINGS as Record<string, Setting<unknown>>;
  const hidden = ([name, raw]: [string, string | undefined]) => {
    const each = settings[name];
    return each !== undefined && raw !== undefined && shown(each, raw) !== raw;
  };
  // The environment of a tool server mostly contains a token.
  const given = Object.values(stdioServers).some(({ env }) => Object.keys(env).length > 0);
  return given || Object.values(channels).some(isSecret) || Object.entries(values).some(hidden);
}

/** Who knows the address of a webhook can post to it. */
function isSecret(channel: Channel): boolean {
  return 'url' in channel || 'webhookUrl' in channel;
}

/**
 * The text as people may see it: without secrets, and without what is one in many URLs: a password, a user name alone, and
 * the query of a web address, unless it is the pattern of a link.
 */
function shown(each: Setting<unknown>, raw: string): string {
  if (each.secret) return MASK;
  const url = raw
    .replace(/^(\s*[a-z]+:\/\/[^/@]*?:)[^@]*@/i, `$1${MASK}@`)
    .replace(/^(\s*https?:\/\/)[^/:@]+@/i, `$1${MASK}@`);
  return url.includes(TRACE_ID) ? url : url.replace(/^(\s*https?:[^?]*\?).+/is, `$1${MASK}`);
}

const MASK = '********';

function checkTogether(config: Config): void {
  if (config.checkpointAuthorization !== null && config.checkpointS3Key !== null) {
    throw new ConfigError(
      'TOOLGATE_CHECKPOINT_AUTHORIZATION and TOOLGATE_CHECKPOINT_S3_KEY are both set: a request has one of them.',
    );
  }
  if (!config.sealing && Object.keys(config.shipping).length > 0) {
    throw new ConfigError(
      'TOOLGATE_SEALING is false but the server file has shipping: only sealed entries are shipped. Set it to true, or ' +
        'take shipping out.',
    );
  }
  checkMail(config);
  checkSlack(config);
  checkChannels(config);
  checkSignOn(config);
  checkPeople(config);
}

function checkSignOn(config: Config): void {
  if ((config.oidcIssuer === null) !== (config.oidcClientId === null)) {
    throw new ConfigError(
      'TOOLGATE_OIDC_ISSUER and TOOLGATE_OIDC_CLIENT_ID go together: set both, or neither.',
    );
  }
  if (config.oidcDefaultRole !== null && config.oidcAllowedDomains.length === 0) {
    throw new ConfigError(
      'TOOLGATE_OIDC_DEFAULT_ROLE is set but TOOLGATE_OIDC_ALLOWED_DOMAINS is not: everybody with an account at the ' +
        'provider would become an operator. Set it to your domains, for example example.com.',
    );
  }
}

function checkPeople({ oauth, publicUrl, jwtIssuer, jwtAudience }: Config): void {
  if (oauth && (publicUrl === null || !isSafe(new URL(publicUrl)))) {
    throw new ConfigError(
      'TOOLGATE_OAUTH is on but TOOLGATE_PUBLIC_URL is not an https address: set it to the address under which people ' +
        'and agents reach the service, for example https://toolgate.example.com (or http://localhost:8787).',
    );
  }
  if ((jwtIssuer === null) !== (jwtAudience === null)) {
    throw new ConfigError('TOOLGATE_JWT_ISSUER and TOOLGATE_JWT_AUDIENCE go together: set both, or neither.');
  }
}

/** Codes and tokens must not be read on their way. */
function isSafe({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
}

function checkMail(config: Config): void {
  if (config.smtpUrl === null) return;
  if (config.mailFrom === null) {
    throw new ConfigError(
      'TOOLGATE_SMTP_URL is set but TOOLGATE_MAIL_FROM is not: set it to the sender, for example toolgate@example.com.',
    );
  }
  if (config.approverEmails.length === 0 && !Object.values(config.channels).some(isMail)) {
    throw new ConfigError(
      'TOOLGATE_SMTP_URL is set but TOOLGATE_APPROVER_EMAILS is not: set it to the approvers, for example ops@example.com.',
    );
  }
}

const isMail = ({ type }: Channel): boolean => type === 'email';

function checkSlack({ slackBotToken, slackSigningSecret }: Config): void {
  if ((slackBotToken === null) === (slackSigningSecret === null)) return;
  throw new ConfigError(
    'TOOLGATE_SLACK_BOT_TOKEN and TOOLGATE_SLACK_SIGNING_SECRET go together: set both, or neither.',
  );
}

function checkChannels(config: Config): void {
  for (const [name, channel] of Object.entries(config.channels)) {
    const fault = typeOf(channel).lacks?.(channel, config) ?? null;
    if (fault !== null) throw new ConfigError(`channels.${name} ${fault}`);
  }
}
