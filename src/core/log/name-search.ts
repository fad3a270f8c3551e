// What a text means that somebody searches tools by: a name, a part of names, or a pattern with `*`. A text that is the
// full or bare name of a known tool means exactly that tool; store/log/tool-names.ts knows which tools there are. Any other
// text means every tool that it matches, without regard to case. A text with a star is always a pattern, because an
// agent may call a tool `*merge*`, and must not narrow down what that finds.

import { joinName, SEPARATOR, splitName } from '../text/name.ts';
import { compilePattern, matches } from '../text/pattern.ts';

export interface ToolName {
  serverName: string;
  toolName: string;
}

/** The most characters that a searched text may have: both parts of the longest name, and stars. */
export const MAX_SEARCH = 300;

/** The tool that a text means exactly, if there is such a tool. A bare name leaves the server open. */
export function exactName(text: string): { serverName: string | null; toolName: string } | null {
  if (text.includes('*')) return null;
  return splitName(text) ?? { serverName: null, toolName: text };
}

export function isExactly(text: string, { serverName, toolName }: ToolName): boolean {
  const exact = exactName(text);
  return exact?.toolName === toolName && (exact.serverName === null || exact.serverName === serverName);
}

/**
 * Whether names match a text. Without a star it is a part of the full name. With one it is a pattern for the whole
 * name, as in a rule: for the full name if it contains `__`, otherwise also for the bare one.
 */
export function nameMatcher(text: string): (name: ToolName) => boolean {
  const folded = text.toLowerCase();
  const full = ({ serverName, toolName }: ToolName) => joinName(serverName, toolName).toLowerCase();
  if (!folded.includes('*')) return name => full(name).includes(folded);
  const pattern = compilePattern(folded);
  const fullOnly = folded.includes(SEPARATOR);
  return name => matches(pattern, full(name)) || (!fullOnly && matches(pattern, name.toolName.toLowerCase()));
}

/** The best of the names that match a text, as full names: those that begin with it come first. */
export function bestNames(text: string, names: readonly ToolName[], most: number): string[] {
  const folded = text.toLowerCase();
  const rank = (name: ToolName): number => {
    if (isExactly(text, name)) return 0;
    return [name.toolName, name.serverName].some(each => each.toLowerCase().startsWith(folded)) ? 1 : 2;
  };
  return names
    .map(name => ({ rank: rank(name), full: joinName(name.serverName, name.toolName) }))
    .sort((a, b) => a.rank - b.rank || (a.full < b.full ? -1 : 1))
    .slice(0, most)
    .map(each => each.full);
}
