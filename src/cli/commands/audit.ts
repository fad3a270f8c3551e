// toolgate audit: searches, follows and exports the audit log. Following asks for the newest entries every few seconds,
// and less often while the service cannot be reached.

import { type Command, Option } from 'commander';
import type { AuditEntry } from '../../core/api/resources.ts';
import { DECISIONS } from '../../core/decision/decide.ts';
import { SHADOWS } from '../../core/foresight/shadow.ts';
import { joinName } from '../../core/text/name.ts';
import { SURFACES } from '../../core/text/surface.ts';
import { safeJson, visible } from '../../core/text/visible.ts';
import { operatorId, pastKeyId } from '../admin.ts';
import { usageError } from '../exit.ts';
import { exportTo } from '../export.ts';
import { command, group } from '../help.ts';
import type { Http, Query } from '../http.ts';
import type { IO } from '../io.ts';
import { type ListOptions, printList, wholeNumber, withList } from '../list.ts';
import { ago } from '../moment.ts';
import { type Column, time, word } from '../print.ts';
import { type AdminOptions, asAdmin, withAdmin } from '../service-options.ts';
import { table } from '../table.ts';
import { follow } from '../tail.ts';
import { checkpointsCommand, proveCommand, verifyCommand } from './audit-sealed.ts';

interface Filter extends AdminOptions {
  from?: string;
  to?: string;
  keyId?: string;
  sessionId?: string;
  person?: string;
  decision?: string;
  tool?: string;
  surface?: string;
  shadow?: string;
  traceId?: string;
  mark?: string;
}

export function build(io: IO): Command {
  return group(
    'audit',
    'Search, follow, export and verify the audit log.',
    [
      'toolgate audit search --decision deny --from 24h',
      'toolgate audit tail',
      'toolgate audit export --format csv --output audit.csv',
      'toolgate audit verify',
    ],
    [
      searchCommand(io),
      tailCommand(io),
      exportCommand(io),
      verifyCommand(io),
      proveCommand(io),
      checkpointsCommand(io),
    ],
  );
}

function withFilter(made: Command, times: boolean): Command {
  if (times) {
    made
      .option('--from <when>', 'not before: a time, or how long ago (24h)', ago)
      .option('--to <when>', 'before: a time, or how long ago (1h)', ago);
  }
  return withAdmin(made)
    .option('--key-id <key>', 'of this key, by name or id')
    .option('--session-id <id>', 'of this session')
    .option('--person <person>', 'for whom the call was made, by e-mail or id')
    .addOption(new Option('--decision <decision>', 'with this decision').choices(DECISIONS))
    .option('--tool <tool>', 'of this tool: a name, a part of names, or a pattern with *')
    .addOption(new Option('--surface <surface>', 'from this surface').choices(SURFACES))
    .addOption(
      new Option('--shadow <decision>', "with this decision of the key's shadow policy").choices(SHADOWS),
    )
    .option('--trace-id <id>', 'of this trace, 32 hexadecimal digits')
    .option('--mark <name>', 'whose run had this mark');
}

async function filter(http: Http, options: Filter): Promise<Query> {
  const { from, to, sessionId, decision, tool, surface, shadow, traceId, mark } = options;
  const key = options.keyId === undefined ? undefined : await pastKeyId(http, options.keyId);
  const personId = options.person === undefined ? undefined : await operatorId(http, options.person);
  return { from, to, keyId: key, sessionId, personId, decision, tool, surface, shadow, traceId, mark };
}

const COLUMNS: Column<AuditEntry>[] = [
  ['TIME', entry => time(entry.at)],
  ['DECISION', (entry, output) => word(output, entry.decision)],
  ['TOOL', entry => visible(joinName(entry.serverName, entry.toolName))],
  ['REASON', entry => visible(entry.reason)],
];

function searchCommand(io: IO): Command {
  const examples = [
    'toolgate audit search --decision deny --from 24h',
    'toolgate audit search --tool deploy --all --json',
    "toolgate audit search --tool 'github__*'",
    'toolgate audit search --person ann@example.com',
  ];
  const made = command('search', 'Search the audit log, newest first.', examples);
  return withFilter(withList(made), true).action(async (options: Filter & ListOptions) => {
    const http = asAdmin(io, options);
    await printList<AuditEntry>(io, http, options, {
      path: '/audit',
      plural: 'entries',
      query: await filter(http, options),
      nothing: 'No entries match.',
      columns: COLUMNS,
    });
  });
}

interface TailOptions extends Filter {
  lines: number;
  interval: number;
}

function tailCommand(io: IO): Command {
  const made = command('tail', 'Show the newest entries, then new ones as they come, until Ctrl-C.', [
    'toolgate audit tail',
    'toolgate audit tail --decision pending --json',
  ])
    .option('-n, --lines <n>', 'how many to begin with', wholeNumber(1000), 10)
    .option('--interval <seconds>', 'how long to wait between two requests', wholeNumber(3600), 2);
  return withFilter(made, false).action(async (options: TailOptions) => {
    const http = asAdmin(io, options);
    const show = (entry: AuditEntry) =>
      io.stdout.write(options.json ? `${safeJson(entry)}\n` : line(io, entry));
    await follow(io, http, await filter(http, options), options, show);
  });
}

function line(io: IO, entry: AuditEntry): string {
  const [at = '', decision = '', ...rest] = COLUMNS.map(([, cell]) => cell(entry, io.stdout));
  // Rows are printed one by one, so only this column can be aligned, because its values are known.
  const room = ' '.repeat('pending'.length - entry.decision.length);
  return table([[at, decision + room, ...rest]]);
}

interface ExportOptions extends Filter {
  format: 'jsonl' | 'csv';
  output?: string;
  sealed?: boolean;
}

function exportCommand(io: IO): Command {
  const examples = [
    'toolgate audit export > audit.jsonl',
    'toolgate audit export --format csv --from 30d --output audit.csv',
    'toolgate audit export --sealed --output sealed.jsonl',
  ];
  const made = command('export', 'Write the whole audit log, or what matches, newest first.', examples)
    .addOption(new Option('--format <format>', 'how').choices(['jsonl', 'csv']).default('jsonl'))
    .option('--sealed', 'the whole sealed log with its leaf hashes, oldest first, for audit verify')
    .option('--output <file>', 'a file; else standard output');
  return withFilter(made, true).action(async (options: ExportOptions) => {
    const http = asAdmin(io, options);
    const query = { ...(await filter(http, options)), format: options.format };
    if (!options.sealed) return exportTo(io, http, '/audit/export', query, options);
    if (
      Object.values(query)
        .filter(value => value !== undefined)
        .join() !== 'jsonl'
    ) {
      throw usageError(
        '--sealed is the whole log, as JSON lines: it goes with no filter and no --format csv.',
      );
    }
    await exportTo(io, http, '/audit/sealed', {}, options);
  });
}
