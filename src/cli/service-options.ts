// Finds the address of the service and the credential to use: from options, from the environment or, on the same
// machine, from the data folder. Every command that uses the service declares its options here, with the same texts.

import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { DEFAULT_PORT } from '../core/default-port.ts';
import { usageError } from './exit.ts';
import { Http } from './http.ts';
import type { IO } from './io.ts';

export interface ServiceOptions {
  baseUrl?: string;
  json?: boolean;
}
export interface KeyOptions extends ServiceOptions {
  key?: string;
}
export interface AdminOptions extends ServiceOptions {
  adminToken?: string;
}

export const GROUP = 'Connection:';

export function withService(command: Command): Command {
  const url = `where the service is (TOOLGATE_BASE_URL; default: this machine, port TOOLGATE_PORT or ${DEFAULT_PORT})`;
  return withJson(command).addOption(new Option('--base-url <url>', url).helpGroup(GROUP));
}

export function withKey(command: Command): Command {
  const key = new Option('--key <key>', 'a key or session token (TOOLGATE_API_KEY)').helpGroup(GROUP);
  return withService(command).addOption(key);
}

export function withAdmin(command: Command): Command {
  const where = 'the admin token (TOOLGATE_ADMIN_TOKEN, or on the same machine the data folder)';
  return withService(command).addOption(new Option('--admin-token <token>', where).helpGroup(GROUP));
}

/** For commands that a key may use for its own resources, and an admin for those of all keys. */
export function withKeyOrAdmin(command: Command): Command {
  const key = new Option('--key <key>', 'act as this key (TOOLGATE_API_KEY)').helpGroup(GROUP);
  return withAdmin(command).addOption(key);
}

export function withJson(command: Command): Command {
  return command.option('--json', 'print JSON');
}

export function baseUrl(io: IO, options: ServiceOptions): string {
  const text = options.baseUrl || io.env['TOOLGATE_BASE_URL'] || localUrl(io);
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw usageError(`The base address must begin with http:// or https://; got ${JSON.stringify(text)}.`);
  }
  return text.replace(/\/+$/, '');
}

/**
 * The service that the same environment would start. A server file is not read: with one, whoever can write to the
 * folder at hand could have the token sent elsewhere.
 */
function localUrl({ env }: IO): string {
  const [port, host] = [env['TOOLGATE_PORT'] ?? '', env['TOOLGATE_HOST'] ?? ''];
  // A port that is none is not ours: Kubernetes sets TOOLGATE_PORT=tcp://… beside a service of that name.
  const known = /^[1-9]\d{0,4}$/.test(port) ? port : String(DEFAULT_PORT);
  const everywhere = host === '' || host === '0.0.0.0' || host === '::';
  return `http://${everywhere ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host}:${known}`;
}

export function keyOf(io: IO, options: KeyOptions): string {
  const key = options.key || io.env['TOOLGATE_API_KEY'];
  if (!key) throw usageError('No key: give --key, or set TOOLGATE_API_KEY.');
  return header('key', key);
}

/** The part of the API that keys use. */
export function asKey(io: IO, options: KeyOptions): Http {
  return new Http(`${baseUrl(io, options)}/v1`, keyOf(io, options));
}

/** The admin API. */
export function asAdmin(io: IO, options: AdminOptions): Http {
  const url = baseUrl(io, options);
  const found = findAdminToken(io, options, url);
  if (found === null) {
    throw usageError(
      'No admin token: give --admin-token, set TOOLGATE_ADMIN_TOKEN, or run this where the data folder is (TOOLGATE_DATA_DIR).',
    );
  }
  return new Http(`${url}/admin/v1`, found.token, found.from);
}

/** Whether to act as the key: if --key is given, or if TOOLGATE_API_KEY is set and there is no admin token. */
export function actsAsKey(io: IO, options: KeyOptions & AdminOptions): boolean {
  if (options.key !== undefined) return true;
  if (findAdminToken(io, options, baseUrl(io, options)) !== null) return false;
  if (io.env['TOOLGATE_API_KEY']) return true;
  throw usageError(
    'No key and no admin token: give --key or --admin-token, set TOOLGATE_API_KEY or TOOLGATE_ADMIN_TOKEN, or run this where the data folder is (TOOLGATE_DATA_DIR).',
  );
}

interface FoundToken {
  token: string;
  /** Where the token was found; the message about a wrong token says it. */
  from: string;
}

function findAdminToken(io: IO, options: AdminOptions, url: string): FoundToken | null {
  const [given, from] = options.adminToken
    ? [options.adminToken, '--admin-token']
    : [io.env['TOOLGATE_ADMIN_TOKEN'], 'TOOLGATE_ADMIN_TOKEN'];
  if (given) return { token: header('admin token', given), from };
  // The stored token is for the service on this machine; it must not be sent to another host.
  return isLoopback(url) ? storedToken(io) : null;
}

function storedToken(io: IO): FoundToken | null {
  const from = join(io.env['TOOLGATE_DATA_DIR'] || './data', 'admin.token');
  try {
    const token = readFileSync(resolve(io.cwd, from), 'utf8').trim();
    return token === '' ? null : { token, from };
  } catch {
    return null;
  }
}

function isLoopback(url: string): boolean {
  const { hostname } = new URL(url);
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}

function header(what: string, text: string): string {
  if (!/^[\x21-\x7e]+$/.test(text)) throw usageError(`The ${what} holds a character that no token has.`);
  return text;
}
