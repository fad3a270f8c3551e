// The options that say how a tool server is reached and signed in to: of `toolgate servers`, and of `toolgate tools` for a
// server of one key. A client secret is read from standard input, so that it is in no list of processes.

import { type Command, Option } from 'commander';
import type { ConnectedTool } from '../core/api/resources.ts';
import { usageError } from './exit.ts';
import type { IO } from './io.ts';

export interface OAuthOptions {
  oauth?: 'key' | 'person';
  clientId?: string;
  clientSecretStdin?: boolean;
  scopes?: string[];
  trustedHosts?: string[];
}

export interface TargetOptions extends OAuthOptions {
  url?: string;
  sse?: boolean;
  stdio?: string;
  header?: string[];
  trust?: Trust;
}

export interface ChangeOptions extends Omit<OAuthOptions, 'oauth'> {
  name?: string;
  url?: string;
  header?: string[];
  /** False with --no-headers. */
  headers?: boolean;
  /** False with --no-oauth. */
  oauth?: OAuthOptions['oauth'] | false;
  trust?: Trust;
}

type Trust = ConnectedTool['trust'];
const TRUSTS: readonly Trust[] = ['first', 'reviewed'];

const HEADER = 'a header for every request to it, "Name: value"; stored encrypted';

/** `trust` is the one that is meant where none is given, if it is not the API's own. */
export function withTarget(made: Command, whose: string, trust?: Trust): Command {
  return withOAuth(
    made
      .option('--url <url>', 'its MCP endpoint')
      .option('--sse', 'it speaks the older HTTP+SSE transport')
      .option('--stdio <server>', 'the name of a command declared in the server file')
      .option('--header <header...>', HEADER)
      .addOption(trustOption().default(trust)),
    whose,
  );
}

/** `name` says what another name means. */
export function withChanges(made: Command, whose: string, name: string): Command {
  made
    .option('--name <name>', name)
    .option('--url <url>', 'its MCP endpoint from now on')
    .option('--header <header...>', `${HEADER}, in place of all headers before`)
    .option('--no-headers', 'remove its headers')
    .addOption(trustOption());
  return withOAuth(made, whose).option('--no-oauth', 'it wants no OAuth any more');
}

function trustOption(): Option {
  const what =
    'whether the first definition that a tool shows is accepted (first), or somebody has to look (reviewed)';
  return new Option('--trust <trust>', what).choices(TRUSTS);
}

function withOAuth(made: Command, whose: string): Command {
  const what = `it wants OAuth: one sign-in for ${whose}, or one of each person`;
  return made
    .addOption(new Option('--oauth <as>', what).choices(['key', 'person']))
    .option('--client-id <id>', 'for servers that register no clients: the id of your app there')
    .option('--client-secret-stdin', 'read that app’s secret from standard input; stored encrypted')
    .option('--scopes <scope...>', 'what to ask the server for, if not what it says by itself')
    .option('--trusted-hosts <host...>', 'hosts besides the issuer’s that its authorization server may use');
}

/** What the API is told about a new server, but for its name. */
export async function fieldsOf(io: IO, options: TargetOptions): Promise<Record<string, unknown>> {
  const { trust } = options;
  return { ...targetIn(options), ...(trust && { trust }), ...(await oauthIn(io, options)) };
}

function targetIn({ url, sse, stdio, header, oauth }: TargetOptions): Record<string, unknown> {
  if ((url === undefined) === (stdio === undefined)) throw usageError('Name either --url or --stdio.');
  if (stdio !== undefined && (oauth !== undefined || header !== undefined || sse))
    throw usageError('--oauth, --header and --sse are for servers with a --url.');
  if (stdio !== undefined) return { transport: 'stdio', server: stdio };
  return { transport: sse ? 'sse' : 'http', url, ...headersIn(header) };
}

function headersIn(header: string[] | undefined): { headers?: Record<string, string> } {
  return header === undefined ? {} : { headers: Object.fromEntries(header.map(pair)) };
}

function pair(header: string): [string, string] {
  const found = /^([^:\s]+):\s*(.*)$/.exec(header);
  if (found === null) throw usageError('A header is written "Name: value".');
  return [found[1] as string, found[2] as string];
}

/** What a new server says about OAuth; nothing where it does not want it. */
async function oauthIn(io: IO, options: OAuthOptions): Promise<Record<string, unknown>> {
  const settings = await oauthSettings(io, options);
  if (options.oauth !== undefined) return { auth: 'oauth', oauth: { as: options.oauth, ...settings } };
  if (Object.keys(settings).length > 0)
    throw usageError(
      '--client-id, --client-secret-stdin, --scopes and --trusted-hosts go with --oauth key or --oauth person.',
    );
  return {};
}

async function oauthSettings(
  io: IO,
  { clientId, clientSecretStdin, scopes, trustedHosts }: OAuthOptions,
): Promise<Record<string, unknown>> {
  const clientSecret = clientSecretStdin ? (await io.stdin.text()).trim() : undefined;
  if (clientSecret === '') throw usageError('Standard input holds no client secret.');
  return {
    ...(clientId === undefined ? {} : { clientId }),
    ...(clientSecret === undefined ? {} : { clientSecret }),
    ...(scopes === undefined ? {} : { scopes }),
    ...(trustedHosts === undefined ? {} : { trustedHosts }),
  };
}

/** What the API is told about a server that is changed. */
export async function changesOf(
  io: IO,
  server: Pick<ConnectedTool, 'oauth'>,
  options: ChangeOptions,
): Promise<Record<string, unknown>> {
  const { name, url, header, headers, trust } = options;
  return {
    ...(name !== undefined && { name }),
    ...(url !== undefined && { url }),
    ...(trust !== undefined && { trust }),
    ...(headers === false && { headers: null }),
    ...headersIn(header),
    ...(await oauthChanges(io, server, options)),
  };
}

/** The settings are replaced as a whole, so those that are not named are sent again; the secret stays by itself. */
async function oauthChanges(
  io: IO,
  { oauth: current }: Pick<ConnectedTool, 'oauth'>,
  { oauth: as, ...options }: ChangeOptions,
): Promise<Record<string, unknown>> {
  if (as === false) return { auth: 'headers' };
  if (current === null) return oauthIn(io, { ...options, ...(as !== undefined && { oauth: as }) });
  const settings = await oauthSettings(io, options);
  if (as === undefined && Object.keys(settings).length === 0) return {};
  const { hasClientSecret: _, ...before } = current;
  return { oauth: { ...before, ...(as !== undefined && { as }), ...settings } };
}
