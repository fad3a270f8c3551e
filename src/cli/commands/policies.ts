// toolgate policies: reads the current policies, compares them with files and replaces them. `get` prints a file that
// `apply` accepts; applying a policy that is already current changes nothing.

import type { Command } from 'commander';
import type { Policy, PolicyVersion, SavedPolicy, WholePolicy } from '../../core/api/resources.ts';
import { diffLines, type Line } from '../../core/text/diff.ts';
import { visible } from '../../core/text/visible.ts';
import { allOf, policyId } from '../admin.ts';
import { CliError, EXIT, usageError } from '../exit.ts';
import { command, group } from '../help.ts';
import type { Http } from '../http.ts';
import { type IO, say, shownFile } from '../io.ts';
import { type ListOptions, printList, wholeNumber, withList } from '../list.ts';
import { newCommand } from '../new-policy.ts';
import { linesOf, type NamedPolicy, policyBody, readPolicy, textDiffers } from '../policy-file.ts';
import { printJson, time } from '../print.ts';
import { type AdminOptions, asAdmin, withAdmin } from '../service-options.ts';
import { suggestCommand } from './policies-suggest.ts';

export function build(io: IO): Command {
  return group(
    'policies',
    'Read, apply and compare policies.',
    [
      'toolgate policies get prod > prod.yaml',
      'toolgate policies diff prod.yaml',
      'toolgate policies apply prod.yaml',
    ],
    [
      newCommand(io),
      suggestCommand(io),
      listCommand(io),
      getCommand(io),
      applyCommand(io),
      diffCommand(io),
      deleteCommand(io),
    ],
  );
}

function listCommand(io: IO): Command {
  const made = command('list', 'List policies, newest first.', ['toolgate policies list --json']);
  return withAdmin(withList(made)).action((options: AdminOptions & ListOptions) =>
    printList<Policy>(io, asAdmin(io, options), options, {
      path: '/policies',
      plural: 'policies',
      nothing: 'There are no policies.',
      columns: [
        ['ID', policy => policy.id],
        ['NAME', policy => visible(policy.name)],
        ['VERSION', policy => String(policy.version)],
        ['CHANGED', policy => time(policy.updatedAt)],
        ['DESCRIPTION', policy => visible(policy.description) || '-'],
      ],
    }),
  );
}

function getCommand(io: IO): Command {
  const examples = [
    'toolgate policies get prod > prod.yaml',
    'toolgate policies get prod --version 3 --json',
  ];
  const made = command('get', 'Print a policy as a file that apply takes.', examples)
    .argument('<policy>', 'its name or id')
    .option('--version <n>', 'an earlier version', wholeNumber(999_999_999));
  return withAdmin(made).action(async (nameOrId: string, options: AdminOptions & { version?: number }) => {
    const http = asAdmin(io, options);
    const path = `/policies/${await policyId(http, nameOrId)}`;
    const policy = await (options.version === undefined
      ? http.get<WholePolicy>(path)
      : versionOf(http, path, options.version));
    if (options.json) printJson(io, policy);
    else io.stdout.write(policy.text);
  });
}

/** The API lists versions newest first, before a cursor. */
async function versionOf(http: Http, path: string, version: number): Promise<PolicyVersion> {
  const { items } = await http.page<PolicyVersion>(`${path}/versions`, 'versions', {
    limit: 1,
    cursor: version + 1,
  });
  const found = items[0];
  if (found?.version === version) return found;
  throw new CliError(EXIT.failed, `This policy has no version ${version}.`);
}

/** The policy that a file is about: as the service has it now (null if it does not exist), and as the file says. */
interface Pair {
  name: string;
  current: WholePolicy | null;
  file: NamedPolicy;
}

