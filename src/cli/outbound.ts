// The runtime's `fetch` makes at most 256 requests at a time, to all servers together: 256 slow receivers of webhooks
// would block notifications, shipping and sign-ins. Calls of tool servers do not count, since they have a client of their
// own (guard/outgoing/client). The runtime reads this limit from the environment when it starts, before any code of
// ours, so `serve` replaces its own process with one that has it set.

export const OUTBOUND = { BUN_CONFIG_MAX_HTTP_REQUESTS: '65535' };

/** The command that started this process: a single executable, or the runtime with our entry file. */
export function ourselves(): string[] {
  const bundled = Bun.main.startsWith('/$bunfs/') || Bun.main.includes('~BUN');
  return bundled ? [process.execPath] : [process.execPath, ...process.execArgv, Bun.main];
}

/**
 * Restarts this process with the limit raised, which costs 24 ms of CPU time. Nothing happens if somebody has set
 * another limit, or if the system refuses: serving with the runtime's limit is better than not serving.
 */
export function raiseOutbound(): void {
  if (process.env['BUN_CONFIG_MAX_HTTP_REQUESTS'] !== undefined) return;
  const argv = [...ourselves(), ...process.argv.slice(2)];
  try {
    process.execve?.(process.execPath, argv, { ...process.env, ...OUTBOUND } as Record<string, string>);
  } catch {
    // The program's file may have been replaced since the start.
  }
}
