// toolgate calls: the forwarded calls of which nobody knows whether they ran, and what somebody found out about them.

import type { Command } from 'commander';
import type { UnknownCall } from '../../core/api/resources.ts';
import { joinName } from '../../core/text/name.ts';
import { visible } from '../../core/text/visible.ts';
import { keyNames } from '../admin.ts';
import { usageError } from '../exit.ts';
import { command, group } from '../help.ts';
import { type IO, say } from '../io.ts';
import { type ListOptions, printList, withList } from '../list.ts';
import { printJson, time } from '../print.ts';
import { type AdminOptions, asAdmin, withAdmin } from '../service-options.ts';

const ID = '01890000-0000-7000-8000-000000000000';

export function build(io: IO): Command {
  return group(
    'calls',
    'Calls of which it is not known whether they ran: list them, and settle them once somebody has found out.',
    ['toolgate calls list --unknown', `toolgate calls settle ${ID} --did-not-run`],
    [listCommand(io), settleCommand(io)],
  );
}

function listCommand(io: IO): Command {
  const what =
    'List the calls of which it is not known whether they ran, newest first. `toolgate audit search` has all calls.';
  const made = command('list', what, [
    'toolgate calls list --unknown',
    'toolgate calls list --unknown --json',
  ]).requiredOption('--unknown', 'those that nobody has settled; there is no other list');
  return withAdmin(withList(made)).action(async (options: AdminOptions & ListOptions) => {
    const http = asAdmin(io, options);
    const keys = options.json ? new Map<string, string>() : await keyNames(http);
    await printList<UnknownCall>(io, http, options, {
      path: '/calls',
      plural: 'calls',
      query: { outcome: 'unknown' },
      nothing: 'Of every call it is known whether it ran, or somebody has settled it.',
      columns: [
        ['TOOL CALL ID', call => call.toolCallId],
        ['TOOL', call => visible(joinName(call.serverName, call.toolName))],
        ['KEY', call => visible(keys.get(call.keyId) ?? call.keyId)],
        ['FORWARDED', call => time(call.at)],
        ['UNKNOWN SINCE', call => time(call.unknownSince)],
      ],
    });
  });
}

interface SettleOptions extends AdminOptions {
  ran?: boolean;
  didNotRun?: boolean;
  note?: string;
}

function settleCommand(io: IO): Command {
  const what =
    'Say whether a call ran, once you have looked at what its tool did. It is recorded who said so; the call is not made again, and its task stays failed.';
  const made = command('settle', what, [
    `toolgate calls settle ${ID} --ran`,
    `toolgate calls settle ${ID} --did-not-run --note "No refund in the bank's list."`,
  ])
    .argument('<toolCallId>', 'as listed')
    .option('--ran', 'the tool did what it was called for')
    .option('--did-not-run', 'the tool did nothing')
    .option('--note <text>', 'how you know, at most 500 characters');
  return withAdmin(made).action(async (toolCallId: string, options: SettleOptions) => {
    const ran = options.ran === true;
    if (ran === (options.didNotRun === true)) throw usageError('Give either --ran or --did-not-run.');
    const path = `/calls/${encodeURIComponent(toolCallId)}/settle`;
    const call = await asAdmin(io, options).post<UnknownCall>(path, { ran, note: options.note });
    if (options.json) return printJson(io, call);
    const name = visible(joinName(call.serverName, call.toolName));
    say(io, `It is recorded that ${name} ${ran ? 'ran' : 'did not run'}. Nobody runs it again.`);
  });
}
