// toolgate policies suggest: prints a policy that covers what a key did, for people to read and change. The service makes
// it and changes nothing.

import type { Command } from 'commander';
import type { SuggestedPolicy } from '../../core/api/resources.ts';
import { pastKeyId } from '../admin.ts';
import { command } from '../help.ts';
import { type IO, say } from '../io.ts';
import { ago } from '../moment.ts';
import { printJson } from '../print.ts';
import { type AdminOptions, asAdmin, withAdmin } from '../service-options.ts';

interface SuggestOptions extends AdminOptions {
  key: string;
  since?: string;
}

export function suggestCommand(io: IO): Command {
  const what =
    'Print a policy that covers what a key did, and nothing else. Nothing is changed. It has no name: apply it with --name.';
  const made = command('suggest', what, [
    'toolgate policies suggest --key ci > suggested.yaml',
    'toolgate policies suggest --key ci --since 7d --json',
  ])
    .requiredOption('--key <key>', 'the key, by name or id')
    .option('--since <when>', 'not before: a time, or how long ago (default: 30d)', ago);
  return withAdmin(made).action(async ({ key, since, ...options }: SuggestOptions) => {
    const http = asAdmin(io, options);
    const path = `/keys/${await pastKeyId(http, key)}/suggest`;
    const suggested = await http.post<SuggestedPolicy>(path, { from: since });
    if (options.json) return printJson(io, suggested);
    io.stdout.write(suggested.text);
    say(io, 'This is a suggestion. Read it; it is in force once you apply it.');
  });
}
