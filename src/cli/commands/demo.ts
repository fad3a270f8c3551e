// toolgate demo: fills a new store with a realistic week of data, for a first look at the program.

import type { Command } from 'commander';
import type { DemoStore } from '../../main.ts';
import { ConfigError, loadConfig } from '../../settings/config.ts';
import { CliError, EXIT } from '../exit.ts';
import { command } from '../help.ts';
import { type IO, say } from '../io.ts';
import { printJson } from '../print.ts';

export function build(io: IO): Command {
  const what =
    'Fill a fresh store with a believable week: policies, keys, a week of verdicts, approvals, webhooks, operators. ' +
    'Then start the service and sign in. An embedded store must not be open in a running service meanwhile.';
  return command('demo', what, [
    'TOOLGATE_DATA_DIR=./demo toolgate demo',
    'TOOLGATE_DATA_DIR=./demo toolgate serve',
  ])
    .option('--force', 'add to a store that is in use, as long as its audit log is not sealed')
    .option('--json', 'print JSON')
    .action(async (options: { force?: boolean; json?: boolean }) => {
      const filled = await fill(io, options.force === true);
      if (options.json) printJson(io, filled);
      else io.stdout.write(text(io, filled));
    });
}

async function fill(io: IO, force: boolean): Promise<DemoStore> {
  try {
    const { config } = loadConfig(io.env, io.cwd);
    const { fillStore } = await import('../../main.ts');
    return await fillStore(config, force, what => say(io, `Writing ${what} …`));
  } catch (error) {
    if (error instanceof ConfigError) throw new CliError(EXIT.failed, error.message);
    throw new CliError(EXIT.failed, (error as Error).message, { cause: error });
  }
}

/** The settings that lead to this store, as they were given in the environment. */
function given({ env }: IO): string {
  // The address of a database may hold a password.
  const names = ['TOOLGATE_DATA_DIR', 'TOOLGATE_CONFIG', 'TOOLGATE_PORT'].filter(name => env[name]);
  return names.map(name => `${name}='${env[name]}' `).join('');
}

function text(io: IO, { signIn, key, verdicts, approvals, waiting }: DemoStore): string {
  const bold = (value: string) => io.stdout.style('bold', value);
  const lines = [
    '',
    `  A week is in the store: ${verdicts} verdicts, ${approvals} approvals, ${waiting} of them waiting.`,
    '',
  ];
  if (signIn === null)
    lines.push('  The operators of the demo were there already; their passwords stay.', '');
  else {
    const others = signIn.others.map(each => `${each.email} (${each.role})`).join(', ');
    lines.push(`  Sign in as ${bold(signIn.email)} with the password ${bold(signIn.password)}`);
    lines.push(`  It is shown this once, and is also that of ${others}.`, '');
  }
  if (key !== null) lines.push(`  A key of the policy "default", shown this once: ${bold(key)}`, '');
  lines.push(
    `  Start the service on this store, and open /dashboard: ${bold(`${given(io)}toolgate serve`)}`,
    '',
  );
  return `${lines.join('\n')}\n`;
}
