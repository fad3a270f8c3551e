// toolgate changes: shows who changed what through the admin API.

import type { Command } from 'commander';
import type { Change } from '../../core/api/resources.ts';
import { safeJson, visible } from '../../core/text/visible.ts';
import { command } from '../help.ts';
import type { IO } from '../io.ts';
import { type ListOptions, printList, withList } from '../list.ts';
import { time } from '../print.ts';
import { type AdminOptions, asAdmin, withAdmin } from '../service-options.ts';

export function build(io: IO): Command {
  const examples = ['toolgate changes', 'toolgate changes --all --json'];
  const made = command('changes', 'Show who changed what through the admin API, newest first.', examples);
  return withAdmin(withList(made)).action((options: AdminOptions & ListOptions) =>
    printList<Change>(io, asAdmin(io, options), options, {
      path: '/changes',
      plural: 'changes',
      nothing: 'Nothing was changed yet.',
      columns: [
        ['TIME', change => time(change.at)],
        ['WHO', change => visible(change.actor)],
        ['WHAT', change => visible(change.action)],
        ['TARGET', change => visible(change.target)],
        ['DETAIL', change => safeJson(change.detail)],
      ],
    }),
  );
}
