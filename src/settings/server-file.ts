// Reads the optional server file in YAML: settings in camelCase, and the commands that Connected Tools of transport
// stdio may name. config.ts interprets the texts of settings, channel-settings.ts the channels, and
// shipping-settings.ts the targets of shipping.

import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { isObject } from '../core/wire/json.ts';
import { readSandbox, type Sandbox } from './sandbox.ts';

export class ConfigError extends Error {}

export interface StdioServer {
  command: string;
  args: string[];
  env: Record<string, string>;
  /** Without it, the command is not confined. */
  sandbox?: Sandbox;
}

export interface ServerFile {
  path: string | null;
  values: Record<string, string | undefined>;
  stdioServers: Record<string, StdioServer>;
  /** The channels as they stand in the file. */
  channels: unknown;
  /** The targets of shipping as they stand in the file. */
  shipping: unknown;
}

/** `named` is the value of TOOLGATE_CONFIG, if it is set. */
export function readServerFile(
  named: string | undefined,
  cwd: string,
  isSetting: (name: string) => boolean,
): ServerFile {
  const file = named ? resolve(cwd, named) : join(cwd, 'toolgate.yaml');
  if (!existsSync(file)) {
    if (named) throw new ConfigError(`TOOLGATE_CONFIG is ${JSON.stringify(named)}: there is no such file.`);
    return { path: null, values: {}, stdioServers: {}, channels: {}, shipping: {} };
  }
  let content: unknown;
  try {
    content = parseYaml(readFileSync(file, 'utf8')) ?? {};
  } catch (error) {
    // An error of the parser ends its first line with a colon, behind which it quotes the file.
    const what = (error as Error).message.split('\n')[0]?.replace(/:$/, '.');
    throw new ConfigError(`${file} cannot be read: ${what}`);
  }
  if (!isObject(content)) throw new ConfigError(`${file}: expected settings as "name: value" lines.`);
  const { stdioServers, channels, shipping, ...rest } = content;
  const values: Record<string, string> = {};
  for (const [name, value] of Object.entries(rest)) {
    if (!isSetting(name))
      throw new ConfigError(`${file}: unknown setting "${name}"; \`toolgate config\` lists them.`);
    values[name] = Array.isArray(value) ? value.join(',') : String(value ?? '');
  }
  return {
    path: file,
    values,
    stdioServers: readStdioServers(file, stdioServers ?? {}),
    channels: channels ?? {},
    shipping: shipping ?? {},
  };
}

function readStdioServers(file: string, value: unknown): Record<string, StdioServer> {
  const wrong = (what: string) => new ConfigError(`${file}: stdioServers${what}`);
  if (!isObject(value)) throw wrong(' must be an object: { <name>: { command, args, env, sandbox } }.');
  const servers: Record<string, StdioServer> = {};
  for (const [name, server] of Object.entries(value)) {
    if (!isObject(server) || typeof server['command'] !== 'string' || server['command'] === '') {
      throw wrong(`.${name} needs "command", the program to start.`);
    }
    const { command, args = [], env = {}, sandbox, ...others } = server;
    const odd = Object.keys(others)[0];
    if (odd !== undefined)
      throw wrong(`.${name} has the unknown field "${odd}"; known: command, args, env, sandbox.`);
    if (!Array.isArray(args) || !args.every(arg => typeof arg === 'string')) {
      throw wrong(`.${name}.args must be a list of strings.`);
    }
    if (!isObject(env) || !Object.values(env).every(each => typeof each === 'string')) {
      throw wrong(`.${name}.env must hold strings only.`);
    }
    servers[name] = { command: command as string, args, env: env as Record<string, string> };
    if (sandbox !== undefined)
      servers[name].sandbox = readSandbox(file, sandbox, what => wrong(`.${name}.sandbox${what}`));
  }
  return servers;
}

/** The parser is loaded only if there is a file: it would take a fifth of every start. */
function parseYaml(text: string): unknown {
  const { parse } = require('yaml') as typeof import('yaml');
  return parse(text);
}
