// What `toolgate serve` says once it serves: where it is, how to use it and, if it is new, the first key and the link for
// the first operator. Where these must not be printed, they are entries of a file, and the text names the file.

import { delimiter, dirname, resolve } from 'node:path';
import { DEFAULT_PORT } from '../core/default-port.ts';
import type { Welcome } from '../main.ts';
import type { PrintedSecret } from '../process/printed-secrets.ts';
import type { IO } from './io.ts';

export const SETUP_LINK = 'Link to create the first operator';

/** `keptIn` is the file that has the secrets, if they are not printed. */
export async function banner(
  io: IO,
  url: string,
  { key, setupUrl, adminTokenPath }: Welcome,
  place: Place,
  keptIn: string | null,
): Promise<string> {
  const bold = (text: string) => io.stdout.style('bold', text);
  const lines = [
    '',
    `  ${bold('Toolgate')} serves on ${url}`,
    `  Dashboard: ${url}/dashboard`,
    `  Documentation: ${url}/docs`,
    ...(await commandLine(io, place)),
    '',
  ];
  if (keptIn === null) {
    if (key !== null) lines.push(...keyLines(url, key, bold), '');
    if (setupUrl !== null) lines.push(`  Create the first operator (${ONE_TIME}): ${setupUrl}`, '');
  } else if (key !== null || setupUrl !== null) {
    const what = [...(key === null ? [] : ['Your first key']), ...(setupUrl === null ? [] : [`the ${LINK}`])];
    const said = what.join(' and ').replace(/^./, first => first.toUpperCase());
    lines.push(`  ${said} ${what.length > 1 ? 'are' : 'is'} in ${keptIn}`, `  ${WHY_KEPT}`, '');
  }
  if (key !== null && adminTokenPath !== null) lines.push(`  Admin token: in ${adminTokenPath}`, '');
  return `${lines.join('\n')}\n`;
}

const LINK = 'link to create the first operator';
const ONE_TIME = 'one-time link; it replaces those of earlier starts and of other replicas';
const WHY_KEPT = 'They are not printed, because logs are kept and read by others (TOOLGATE_PRINT_SECRETS).';

/** The same secrets as entries of a file. */
export function secretsOf(url: string, { key, setupUrl }: Welcome): PrintedSecret[] {
  const entries: PrintedSecret[] = [];
  if (key !== null)
    entries.push({ name: 'First key', text: keyLines(url, key, text => text).join('\n'), until: null });
  if (setupUrl !== null) entries.push({ name: SETUP_LINK, text: `${setupUrl}\n(${ONE_TIME})`, until: null });
  return entries;
}

function keyLines(url: string, key: string, bold: (text: string) => string): string[] {
  const body = JSON.stringify({ serverName: 'github', toolName: 'get_issue', args: { number: 1 } });
  return [
    `  Your first key, shown this once: ${bold(key)}`,
    '  It uses the policy "default". Try it:',
    '',
    `  curl -s ${url}/v1/check -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' -d '${body}'`,
  ];
}

/** Where the service is, for commands on this machine. */
export interface Place {
  port: number;
  dataDir: string;
}

/** What makes the command line work in other terminals, in any folder. Nothing, if `toolgate` is installed there already. */
async function commandLine(io: IO, { port, dataDir }: Place): Promise<string[]> {
  // What this loads must not delay the start.
  const { ourProgram } = await import('./clients/paths.ts');
  const [program = '', ...more] = ourProgram();
  const folder = dirname(program);
  if (more.length > 0 || (io.env['PATH'] ?? '').split(delimiter).includes(folder)) return [];
  const words = [`PATH="${folder}:$PATH"`, `TOOLGATE_DATA_DIR="${resolve(io.cwd, dataDir)}"`];
  if (port !== DEFAULT_PORT) words.push(`TOOLGATE_PORT=${port}`);
  return [`  Command line, in other terminals: export ${words.join(' ')}`];
}
