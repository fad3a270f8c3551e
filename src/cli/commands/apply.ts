// toolgate apply: makes policies, keys and webhooks as a file says. The plan is shown first, and applying twice changes
// nothing. New secrets are printed once.

import type { Command } from 'commander';
import { visible } from '../../core/text/visible.ts';
import { usageError } from '../exit.ts';
import { command } from '../help.ts';
import { type IO, say } from '../io.ts';
import { type Kind, makePlan, type Step } from '../plan.ts';
import { printJson } from '../print.ts';
import { readResources } from '../resources.ts';
import { type AdminOptions, asAdmin, withAdmin } from '../service-options.ts';

interface Options extends AdminOptions {
  file: string;
  dryRun?: boolean;
  yes?: boolean;
}

export function build(io: IO): Command {
  const made = command(
    'apply',
    'Make policies, keys and webhooks as a file says. The plan is shown first. Nothing is ever deleted; keys are\n' +
      'matched by name and never made again. Applying twice changes nothing.',
    ['toolgate apply -f resources.yaml --dry-run', 'toolgate apply -f resources.yaml --yes'],
  )
    .requiredOption('-f, --file <file>', 'the resources file (YAML or JSON; - for standard input)')
    .option('--dry-run', 'show the plan only')
    .option('--yes', 'do not ask');
  return withAdmin(made).action((options: Options) => apply(io, options));
}

async function apply(io: IO, options: Options): Promise<void> {
  const http = asAdmin(io, options);
  const steps = await makePlan(http, await readResources(io, options.file));
  const todo = steps.filter(step => step.action === 'create' || step.action === 'update');
  if (!options.json) showPlan(io, steps);
  const secrets: Secret[] = [];
  const go = todo.length > 0 && !options.dryRun && (options.yes || (await confirmed(io, options)));
  try {
    if (go) await carryOut(io, todo, secrets, options.json === true);
  } finally {
    // A key that was made before a later step failed would be lost if it were not shown.
    if (options.json) printJson(io, { applied: go, plan: steps.map(planned), secrets });
  }
  if (!options.json) say(io, ending(todo.length, go, options.dryRun === true));
}

interface Secret {
  kind: Kind;
  name: string;
  secret: string;
}

async function carryOut(io: IO, todo: readonly Step[], secrets: Secret[], quiet: boolean): Promise<void> {
  for (const { kind, name, run } of todo) {
    const secret = await run();
    if (secret === null) continue;
    secrets.push({ kind, name, secret });
    if (!quiet) io.stdout.write(`${kind} ${visible(name)}: ${secret}\n`);
  }
}

function planned({ action, kind, name, detail }: Step): Omit<Step, 'run'> {
  return { action, kind, name, detail };
}

const MARKS = { create: '+', update: '~', skip: '!', none: '=' } as const;
const COLOURS = { create: 'green', update: 'yellow', skip: 'red', none: 'dim' } as const;

function showPlan(io: IO, steps: readonly Step[]): void {
  for (const { action, kind, name, detail } of steps) {
    io.stdout.write(`${io.stdout.style(COLOURS[action], `${MARKS[action]} ${kind} ${visible(name)}`)}\n`);
    for (const line of detail) io.stdout.write(`    ${visible(line)}\n`);
  }
}

async function confirmed(io: IO, options: Options): Promise<boolean> {
  if (!io.stdin.isTTY || options.json || options.file === '-') {
    throw usageError('There are changes to make: add --yes to make them, or --dry-run to see the plan only.');
  }
  io.stderr.write('Make these changes? [y/N] ');
  return /^y(es)?$/i.test((await io.stdin.line()).trim());
}

function ending(todo: number, done: boolean, dryRun: boolean): string {
  if (todo === 0) return 'Nothing to change.';
  const changes = `${todo} ${todo === 1 ? 'change' : 'changes'}`;
  if (done) return `${changes} made.`;
  return dryRun ? `${changes} to make; nothing was done.` : 'Nothing was done.';
}
