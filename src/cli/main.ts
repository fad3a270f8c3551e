// Where the program starts. An agent starts `toolgate hook` before every tool call, so that command takes a short way:
// nothing of the other commands is loaded for it, and nothing is imported here before it is known which way to take.

export {};

const argv = process.argv.slice(2);

if (argv[0] === 'hook' && !argv.includes('--help') && !argv.includes('-h')) {
  try {
    const { hook } = await import('./hook/main.ts');
    await hook(argv.slice(1));
  } catch {
    // Only exit code 2 blocks: agents take any other failure of a hook for yes.
    console.error('Toolgate gave no verdict, so this call is refused. The hook failed.');
    process.exit(2);
  }
} else if (argv[0] === 'confined-command') {
  // The processes around a command of the server file that has a sandbox. They are started anew for each.
  const { enter } = await import('../mcp/sandbox/entry.ts');
  enter(argv[1]);
} else {
  const { start } = await import('./program.ts');
  await start(argv);
}