async function pair(io: IO, http: Http, file: string, named: string | undefined): Promise<Pair> {
  const policy = await readPolicy(io, file, EXIT.failed);
  const word = named ?? policy.name;
  if (word === null) throw usageError(`${shownFile(file)} names no policy: give it a "name", or use --name.`);
  const policies = await allOf<Policy>(http, 'policies');
  const known = policies.find(each => each.name === word) ?? policies.find(each => each.id === named);
  const current = known === undefined ? null : await http.get<WholePolicy>(`/policies/${known.id}`);
  return { name: known?.name ?? word, current, file: policy };
}

/** What applying the file would change, line by line; a difference of the text alone changes no line. */
function changesOf({ name, current, file }: Pair): { changed: boolean; lines: Line[] } {
  if (current === null) return { changed: true, lines: diffLines([], linesOf(file)) };
  const description = file.description ?? current.description;
  const all = diffLines(linesOf(current), linesOf({ ...file, description }));
  const lines = all.filter(line => line.mark !== ' ');
  return { changed: lines.length > 0 || textDiffers(current, name, file), lines };
}

interface FileOptions extends AdminOptions {
  name?: string;
}

function withFile(made: Command): Command {
  return withAdmin(
    made
      .argument('<policy-file>', 'a policy file (JSON or YAML; - for standard input)')
      .option('--name <name>', 'the policy meant, by name or id; else the name in the file'),
  );
}

function applyCommand(io: IO): Command {
  const what = 'Make the policy as the file says: a new policy, or a new version of the one with its name.';
  const made = command('apply', what, [
    'toolgate policies apply prod.yaml',
    'toolgate policies apply rules.json --name prod',
  ]);
  return withFile(made).action(async (path: string, options: FileOptions) => {
    const http = asAdmin(io, options);
    const found = await pair(io, http, path, options.name);
    const { name, current } = found;
    const { changed } = changesOf(found);
    const policy: SavedPolicy = current !== null && !changed ? current : await writePolicy(http, found);
    if (options.json) return printJson(io, { ...policy, changed });
    say(io, `Policy "${name}" is ${changed ? 'in force' : 'unchanged'}, version ${policy.version}.`);
    for (const warning of policy.warnings ?? []) io.stderr.write(`Warning: ${warning}\n`);
  });
}

function writePolicy(http: Http, { name, current, file }: Pair): Promise<SavedPolicy> {
  const body = policyBody(name, file);
  return current === null ? http.post('/policies', body) : http.put(`/policies/${current.id}`, body);
}

function diffCommand(io: IO): Command {
  const what = 'Show what applying the file would change: lines with - would go, lines with + would come.';
  const made = command('diff', what, [
    'toolgate policies diff prod.yaml',
    'toolgate policies diff prod.yaml --exit-code',
  ]);
  return withFile(made.option('--exit-code', 'exit with 1 when there is a difference')).action(
    async (path: string, options: FileOptions & { exitCode?: boolean }) => {
      const found = await pair(io, asAdmin(io, options), path, options.name);
      const { name, current } = found;
      const { changed, lines } = changesOf(found);
      if (options.json) printJson(io, { name, exists: current !== null, changed, lines });
      else if (!changed) say(io, `Policy "${name}" is as the file says.`);
      else if (lines.length === 0)
        say(io, `Policy "${name}" has the rules of the file; its text differs in comments, order or layout.`);
      else for (const line of lines) io.stdout.write(`${painted(io, `${line.mark} ${line.text.trim()}`)}\n`);
      io.exit(options.exitCode && changed ? EXIT.failed : EXIT.ok);
    },
  );
}

function painted(io: IO, line: string): string {
  return io.stdout.style(line.startsWith('-') ? 'red' : 'green', line);
}

function deleteCommand(io: IO): Command {
  const made = command('delete', 'Delete a policy that no key uses.', ['toolgate policies delete old']);
  return withAdmin(made.argument('<policy>', 'its name or id')).action(
    async (nameOrId: string, options: AdminOptions) => {
      const http = asAdmin(io, options);
      const id = await policyId(http, nameOrId);
      await http.delete(`/policies/${id}`);
      if (options.json) return printJson(io, { id, deleted: true });
      say(io, `Policy "${nameOrId}" is deleted.`);
    },
  );
}
