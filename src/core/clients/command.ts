// The command line of a hook, quoted for the shell that runs it. A code other than 0 becomes 2, because agents take 2
// for a refusal and most other codes (127 of a program that is not there, for example) for a warning. Codex 0.169 and
// Gemini CLI 0.61 make the call even after a 2, if nothing was written to standard error; so something is.

import type { Pending } from '../agents.ts';
import type { ClientId, Shell } from './client.ts';

/** `program` is this program: one path, or the runtime and the path of our entry file. */
export function hookCommand(
  program: readonly string[],
  agent: ClientId,
  shell: Shell,
  pending: Pending = 'deny',
): string {
  const options = pending === 'deny' ? [] : ['--pending', pending];
  return commandLine([...program, 'hook', agent, ...options], shell) + END[shell];
}

/** The same for prompts and results, which go on also if the program is not there. */
export function tellingCommand(program: readonly string[], agent: ClientId, shell: Shell): string {
  return commandLine([...program, 'hook', agent], shell) + GO_ON[shell];
}

function commandLine(words: readonly string[], shell: Shell): string {
  return (shell === 'powershell' ? '& ' : '') + words.map(word => quoted(word, shell)).join(' ');
}

const REFUSED = "'Toolgate refused this call.'";
const END: Record<Shell, string> = {
  sh: ` || { echo ${REFUSED} >&2; exit 2; }`,
  cmd: ' || exit 2',
  // Windows PowerShell 5 has no ||. A program that could not be started leaves the last exit code as it was: empty.
  powershell: `; if ($LASTEXITCODE -ne 0) { [Console]::Error.WriteLine(${REFUSED}); exit 2 }`,
};
const GO_ON: Record<Shell, string> = {
  sh: ' || exit 0',
  cmd: ' || exit 0',
  powershell: '; exit 0',
};
/** The ends of command lines, also those that earlier versions wrote. */
const ENDS = [...Object.values(END), ...Object.values(GO_ON), '; if ($LASTEXITCODE -ne 0) { exit 2 }'];

function quoted(word: string, shell: Shell): string {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word;
  if (shell === 'cmd') return `"${word}"`;
  return shell === 'powershell' ? `'${word.replaceAll("'", "''")}'` : `'${word.replaceAll("'", "'\\''")}'`;
}

/**
 * Whether a text is the command line of a hook for this agent, and nothing else: a command of somebody's own that only
 * mentions it is theirs. A program that has another name is known by what follows.
 */
export function hookMark(agent: ClientId): RegExp {
  const end = ENDS.map(text => text.replaceAll(/[^\w\s]/g, '\\$&')).join('|');
  const options = `(?: --(?:pending|timeout|base-url)[ =]${WORD})*`;
  const command = `(?:& )?${WORD}(?: ${ENTRY_FILE})? hook ${agent}${options}`;
  return new RegExp(`^(?:(?=.*toolgate)${command}|${command}(?=${end}))(?:${end})?$`);
}

const WORD = String.raw`(?:[\w@%+=:,./\\-]|'[^']*'|\\'|"[^"]*")+`;
const ENTRY_FILE = String.raw`(?:[\w@%+=:,./\\-]+\.[jt]s|'[^']*\.[jt]s'|"[^"]*\.[jt]s")`;
