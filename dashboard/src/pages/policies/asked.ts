// What a link to the editor asks for: a rule for a tool (`add`), or the text that a key's calls suggest (`suggest`).
// Anybody can write such a link, so it changes only the unsaved text, and what it names is validated first.

import { ACTIONS, type Action } from '../../../../src/core/policy/policy.ts';
import { splitName } from '../../../../src/core/text/name.ts';

export type Asked =
  | { kind: 'rule'; action: Action; tool: string; above: number | null; version: number | null }
  /** `last` is the time to look at, if the link names one. */
  | { kind: 'suggestion'; keyId: string; last: string }
  /** A link that cannot be followed, and a sentence that says why. */
  | { kind: 'wrong'; why: string };

export function askedIn(query: Readonly<Record<string, string>>): Asked | null {
  const { add, tool = '', above, of, suggest, last = '' } = query;
  if (add !== undefined) return ruleOf(add, tool, above, of);
  if (suggest !== undefined) return suggestionOf(suggest, last);
  return null;
}

const wrong = (why: string): Asked => ({ kind: 'wrong', why });

function ruleOf(action: string, tool: string, above: string | undefined, of: string | undefined): Asked {
  if (!isAction(action)) return wrong('The link asks for a rule with an unknown action. Nothing was added.');
  if (splitName(tool) === null)
    return wrong('The link asks for a rule about something that is not a tool. Nothing was added.');
  return { kind: 'rule', action, tool, above: countOf(above), version: countOf(of) };
}

function suggestionOf(keyId: string, last: string): Asked {
  if (!/^[\w-]{1,64}$/.test(keyId)) return wrong('The link names no key. Nothing was suggested.');
  return { kind: 'suggestion', keyId, last };
}

function isAction(text: string): text is Action {
  return (ACTIONS as readonly string[]).includes(text);
}

function countOf(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,6}$/.test(text) ? Number(text) : null;
}
