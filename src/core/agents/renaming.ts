// How agents rename the tools of MCP servers, before a hook receives them. What a tool was called before cannot be told
// from its new name. So a pattern is renamed in the same way: a rule that denies or asks also applies to a name that
// its renamed pattern matches, and a rule that allows does not.

import { SEPARATOR } from '../text/name.ts';

/** The agents that rename. Gemini CLI sends the names as they were beside the new one. */
export type Renaming = 'codex' | 'vscode' | 'copilot';

/** VS Code cuts names of servers off after 13 characters or so. */
const SURELY_KEPT = 10;

/** The pattern of a rule in the names of an agent, to be compared with full names. */
export function renamedPattern(by: Renaming, pattern: string): string {
  const at = pattern.indexOf(SEPARATOR);
  const server = at < 0 ? '*' : pattern.slice(0, at);
  const tool = at < 0 ? pattern : pattern.slice(at + SEPARATOR.length);
  switch (by) {
    case 'codex':
      return withoutEdges(cleaned(server), cleaned(tool));
    case 'vscode':
      return `vscode__mcp_${shortened(server.toLowerCase())}_${tool.replace(/[^\w.*-]/g, '_')}`;
    case 'copilot':
      return `copilot__${server}-${tool}`;
  }
}

/** The names that a renamed tool may have without what Codex adds to names that would be equal. */
export function variantsOf(by: Renaming, fullName: string): string[] {
  const at = fullName.indexOf(SEPARATOR);
  if (by !== 'codex' || at < 0) return [fullName];
  const servers = [cleaned(fullName.slice(0, at))];
  const tools = [cleaned(fullName.slice(at + SEPARATOR.length))];
  for (const names of [servers, tools]) {
    const short = (names[0] as string).replace(/_[0-9a-f]{12}$/, '');
    if (short !== names[0]) names.push(short);
  }
  return servers.flatMap(server => tools.map(tool => withoutEdges(server, tool)));
}

/** A name of a server or a tool as Codex renames it. */
export const cleaned = (name: string): string => name.replace(/[^a-zA-Z0-9_*]/g, '_');

const withoutEdges = (server: string, tool: string): string =>
  server.replace(/_+$/, '') + SEPARATOR + tool.replace(/^_+/, '');

function shortened(server: string): string {
  const name = server.replace(/[^a-z0-9_.*-]+/g, '_');
  return name.length > SURELY_KEPT ? `${name.slice(0, SURELY_KEPT)}*` : name;
}
