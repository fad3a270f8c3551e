// The list of all commands. Each command is one file, loaded only when it is used, so that commands that work offline
// start at once; only `serve` and `demo` load the whole service.

import { Command } from 'commander';
import pkg from '../../package.json' with { type: 'json' };
import { CliError, EXIT } from './exit.ts';
import { isHelpOrMistake, polish } from './help.ts';
import { type IO, say, systemIo } from './io.ts';
import { raiseOutbound } from './outbound.ts';

type Load = () => Promise<{ build: (io: IO, program: () => Promise<Command>) => Command }>;

const OFFLINE = 'Policies on this machine:';
const AGENTS = 'Asking:';
const ADMIN = 'Administration:';
const SERVICE = 'The service:';

const COMMANDS: [group: string, name: string, summary: string, load: Load][] = [
  [SERVICE, 'serve', 'run the service', () => import('./commands/serve.ts')],
  [SERVICE, 'config', 'list every setting and where it comes from', () => import('./commands/config.ts')],
  [SERVICE, 'health', 'whether the service is ready', () => import('./commands/health.ts')],
  [SERVICE, 'doctor', 'what is wrong, and what to do about it', () => import('./commands/doctor.ts')],
  [AGENTS, 'connect', 'connect Claude Code, Cursor and other clients', () => import('./commands/connect.ts')],
  [AGENTS, 'check', 'ask whether a tool call may proceed', () => import('./commands/check.ts')],
  [AGENTS, 'hook', 'judge the tool calls of a coding agent', () => import('./commands/hook.ts')],
  [AGENTS, 'sessions', 'short-lived credentials of a key', () => import('./commands/sessions.ts')],
  [AGENTS, 'runs', 'what runs have read, and what is known in them', () => import('./commands/runs.ts')],
  [OFFLINE, 'lint', 'find mistakes in a policy file', () => import('./commands/lint.ts')],
  [OFFLINE, 'simulate', 'what a policy file says about a tool', () => import('./commands/simulate.ts')],
  [OFFLINE, 'test', 'compare a policy with the decisions you want', () => import('./commands/test.ts')],
  [ADMIN, 'policies', 'read, apply and compare policies', () => import('./commands/policies.ts')],
  [ADMIN, 'replay', 'what a policy would have changed', () => import('./commands/replay.ts')],
  [ADMIN, 'keys', 'create, change and revoke keys', () => import('./commands/keys.ts')],
  [ADMIN, 'servers', 'tool servers that keys share', () => import('./commands/servers.ts')],
  [ADMIN, 'tools', 'the MCP servers behind a key’s proxy', () => import('./commands/tools.ts')],
  [ADMIN, 'approvals', 'calls that wait for approval', () => import('./commands/approvals.ts')],
  [ADMIN, 'calls', 'calls of which nobody knows whether they ran', () => import('./commands/calls.ts')],
  [ADMIN, 'grants', 'what approvals with a duration opened', () => import('./commands/grants.ts')],
  [ADMIN, 'webhooks', 'receivers of events about approvals', () => import('./commands/webhooks.ts')],
  [ADMIN, 'operators', 'the people who sign in', () => import('./commands/operators.ts')],
  [
    ADMIN,
    'oauth-clients',
    'clients that people connect with, registered by hand',
    () => import('./commands/oauth-clients.ts'),
  ],
  [ADMIN, 'audit', 'search, follow and export the audit log', () => import('./commands/audit.ts')],
  [ADMIN, 'shipping', 'where the audit log is shipped to', () => import('./commands/shipping.ts')],
  [ADMIN, 'changes', 'who changed what', () => import('./commands/changes.ts')],
  [ADMIN, 'apply', 'make policies, keys and webhooks as a file says', () => import('./commands/apply.ts')],
  [SERVICE, 'demo', 'fill a fresh store with a believable week', () => import('./commands/demo.ts')],
  [SERVICE, 'backup', 'copy the embedded store', () => import('./commands/backup.ts')],
  [SERVICE, 'restore', 'put a backup in the place of the store', () => import('./commands/restore.ts')],
  [SERVICE, 'completion', 'completion for bash, zsh or fish', () => import('./commands/completion.ts')],
];

const EXAMPLES = `
Examples:
  $ toolgate serve
  $ toolgate connect claude-code
  $ toolgate check github create_issue --args '{"title":"Hello"}'
  $ toolgate simulate policy.yaml github__delete_repo
  $ toolgate help check`;

/** All commands, or with `only` that one command in full and the others by name. */
async function program(io: IO, only: string | null): Promise<Command> {
  const root = new Command('toolgate')
    .description(
      'A guard for the tool calls of AI agents: allow, deny, or ask a human; always recorded first.',
    )
    .version(pkg.version, '-V, --version', 'show the version')
    .usage('<command> [options]')
    // Otherwise `--version` would mean the program's version everywhere, also after `policies get`.
    .enablePositionalOptions()
    .helpCommand('help [command]', 'show help for a command')
    .addHelpText('after', EXAMPLES);
  for (const [group, name, summary, load] of COMMANDS) {
    const whole = only === null || only === name;
    const command = whole ? (await load()).build(io, () => program(io, null)) : new Command(name);
    root.addCommand(command.summary(summary).helpGroup(group));
  }
  return polish(io, root);
}

export async function run(argv: readonly string[], io: IO): Promise<void> {
  const asked = argv[0] === 'help' ? argv[1] : argv[0];
  try {
    if (!WARNS_ITSELF.includes(asked ?? '')) await warnOfUnknown(io);
    const root = await program(io, asked ?? '');
    await root.parseAsync(argv, { from: 'user' });
  } catch (error) {
    io.exit(report(io, error));
  }
}

/** These commands report unknown variables in their own way. */
const WARNS_ITSELF = ['serve', 'config', 'doctor'];
/** What commands themselves read. With nothing else in the environment, the list of settings need not be loaded. */
const OFTEN = /^TOOLGATE_(API_KEY|BASE_URL|ADMIN_TOKEN|DATA_DIR|PORT|HOST|TEST_.*)$/;

async function warnOfUnknown(io: IO): Promise<void> {
  if (!Object.keys(io.env).some(name => name.startsWith('TOOLGATE_') && !OFTEN.test(name))) return;
  const [{ unknownIn, settingNames }, { didYouMean }] = await Promise.all([
    import('../settings/config.ts'),
    import('../core/text/did-you-mean.ts'),
  ]);
  for (const name of unknownIn(io.env)) {
    const meant = didYouMean(name, [...settingNames(), 'TOOLGATE_BASE_URL', 'TOOLGATE_API_KEY']);
    say(
      io,
      `toolgate: ${name} is not a setting, so it has no effect; \`toolgate config\` lists them.${meant}`,
    );
  }
}

function report(io: IO, error: unknown): number {
  if (isHelpOrMistake(error)) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  say(io, `toolgate: ${error instanceof Error ? error.message : 'something went wrong'}`);
  // An unexpected error counts as "no answer" and must never look like an allow.
  if (!(error instanceof CliError)) return EXIT.noAnswer;
  for (const line of error.list) say(io, `  ${line}`);
  return error.exitCode;
}

/** The command line of this process. */
export function start(argv: readonly string[]): Promise<void> {
  if (argv[0] === 'serve') raiseOutbound();
  return run(argv, systemIo());
}
