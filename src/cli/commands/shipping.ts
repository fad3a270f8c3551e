// toolgate shipping: shows where the audit log is shipped to, and how far it has come.

import type { Command } from 'commander';
import type { ShippedTarget } from '../../core/api/resources.ts';
import { lagText } from '../../core/log/shipping.ts';
import { visible } from '../../core/text/visible.ts';
import { command } from '../help.ts';
import type { IO } from '../io.ts';
import { printJson, printTable, time, word } from '../print.ts';
import { type AdminOptions, asAdmin, withAdmin } from '../service-options.ts';

export function build(io: IO): Command {
  const examples = ['toolgate shipping', 'toolgate shipping --json'];
  const what = 'Show where the audit log is shipped to, and how far it has come.';
  return withAdmin(command('shipping', what, examples)).action(async (options: AdminOptions) => {
    const answer = await asAdmin(io, options).get<{ targets: ShippedTarget[] }>('/shipping');
    if (options.json) return printJson(io, answer);
    printTable(
      io,
      answer.targets,
      [
        ['NAME', ({ name }) => visible(name)],
        ['TYPE', ({ type }) => type],
        ['TO', ({ to }) => visible(to)],
        ['STATE', ({ state }, output) => word(output, state)],
        ['SHIPPED TO', ({ shippedTo }) => (shippedTo === null ? '-' : String(shippedTo))],
        ['LAG', target => lagText(target)],
        ['LAST ERROR', lastError],
      ],
      'The audit log is not shipped: the server file names no target under shipping.',
    );
  });
}

function lastError({ lastError, lastErrorAt }: ShippedTarget): string {
  return lastError === null || lastErrorAt === null ? '-' : `${visible(lastError)} (${time(lastErrorAt)})`;
}
