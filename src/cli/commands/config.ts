// toolgate config: every setting with its meaning, default, current value and origin.

import { styleText } from 'node:util';
import { Command } from 'commander';
import { ConfigError, type LoadedConfig, loadConfig } from '../../config.ts';

const EXIT_WRONG = 1;

export function configCommand(): Command {
  return new Command('config')
    .description(
      'List every setting: meaning, default, current value and where it comes from. Secrets are masked.',
    )
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExamples:\n  toolgate config\n  TOOLGATE_PORT=9000 toolgate config --json')
    .action((options: { json?: boolean }) => {
      try {
        const loaded = loadConfig(process.env, process.cwd());
        process.stdout.write(options.json ? `${JSON.stringify(loaded.origins, null, 2)}\n` : table(loaded));
      } catch (error) {
        if (!(error instanceof ConfigError)) throw error;
        process.stderr.write(`toolgate: ${error.message}\n`);
        process.exit(EXIT_WRONG);
      }
    });
}

function table({ origins, file, unknown, config }: LoadedConfig): string {
  const bold = (text: string) => styleText('bold', text, { stream: process.stdout });
  const dim = (text: string) => styleText('dim', text, { stream: process.stdout });
  const lines = origins.map(each => {
    const value = each.value === null || each.value === '' ? '(not set)' : each.value;
    const from = each.origin === 'default' ? 'default' : `from the ${each.origin}`;
    const fallback =
      each.origin !== 'default' && each.fallback !== null && each.fallback !== ''
        ? `, default ${each.fallback}`
        : '';
    return `${bold(each.env)} = ${value}  ${dim(`(${from}${fallback}; in the file: ${each.name})`)}\n    ${each.meaning}`;
  });
  const servers = Object.keys(config.stdioServers);
  lines.push(`${bold('stdioServers')} = ${servers.length > 0 ? servers.join(', ') : '(none)'}  ${dim('(file only)')}
    Commands that Connected Tools of transport stdio may name: { <name>: { command, args, env } }.`);
  lines.push(dim(file === null ? 'No server file (toolgate.yaml) is read.' : `Server file: ${file}`));
  for (const name of unknown) lines.push(`Unknown setting in the environment: ${name}`);
  return `${lines.join('\n\n')}\n`;
}
