// Names of servers and tools. A full name is `<serverName>__<toolName>`; a server name never contains `__`
// and never begins or ends with `_`, so a full name splits in one way only: at its first `__`.

export const SEPARATOR = '__';
const MAX_CODE_POINTS = 128;
const PLAIN = /^[\x20-\x7e]{1,128}$/;
const CONTROL = /\p{Cc}/u;

/** What is wrong with a text that should be short and printable, or null. All names and labels use it. */
export function textFault(text: string, min: number, max: number): string | null {
  if (min <= 1 && text.length >= min && text.length <= max && PLAIN.test(text)) return null;
  if (!text.isWellFormed()) return 'must be valid Unicode, without lone surrogates';
  if (CONTROL.test(text)) return 'must not contain control characters';
  let length = 0;
  for (const _ of text) length++;
  if (length >= min && length <= max) return null;
  return min === 0 ? `must have at most ${max} characters` : `must have ${min} to ${max} characters`;
}

export function toolNameFault(name: string): string | null {
  return textFault(name, 1, MAX_CODE_POINTS);
}

export function serverNameFault(name: string): string | null {
  const fault = textFault(name, 1, MAX_CODE_POINTS);
  if (fault !== null) return fault;
  if (name.includes(SEPARATOR)) return 'must not contain "__"';
  if (name.startsWith('_') || name.endsWith('_')) return 'must not start or end with "_"';
  return null;
}

/** The most groups that an operator can be in. */
export const MAX_GROUPS = 200;

/** What is wrong with the name of a group of operators, or null. */
export function groupFault(name: string): string | null {
  return textFault(name, 1, MAX_CODE_POINTS);
}

export function joinName(serverName: string, toolName: string): string {
  return serverName + SEPARATOR + toolName;
}

/** Stands for the server of a tool whose bare name is tried. No pattern can contain it, so only a `*` matches it. */
export const ANY_SERVER = '\u0000';

/** The two parts of a full name, or null when the text is not one. */
export function splitName(fullName: string): { serverName: string; toolName: string } | null {
  const at = fullName.indexOf(SEPARATOR);
  if (at < 0) return null;
  const serverName = fullName.slice(0, at);
  const toolName = fullName.slice(at + SEPARATOR.length);
  if (serverNameFault(serverName) !== null || toolNameFault(toolName) !== null) return null;
  return { serverName, toolName };
}

/**
 * What is wrong with an entry of a session's scope, or null. A `*` is an ordinary character in a name, but somebody who
 * writes it into a scope means a wildcard and would get a session that may call nothing.
 */
export function scopeFault(entry: string): string | null {
  if (entry.includes('*'))
    return 'must not contain "*": scopes have no wildcards; name each tool in full, <server>__<tool>';
  return splitName(entry) === null ? 'must be a full tool name, <server>__<tool>' : null;
}
