// toolgate keys shadow: where the shadow of a key agrees with the key's policy and where it does not, and how it becomes
// the policy of the key.

import type { Command } from 'commander';
import type { Key, ShadowReport } from '../../core/api/resources.ts';
import { joinName } from '../../core/text/name.ts';
import { visible } from '../../core/text/visible.ts';
import { keyId, policyNames } from '../admin.ts';
import { CliError, EXIT } from '../exit.ts';
import { command } from '../help.ts';
import type { Http } from '../http.ts';
import { type IO, say } from '../io.ts';
import { ago } from '../moment.ts';
import { printJson, time, word } from '../print.ts';
import { type AdminOptions, asAdmin, withAdmin } from '../service-options.ts';
import { table } from '../table.ts';

interface Options extends AdminOptions {
  since?: string;
  promote?: boolean;
}

export function shadowCommand(io: IO): Command {
  const examples = [
    'toolgate keys update ci --shadow strict',
    'toolgate keys shadow ci --since 7d',
    'toolgate keys shadow ci --promote',
  ];
  const what = 'Compare what the shadow of a key said about its calls with what was decided.';
  const made = command('shadow', what, examples)
    .argument('<key>', 'its name or id')
    .option('--since <when>', 'not before: a time, or how long ago (7d)', ago)
    .option('--promote', 'make the shadow the policy of the key; it then has no shadow');
  return withAdmin(made).action(async (nameOrId: string, options: Options) => {
    const http = asAdmin(io, options);
    const id = await keyId(http, nameOrId);
    if (options.promote) return promote(io, http, id, options);
    await shadowOf(http, id);
    const report = await http.get<ShadowReport>(`/keys/${id}/shadow`, { from: options.since });
    if (options.json) return printJson(io, report);
    print(io, report, (await policyNames(http)).get(report.policyId) ?? report.policyId);
  });
}

const count = (calls: number): string => calls.toLocaleString('en');

function print(io: IO, report: ShadowReport, policy: string): void {
  const { agreements, differences } = report;
  const calls = report.calls === 1 ? '1 call' : `${count(report.calls)} calls`;
  const shadow = `The shadow "${policy}" (version ${report.policyVersion})`;
  const judged =
    report.calls === 0
      ? 'has judged no calls yet.'
      : `has judged ${calls} since ${time(report.from)}: ${count(agreements)} as decided, ${count(report.calls - agreements)} otherwise.`;
  say(io, `${shadow} ${judged}`);
  const rest = report.calls - agreements - differences.reduce((sum, each) => sum + each.calls, 0);
  if (rest > 0) say(io, `${count(rest)} of those are of too many different tools to be listed.`);
  if (differences.length === 0) return;
  const rows = differences.map(each => [
    visible(joinName(each.serverName, each.toolName)),
    word(io.stdout, each.from),
    word(io.stdout, each.to),
    String(each.calls),
    each.examples[0] ?? '-',
  ]);
  io.stdout.write(table([['TOOL', 'DECIDED', 'SHADOW', 'CALLS', 'NEWEST'], ...rows]));
}

async function shadowOf(http: Http, id: string): Promise<string> {
  const { name, shadowPolicyId } = await http.get<Key>(`/keys/${id}`);
  if (shadowPolicyId !== null) return shadowPolicyId;
  throw new CliError(
    EXIT.failed,
    `Key "${visible(name)}" has no shadow; \`toolgate keys update --shadow\` gives it one.`,
  );
}

async function promote(io: IO, http: Http, id: string, { json }: Options): Promise<void> {
  const policyId = await shadowOf(http, id);
  const key = await http.patch<Key>(`/keys/${id}`, { policyId, shadowPolicyId: null });
  if (json) return printJson(io, key);
  const policy = (await policyNames(http)).get(key.policyId) ?? key.policyId;
  say(io, `Key "${key.name}" uses policy "${policy}" from now on, and has no shadow.`);
}
