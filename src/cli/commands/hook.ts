// toolgate hook: what the help and the completion show of it. src/cli/main.ts runs it by a shorter way (hook/main.ts).

import { type Command, Option } from 'commander';
import { AGENT_NAMES, AGENTS, DEFAULT_SECONDS, PENDING } from '../../core/agents.ts';
import { command } from '../help.ts';
import { hook } from '../hook/main.ts';
import type { IO } from '../io.ts';

export function build(_io: IO): Command {
  const what =
    'Judge one tool call of a coding agent, which starts this command before the call, with its event on standard input. ' +
    'The output and the exit code are what the agent expects. Without a verdict, the call is refused.\n\n' +
    `Agents: ${AGENT_NAMES.toSorted().join(', ')}.\n\n` +
    'The key is in TOOLGATE_API_KEY, or in the file that `toolgate connect` writes.';
  const exceptions = AGENT_NAMES.flatMap(name => {
    const { seconds } = AGENTS[name];
    return seconds === undefined ? [] : [`${name}: ${seconds}`];
  });
  const pending = new Option('--pending <what>', 'what the agent is told of a call that waits for approval')
    .choices([...PENDING])
    .default('deny');
  return command('hook', what, [
    'toolgate hook claude-code < event.json',
    'toolgate hook cursor --pending ask --timeout 5',
  ])
    .argument('<agent>', 'which agent')
    .addOption(pending)
    .option('--timeout <seconds>', `refuse after so long (${[DEFAULT_SECONDS, ...exceptions].join('; ')})`)
    .option('--base-url <url>', 'where the service is (TOOLGATE_BASE_URL)')
    .action(() => hook(process.argv.slice(3)));
}
