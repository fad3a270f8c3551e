// toolgate runs: what runs have read, and how many values are known in them.

import type { Command } from 'commander';
import type { Run } from '../../core/api/resources.ts';
import { joinName } from '../../core/text/name.ts';
import { visible } from '../../core/text/visible.ts';
import { keyNames, pastKeyId } from '../admin.ts';
import { command, group } from '../help.ts';
import { type IO, say } from '../io.ts';
import { type ListOptions, printList, withList } from '../list.ts';
import { printJson, time } from '../print.ts';
import { type AdminOptions, asAdmin, withAdmin } from '../service-options.ts';
import { table } from '../table.ts';

const ID = '01890000-0000-7000-8000-000000000000';

export function build(io: IO): Command {
  return group(
    'runs',
    'What runs have read, and what is known in them. A run is what calls belong together: those of a session, of a name, or of a key.',
    ['toolgate runs list --marked', `toolgate runs show ${ID}`, `toolgate runs clear ${ID}`],
    [listCommand(io), showCommand(io), clearCommand(io)],
  );
}

interface RunsOptions extends AdminOptions, ListOptions {
  key?: string;
  marked?: boolean;
}

function listCommand(io: IO): Command {
  const made = command('list', 'List runs that have not ended, newest first.', [
    'toolgate runs list --marked',
  ])
    .option('--key <name or id>', 'only runs of this key')
    .option('--marked', 'only runs that have marks');
  return withAdmin(withList(made)).action(async (options: RunsOptions) => {
    const http = asAdmin(io, options);
    const keys = options.json ? new Map<string, string>() : await keyNames(http);
    const keyId = options.key === undefined ? undefined : await pastKeyId(http, options.key);
    await printList<Run>(io, http, options, {
      path: '/runs',
      plural: 'runs',
      query: { keyId, marked: options.marked ? 'true' : undefined },
      nothing:
        'There are no runs. Only keys whose policies use marks or known values have any, and sessions that were made with known.',
      columns: [
        ['ID', run => run.runId],
        ['KEY', run => visible(keys.get(run.keyId) ?? run.keyId)],
        ['OF', run => visible(run.name ?? run.sessionId ?? '-')],
        ['MARKS', run => run.marks.map(({ name }) => name).join(', ') || '-'],
        ['KNOWN', run => String(run.known)],
        ['LAST CALL', lastCall],
      ],
    });
  });
}

function showCommand(io: IO): Command {
  const made = command('show', 'Show a run: which call gave it each of its marks.', [
    `toolgate runs show ${ID}`,
  ]);
  return withAdmin(made.argument('<id>', 'its id, as listed')).action(
    async (id: string, options: AdminOptions) => {
      const run = await asAdmin(io, options).get<Run>(`/runs/${encodeURIComponent(id)}`);
      if (options.json) return printJson(io, run);
      io.stdout.write(table(fieldsOf(run)));
    },
  );
}

function fieldsOf(run: Run): [string, string][] {
  const marks = run.marks.map(({ name, serverName, toolName, since }): [string, string] => [
    `read: ${name}`,
    `${visible(joinName(serverName, toolName))}, ${time(since)}`,
  ]);
  return [
    ['id', run.runId],
    ['key', run.keyId],
    ...(run.sessionId === undefined ? [] : ([['session', run.sessionId]] as [string, string][])),
    ...(run.name === undefined ? [] : ([['name', visible(run.name)]] as [string, string][])),
    ['begun on', run.surface],
    ...marks,
    ['known values', String(run.known)],
    ...(run.dropped === 0
      ? []
      : ([['not known, for lack of room', String(run.dropped)]] as [string, string][])),
    ['last call', lastCall(run)],
    ['ends', time(run.endsAt)],
  ];
}

/** It is written once a minute, so seconds would promise too much. */
function lastCall({ lastCallAt }: Run): string {
  return lastCallAt.replace(/:\d\d(\.\d+)?Z$/, 'Z');
}

function clearCommand(io: IO): Command {
  const made = command('clear', 'Forget the marks of a run. What is known in it stays known.', [
    `toolgate runs clear ${ID}`,
  ]);
  return withAdmin(made.argument('<id>', 'its id, as listed')).action(
    async (id: string, options: AdminOptions) => {
      await asAdmin(io, options).post(`/runs/${encodeURIComponent(id)}/clear`, {});
      if (options.json) return printJson(io, { id, cleared: true });
      say(io, `Run ${id} has no marks any more.`);
    },
  );
}
