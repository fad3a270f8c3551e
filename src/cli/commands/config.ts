// toolgate config: lists every setting with its meaning, default, current value and origin.

import type { Command } from 'commander';
import type { Channel } from '../../core/channels/channels.ts';
import { hostOf, type ShippingTarget } from '../../core/log/shipping.ts';
import { ConfigError, type LoadedConfig, loadConfig } from '../../settings/config.ts';
import { CliError, EXIT } from '../exit.ts';
import { command } from '../help.ts';
import type { IO } from '../io.ts';
import { printJson } from '../print.ts';

export function build(io: IO): Command {
  const what =
    'List every setting: meaning, default, current value and where it comes from. Secrets are masked.';
  return command('config', what, ['toolgate config', 'TOOLGATE_PORT=9000 toolgate config --json'])
    .option('--json', 'print JSON')
    .action((options: { json?: boolean }) => {
      const loaded = load(io);
      if (options.json) printJson(io, loaded.config.origins);
      else io.stdout.write(text(io, loaded));
    });
}

function load(io: IO): LoadedConfig {
  try {
    return loadConfig(io.env, io.cwd);
  } catch (error) {
    if (error instanceof ConfigError) throw new CliError(EXIT.failed, error.message);
    throw error;
  }
}

function text(io: IO, { file, config }: LoadedConfig): string {
  const bold = (text: string) => io.stdout.style('bold', text);
  const dim = (text: string) => io.stdout.style('dim', text);
  const lines = config.origins.map(each => {
    const value = each.value === null || each.value === '' ? '(not set)' : each.value;
    const from = each.origin === 'default' ? 'default' : `from the ${each.origin}`;
    const fallback =
      each.origin !== 'default' && each.fallback !== null && each.fallback !== ''
        ? `, default ${each.fallback}`
        : '';
    return `${bold(each.env)} = ${value}  ${dim(`(${from}${fallback}; in the file: ${each.name})`)}\n    ${each.meaning}`;
  });
  const servers = config.stdioServers.names;
  lines.push(`${bold('stdioServers')} = ${servers.length > 0 ? servers.join(', ') : '(none)'}  ${dim('(file only)')}
    Commands that Connected Tools of transport stdio may name: { <name>: { command, args, env, sandbox } }.`);
  const channels = Object.entries(config.channels).map(
    ([name, each]) => `\n    ${name}: ${channelText(each)}`,
  );
  lines.push(`${bold('channels')} = ${channels.length > 0 ? '' : '(none)  '}${dim('(file only)')}${channels.join('')}
    Where questions are sent; rules and keys name them: { <name>: { type, …, details } }.`);
  const targets = Object.entries(config.shipping).map(([name, each]) => `\n    ${name}: ${targetText(each)}`);
  lines.push(`${bold('shipping')} = ${targets.length > 0 ? '' : '(none)  '}${dim('(file only)')}${targets.join('')}
    Where the sealed audit log is sent to: { <name>: { type, url, … } }.`);
  lines.push(dim(file === null ? 'No server file (toolgate.yaml) is read.' : `Server file: ${file}`));
  for (const name of config.unknown) lines.push(`Unknown setting in the environment: ${name}`);
  return `${lines.join('\n\n')}\n`;
}

/** Addresses of webhooks and the values of headers are secrets. */
function channelText(channel: Channel): string {
  const details = channel.details ? ', with details' : '';
  const fields = Object.entries(channel).flatMap(([name, value]) => {
    if (name === 'type' || name === 'details') return [];
    if (name === 'to') return [`to ${value.join(', ')}`];
    if (name === 'headers') return Object.keys(value).map(each => `${each}: ********`);
    return [`${name} ${name === 'channel' ? value : '********'}`];
  });
  return `${channel.type}, ${fields.join(', ')}${details}`;
}

/** The address may contain a token, so only its host is shown. */
function targetText(target: ShippingTarget): string {
  return `${target.type}, ${hostOf(target)}, schema ${target.schema}`;
}
