// toolgate doctor: looks at settings, store, disk, clock and all servers that the service depends on, and says what is
// wrong and what to do. It works whether the service runs or not, and changes nothing.

import type { Command } from 'commander';
import pkg from '../../../package.json' with { type: 'json' };
import type { Client } from '../../core/clients/client.ts';
import { CLIENTS } from '../../core/clients/clients.ts';
import { visible } from '../../core/text/visible.ts';
import { checksOf } from '../../doctor/doctor.ts';
import {
  bad,
  type Examination,
  examine,
  type Found,
  good,
  type Report,
  warning,
} from '../../doctor/examine.ts';
import { fromSettings } from '../../doctor/from-settings.ts';
import { type Config, ConfigError, loadConfig } from '../../settings/config.ts';
import { untoldLine } from '../clients/listing.ts';
import { type Connected, connectedParts, untold } from '../clients/plan.ts';
import { turnedOff } from '../clients/switches.ts';
import { EXIT } from '../exit.ts';
import { command } from '../help.ts';
import type { Format, IO } from '../io.ts';
import { printJson } from '../print.ts';
import { table } from '../table.ts';

export function build(io: IO): Command {
  const what =
    'Look for what is wrong with this service: settings, store, disk, clock, mail, sign-on, proxy, MCP servers.\n\n' +
    'Each line is good, a warning or bad, and says what to do. Nothing is changed, and no message or call is sent.\n' +
    'Run it where the service runs, with its settings. Exit code: 0, or 1 if something is bad.';
  return command('doctor', what, ['toolgate doctor', 'toolgate doctor --json'])
    .option('--json', 'print JSON')
    .action(async (options: { json?: boolean }) => {
      const report = await reportOf(io);
      if (options.json) printJson(io, report);
      else io.stdout.write(text(io, report));
      io.exit(report.ok ? EXIT.ok : EXIT.failed);
    });
}

async function reportOf(io: IO): Promise<Report> {
  let config: Config;
  try {
    config = loadConfig(io.env, io.cwd).config;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const rest = 'The service does not start like this, and nothing else can be looked at.';
    return { ok: false, checks: [bad('settings', `${error.message} ${rest}`)] };
  }
  const { examined, close } = fromSettings(config, pkg.version, io.cwd);
  try {
    const checks = [...checksOf(examined), agentsCheck(io)];
    return await examine(checks, { onProgress: left => progress(io, left) });
  } finally {
    await close();
  }
}

/** The agents that are connected here, and settings that turn their hooks off. */
function agentsCheck(io: IO): Examination {
  const lineOf = (client: Client): Found[] => {
    const parts = (['user', 'project'] as const).flatMap(scope => connectedParts(io, client, scope));
    if (!parts.includes('hooks')) return [];
    const name = `agent ${client.id}`;
    const [off] = turnedOff(io, client);
    const missing = untold(client, parts as Connected[]);
    if (off === undefined && missing.length > 0)
      return [warning(name, untoldLine(client, missing, `toolgate connect ${client.id}`))];
    if (off === undefined) return [good(name, 'Its hook is there, and no setting here turns it off.')];
    if (off.key === null)
      return [
        bad(name, `${off.path} cannot be read, and may turn the hook of ${client.name} off. Correct it.`),
      ];
    const fault = `No call of ${client.name} is judged here: ${off.path} turns hooks off, by "${off.key}".`;
    return [bad(name, `${fault} Take that setting out.`)];
  };
  return { name: 'agents', run: async () => CLIENTS.flatMap(lineOf) };
}

/** One line that is replaced while the checks run. */
function progress(io: IO, left: readonly string[]): void {
  if (!io.stderr.isTTY) return;
  const names = left.slice(0, 3).join(', ');
  io.stderr.write(`\r\u001b[K${left.length === 0 ? '' : `Waiting for ${left.length}: ${names}…`}`);
}

const COLOURS: Record<Found['state'], Format> = { good: 'green', warning: 'yellow', bad: 'red' };

function text(io: IO, { ok, checks }: Report): string {
  const rows = checks.map(({ name, state, message }) => [
    io.stdout.style(COLOURS[state], state),
    visible(name),
    visible(message),
  ]);
  const count = (state: Found['state']) => checks.filter(each => each.state === state).length;
  const warnings = count('warning');
  const last = ok
    ? `Nothing is bad${warnings === 0 ? '' : `, and there are warnings: ${warnings}`}.`
    : `Bad: ${count('bad')}, warnings: ${warnings}.`;
  return `${table(rows)}${last}\n`;
}
