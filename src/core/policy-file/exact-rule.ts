// A rule that matches one tool and no other. Almost always that is a pattern with the full name of the tool. A pattern
// cannot say that a `*` is an ordinary character, and a name such as `list[0]` looks like a regular expression to
// lint.ts; for such names the rule has a wide pattern, and a condition that compares the names.

import type { Rule } from '../policy/policy.ts';
import { joinName, SEPARATOR } from '../text/name.ts';
import { looksLikeExpression } from './tool-patterns.ts';

export interface ToolName {
  serverName: string;
  toolName: string;
}

export function exactRule({ serverName, toolName }: ToolName): Pick<Rule, 'tool'> & { when?: string } {
  const full = joinName(serverName, toolName);
  if (isPlain(full)) return { tool: full };
  const named = `tool.name == ${literal(toolName)}`;
  if (isPlain(serverName + SEPARATOR)) return { tool: `${serverName}${SEPARATOR}*`, when: named };
  return { tool: '*', when: `tool.server == ${literal(serverName)} && ${named}` };
}

const isPlain = (text: string): boolean => !text.includes('*') && !looksLikeExpression(text);

/** Names have no control characters, so JSON escapes nothing in them that conditions would read otherwise. */
const literal = (name: string): string => JSON.stringify(name);
