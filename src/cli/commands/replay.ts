// toolgate replay: what a policy file, or an earlier version, would have changed about the calls in the audit log. It is
// meant for pull requests: --fail-on ends it with exit code 1, and --markdown prints a comment.

import type { Command } from 'commander';
import type { Replay, WholePolicy } from '../../core/api/resources.ts';
import { MAX_TEXT } from '../../core/policy/policy.ts';
import { joinName } from '../../core/text/name.ts';
import { visible } from '../../core/text/visible.ts';
import { keyNames, policyId } from '../admin.ts';
import { EXIT, usageError } from '../exit.ts';
import { command } from '../help.ts';
import { type IO, say, shownFile } from '../io.ts';
import { wholeNumber } from '../list.ts';
import { ago } from '../moment.ts';
import { type NamedPolicy, readPolicy } from '../policy-file.ts';
import { type Column, printJson, printTable, word } from '../print.ts';
import {
  type Change,
  changeText,
  type Failing,
  failsOn,
  firstWhole,
  readFailing,
  remarksOf,
  replayMarkdown,
  replaySummary,
  unlisted,
} from '../replay-report.ts';
import { type AdminOptions, asAdmin, withAdmin } from '../service-options.ts';

/** Stands for the time when the current version was saved. */
const CURRENT = 'current';

interface Options extends AdminOptions {
  policy?: string;
  version?: number;
  since?: string;
  until?: string;
  failOn?: Failing[];
  markdown?: boolean;
}

export function build(io: IO): Command {
  const made = command(
    'replay',
    'Show which of the recorded calls of a policy a draft would have decided otherwise.\n\n' +
      'The audit log keeps no arguments, so the outcome of some calls cannot be known: they are counted apart. ' +
      'Limits are left out.\n\n' +
      'Exit code: 0 fine, 1 a change that --fail-on names or a draft with errors, 3 no answer.',
    [
      'toolgate replay draft.yaml --policy prod --since 30d',
      "toolgate replay draft.yaml --policy prod --since current --fail-on 'deny->allow'",
      'toolgate replay draft.yaml --policy prod --since 30d --markdown > comment.md',
      'toolgate replay --policy prod --version 3',
    ],
  )
    .argument('[policy-file]', 'the draft (JSON or YAML; - for standard input)')
    .option('--policy <policy>', 'the policy meant, by name or id; else the name in the file')
    .option('--version <n>', 'an earlier version in place of a file', wholeNumber(999_999_999))
    .option(
      '--since <when>',
      'calls not before: a time, how long ago (30d), or current: since the current version; else all',
      since,
    )
    .option('--until <when>', 'calls before: a time, or how long ago (1h)', ago)
    .option(
      '--fail-on <change>',
      'exit with 1 on a change: deny->allow, any->allow, any; may be repeated',
      readFailing,
    )
    .option('--markdown', 'print a comment for a pull request');
  return withAdmin(made).action((file: string | undefined, options: Options) => replay(io, file, options));
}

function since(text: string): string {
  return text === CURRENT ? text : ago(text);
}

async function replay(io: IO, file: string | undefined, options: Options): Promise<void> {
  const { version, until, failOn = [] } = options;
  if ((file === undefined) === (version === undefined))
    throw usageError('Give either a policy file or --version.');
  if (options.json && options.markdown) throw usageError('Give either --json or --markdown.');
  const draft = file === undefined ? null : await readPolicy(io, file, EXIT.failed);
  const named = options.policy ?? draft?.name ?? null;
  if (named === null) throw usageError('Say which policy is meant with --policy.');
  const http = asAdmin(io, options);
  const path = `/policies/${await policyId(http, named)}`;
  const current = await http.get<WholePolicy>(path);
  const { name, updatedAt } = current;
  const from = options.since === CURRENT ? firstWhole(updatedAt, Date.now()) : options.since;
  const answer = await http.post<Replay>(`${path}/replay`, {
    ...(draft === null ? { version } : contentOf(draft)),
    ...(from !== undefined && { from }),
    ...(until !== undefined && { to: until }),
  });
  const failed = answer.changes.filter(change => failsOn(change, failOn));
  if (options.json) printJson(io, answer);
  else {
    const names = await keyNames(http);
    const remarks = remarksOf(answer, options.since === CURRENT ? null : current);
    const about = {
      draft: file === undefined ? `version ${version}` : shownFile(file),
      policy: name,
      remarks,
    };
    if (options.markdown) io.stdout.write(replayMarkdown(about, answer, names, failOn));
    else print(io, answer, names, remarks);
  }
  const wrong = failOn.length === 0 ? null : (forbidden(failed) ?? incomplete(answer));
  if (wrong !== null) say(io, `toolgate: ${wrong}`);
  io.exit(wrong === null ? EXIT.ok : EXIT.failed);
}

function forbidden(failed: readonly Change[]): string | null {
  if (failed.length === 0) return null;
  const calls = failed.reduce((sum, change) => sum + change.calls, 0);
  const ways = [...new Set(failed.map(changeText))].join(', ');
  return `${calls} ${calls === 1 ? 'call' : 'calls'} would change as --fail-on forbids: ${ways}.`;
}

/** Agents choose the names of tools, so they could fill the list until a change that matters is no longer on it. */
function incomplete(answer: Replay): string | null {
  const rest = unlisted(answer);
  if (rest === 0) return null;
  return `${rest} changed calls are not listed, so --fail-on cannot tell about them; a later --since has fewer.`;
}

/** The text, as the service would keep it, or the rules if it is too long for that. */
function contentOf({ text, rules, limits, results }: NamedPolicy) {
  return text !== null && text.length <= MAX_TEXT ? { text } : { rules, limits, results };
}

function print(io: IO, answer: Replay, names: ReadonlyMap<string, string>, remarks: readonly string[]): void {
  const columns: Column<Change>[] = [
    ['CHANGE', ({ from, to }, output) => `${word(output, from)} -> ${word(output, to)}`],
    ['CALLS', ({ calls }) => String(calls)],
    ['TOOL', ({ serverName, toolName }) => visible(joinName(serverName, toolName))],
    ['KEY', ({ keyId }) => visible(names.get(keyId) ?? keyId)],
    ['NEWEST', ({ examples: [newest = '-'] }) => newest],
  ];
  if (answer.changes.length > 0) printTable(io, answer.changes, columns, '');
  say(io, replaySummary(answer));
  for (const remark of remarks) say(io, remark);
}
