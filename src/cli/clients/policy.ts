// The policy of a new key: the one that is named, or for a coding agent the pack `coding` with the folder that it may work
// in. Without one of the two a coding agent would wait at every file that it reads.

import { statSync } from 'node:fs';
import { basename, isAbsolute, join, resolve } from 'node:path';
import type { Policy, WholePolicy } from '../../core/api/resources.ts';
import type { Client } from '../../core/clients/client.ts';
import { folderFault, withFolder } from '../../core/policy-file/pack-folder.ts';
import { PACKS, withName } from '../../core/policy-file/packs.ts';
import { allOf, policyId } from '../admin.ts';
import { CliError, EXIT, usageError } from '../exit.ts';
import type { Http } from '../http.ts';
import { type IO, say } from '../io.ts';
import type { Options } from './options.ts';
import { projectAt } from './paths.ts';

/** An existing policy, by its name, or a policy to be made for a folder. */
export type Choice = { name: string } | { folder: string };

export async function choicePolicy(io: IO, client: Client, options: Options): Promise<Choice> {
  if (options.policy !== undefined) return { name: options.policy };
  if (options.folder !== undefined) return { folder: checked(io, options.folder) };
  if (client.hooks === null || options.mcpOnly) return { name: 'default' };
  const here = projectAt(io.cwd);
  if (options.dryRun && here !== null) return { folder: here };
  if (options.json || options.yes || !io.stdin.isTTY || !io.stderr.isTTY) throw usageError(WHICH);
  say(
    io,
    'The agent gets the policy of the pack "coding": it may read and write one folder, and you are asked about the rest.',
  );
  io.stderr.write(`Which folder?${here === null ? '' : ` [${here}]`} `);
  const answer = (await io.stdin.line()).trim();
  return { folder: checked(io, answer === '' && here !== null ? here : answer) };
}

const WHICH =
  'Give --folder, with the folder that the agent may work in: it gets a policy from the pack "coding". Or give --policy.';

/** The folder, absolute. */
function checked(io: IO, given: string): string {
  const home = io.env['HOME'];
  const path = given.startsWith('~/') && home ? join(home, given.slice(2)) : given;
  const folder = resolve(io.cwd, path);
  const isFolder = path !== '' && statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true;
  if (!isFolder) throw usageError(`${JSON.stringify(given)} is not a folder.`);
  return requirePlain(folder);
}

/** A folder of another machine, which nobody here can look at. */
export function folderElsewhere(folder: string): string {
  if (!isAbsolute(folder)) throw usageError('Give the folder by its full path on the other machine.');
  return requirePlain(folder);
}

function requirePlain(folder: string): string {
  const fault = folderFault(folder);
  if (fault !== null) throw usageError(`The folder ${fault}.`);
  return folder;
}

export function codingText(folder: string, name: string): string {
  const pack = PACKS.find(each => each.name === 'coding');
  return withFolder(withName(pack?.text ?? '', name), folder);
}

/** The policy itself. One for a folder is made if there is none yet. */
export async function policyOf(http: Http, choice: Choice): Promise<WholePolicy> {
  if ('folder' in choice) return madeFor(http, choice.folder);
  return http.get<WholePolicy>(`/policies/${await policyId(http, choice.name)}`);
}

/** The policy for a folder: one that says the same already, or a new one. */
async function madeFor(http: Http, folder: string): Promise<WholePolicy> {
  const policies = await allOf<Policy>(http, 'policies');
  const short = basename(folder).replaceAll(/[^\w.-]+/g, '-');
  for (const name of ['coding', `coding-${short}`]) {
    const text = codingText(folder, name);
    const there = policies.find(policy => policy.name === name);
    if (there === undefined) return http.post<WholePolicy>('/policies', { text });
    const whole = await http.get<WholePolicy>(`/policies/${there.id}`);
    if (whole.text === text) return whole;
  }
  const taken = `There are policies "coding" and "coding-${short}" already, which say something else.`;
  throw new CliError(EXIT.failed, `${taken} Give --policy with the one to use.`);
}
