// Where the service is, and the key to ask it with: from the environment, or from the file that `toolgate connect`
// writes. An agent may start hooks with variables that a project has set. So a key of the file goes to the address beside
// it and to no other, and a variable alone does not send a connected agent to another service.

import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { DEFAULT_PORT } from '../../core/default-port.ts';
import { NoVerdict } from './no-verdict.ts';

export type Env = Readonly<Record<string, string | undefined>>;

export interface Credentials {
  /** Without a slash at its end. */
  baseUrl: string;
  /** A key, or a session token. */
  key: string;
}

const DEFAULT_URL = `http://127.0.0.1:${DEFAULT_PORT}`;
const MAX_FILE = 1024 * 1024;

export function credentialsOf(agent: string, option: string | null, env: Env): Credentials {
  const address = option ?? (env['TOOLGATE_BASE_URL'] || null);
  const key = env['TOOLGATE_API_KEY'];
  if (key && option !== null) return { baseUrl: checked(option), key: header(key) };
  const path = join(folderOf(env, 'XDG_CONFIG_HOME', '.config'), 'clients.json');
  const stored = storedFor(agent, path);
  if (stored === null) {
    if (key) return { baseUrl: checked(address ?? DEFAULT_URL), key: header(key) };
    throw new NoVerdict(
      `There is no key for ${agent}: set TOOLGATE_API_KEY, or write one into ${path}, as toolgate connect does.`,
    );
  }
  const baseUrl = checked(stored.baseUrl);
  if (address !== null && checked(address) !== baseUrl) {
    throw new NoVerdict(
      `By ${path}, ${agent} is connected to another address than the one that is set. To ask that one, give the hook --base-url, and set TOOLGATE_API_KEY.`,
    );
  }
  return { baseUrl, key: header(key || stored.key) };
}

/** Our folder below one of the folders that the XDG specification names; relative ones do not count there. */
export function folderOf(env: Env, name: string, standard: string): string {
  const given = env[name];
  const home = given && isAbsolute(given) ? given : join(env['HOME'] || homedir(), standard);
  return join(home, 'toolgate');
}

function storedFor(agent: string, path: string): { baseUrl: string; key: string } | null {
  const text = readPrivate(path);
  if (text === null) return null;
  let clients: Record<string, { baseUrl?: unknown; key?: unknown } | undefined>;
  try {
    clients = JSON.parse(text) ?? {};
  } catch {
    throw new NoVerdict(`${path} is not JSON.`);
  }
  const client = Object.hasOwn(clients, agent) ? clients[agent] : undefined;
  if (client === undefined) return null;
  if (typeof client?.baseUrl !== 'string' || typeof client.key !== 'string') {
    throw new NoVerdict(`${path} has no address or no key for ${agent}.`);
  }
  return { baseUrl: client.baseUrl, key: client.key };
}

/** A file that nobody else may read or change, as text; null when there is none. */
function readPrivate(path: string): string | null {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw new NoVerdict(`${path} cannot be read.`);
  }
  try {
    const { mode, size } = fstatSync(file);
    if (process.platform !== 'win32' && (mode & 0o077) !== 0) {
      throw new NoVerdict(
        `Other users of this machine may read ${path}, which holds a key. Run: chmod 600 ${path}`,
      );
    }
    if (size > MAX_FILE) throw new NoVerdict(`${path} is too large.`);
    return readFileSync(file, 'utf8');
  } finally {
    closeSync(file);
  }
}

function checked(address: string): string {
  const url = URL.canParse(address) ? new URL(address) : null;
  if (url === null || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '') {
    throw new NoVerdict('The address of the service must begin with http:// or https://.');
  }
  return address.replace(/\/+$/, '');
}

function header(key: string): string {
  if (!/^[\x21-\x7e]+$/.test(key)) throw new NoVerdict('The key holds a character that no key has.');
  return key;
}
