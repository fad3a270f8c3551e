// The runtime makes 256 outbound requests at a time, of all upstreams together: as many slow calls, or as many tool
// servers that hold a stream open, stopped everything else. The bound is read from the environment when the runtime
// starts, before any code of ours, so `serve` takes its own place with it set. What one key may take is mcp/places.ts's.

export const OUTBOUND = { BUN_CONFIG_MAX_HTTP_REQUESTS: '65535' };

/** The command that started us: an executable of its own, or the runtime with our entry file. */
export function ourselves(): string[] {
  const bundled = Bun.main.startsWith('/$bunfs/') || Bun.main.includes('~BUN');
  return bundled ? [process.execPath] : [process.execPath, ...process.execArgv, Bun.main];
}

/**
 * The same process from its start, with the bound raised, for 24 ms of CPU. Nothing where somebody has chosen another
 * bound, or where the system does not let us: to serve with the runtime's own bound is better than not to serve.
 */
export function raiseOutbound(): void {
  if (process.env['BUN_CONFIG_MAX_HTTP_REQUESTS'] !== undefined) return;
  const argv = [...ourselves(), ...process.argv.slice(2)];
  try {
    process.execve?.(process.execPath, argv, { ...process.env, ...OUTBOUND } as Record<string, string>);
  } catch {
    // The program's file may have been replaced since it was started.
  }
}
