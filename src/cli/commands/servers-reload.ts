// toolgate servers reload: has the service read its server file again, where the commands of tool servers are declared.

import type { Command } from 'commander';
import type { ServerFileChanges } from '../../core/api/resources.ts';
import { command } from '../help.ts';
import { type IO, say } from '../io.ts';
import { printJson } from '../print.ts';
import { type AdminOptions, asAdmin, withAdmin } from '../service-options.ts';

export function reloadCommand(io: IO): Command {
  const what =
    'Have the service read its server file again, without a restart: commands under stdioServers are added, changed ' +
    'and removed. Only the replica that is asked reads its file.';
  const made = command('reload', what, ['toolgate servers reload']);
  return withAdmin(made).action(async (options: AdminOptions) => {
    const changes = await asAdmin(io, options).post<ServerFileChanges>('/server-file/reload');
    if (options.json) return printJson(io, changes);
    const { path, added, changed, removed, ignored } = changes;
    const all = Object.entries({ added, changed, removed }).filter(([, names]) => names.length > 0);
    const told =
      all.map(([word, names]) => `${word} ${names.join(', ')}`).join('; ') || 'nothing has changed';
    say(io, `${path} is read again: ${told}.`);
    if (ignored.length > 0) say(io, `These changes need a restart: ${ignored.join(', ')}.`);
  });
}
