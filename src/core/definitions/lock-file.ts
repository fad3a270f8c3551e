// The lock file of tools: the definitions that are accepted, one in each line, as `server tool digest`. It is read once, at
// the start. While a service has one, nothing else is accepted, and the store is not asked who accepted what.

/** A definition by the name of its server and tool. */
export interface LockedTool {
  server: string;
  tool: string;
  digest: string;
}

export interface ToolsLock {
  /** As it was given. */
  path: string;
  tools: readonly LockedTool[];
  has(tool: LockedTool): boolean;
}

const LINE = /^(\S+)[ \t]+("(?:[^"\\]|\\.)*"|[^\s"]+)[ \t]+([0-9a-f]{64})(?:[ \t]+#.*)?$/;
/** A name that needs no quotes. Others are written as JSON in ASCII, in which every hidden character can be seen. */
const PLAIN = /^(?!["#])[!-~]+$/;

/** The tools of the file, or what is wrong with it. */
export function parseLockFile(path: string, text: string): ToolsLock | { line: number; fault: string } {
  const tools: LockedTool[] = [];
  for (const [at, each] of text
    .replace(/^\ufeff/, '')
    .split('\n')
    .entries()) {
    const line = each.trim();
    if (line === '' || line.startsWith('#')) continue;
    const tool = parseLine(line);
    if (tool === null)
      return { line: at + 1, fault: 'is not "server tool digest", with 64 hexadecimal digits' };
    tools.push(tool);
  }
  const known = new Set(tools.map(lockLine));
  return { path, tools, has: tool => known.has(lockLine(tool)) };
}

function parseLine(line: string): LockedTool | null {
  const [, server, name, digest] = LINE.exec(line) ?? [];
  if (server === undefined || name === undefined || digest === undefined) return null;
  const tool = name.startsWith('"') ? unquoted(name) : name;
  return tool === null ? null : { server, tool, digest };
}

function unquoted(text: string): string | null {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

export function lockLine({ server, tool, digest }: LockedTool): string {
  return `${server} ${PLAIN.test(tool) && !tool.includes('"') ? tool : inAscii(tool)} ${digest}`;
}

function inAscii(text: string): string {
  return JSON.stringify(text).replace(
    /[^ -~]/g,
    each => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
