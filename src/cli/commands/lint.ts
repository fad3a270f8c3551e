// toolgate lint: lists every problem of a policy file, with line and column. It works offline.

import type { Command } from 'commander';
import { type Problem, parsePolicy } from '../../core/policy-file/policy-file.ts';
import { EXIT } from '../exit.ts';
import { command } from '../help.ts';
import { type IO, readText, say, shownFile } from '../io.ts';
import { problemLine } from '../policy-file.ts';
import { printJson } from '../print.ts';

interface Options {
  strict?: boolean;
  json?: boolean;
}

export function build(io: IO): Command {
  return command(
    'lint',
    'Find mistakes in a policy file (JSON or YAML; - for standard input). Works offline.\n\n' +
      'Exit code: 0 fine, 1 problems found, 3 the file cannot be read. Warnings fail only with --strict.',
    [
      'toolgate lint policy.yaml',
      'toolgate lint --strict policy.yaml',
      'toolgate lint --json - < policy.json',
    ],
  )
    .argument(
      '<policy-file>',
      '{ name?, description?, limits?, rules: [...], results? } or a bare list of rules',
    )
    .option('--strict', 'let warnings fail, too')
    .option('--json', 'print { ok, problems: [{ severity, line, column, message }] }')
    .action((file: string, options: Options) => lint(io, file, options));
}

async function lint(io: IO, file: string, options: Options): Promise<void> {
  const { problems } = parsePolicy(await readText(io, file));
  const ok = !problems.some(problem => options.strict || problem.severity === 'error');
  if (options.json) printJson(io, { ok, problems });
  else {
    for (const problem of problems) io.stdout.write(`${problemLine(io, file, problem, 'stdout')}\n`);
    say(io, `${shownFile(file)}: ${summary(problems)}`);
  }
  io.exit(ok ? EXIT.ok : EXIT.failed);
}

function summary(problems: readonly Problem[]): string {
  const errors = problems.filter(problem => problem.severity === 'error').length;
  const warnings = problems.length - errors;
  const parts = [count(errors, 'error'), count(warnings, 'warning')].filter(part => part !== null);
  return parts.length === 0 ? 'no problems' : parts.join(', ');
}

function count(number: number, noun: string): string | null {
  return number === 0 ? null : `${number} ${noun}${number === 1 ? '' : 's'}`;
}
