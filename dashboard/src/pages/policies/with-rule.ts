// The text of a policy with a rule that a link asks for, at the place where it decides: above the rule that decided the
// call, or at the end if none matched.

import { insertRule } from '../../../../src/core/policy-file/insert-rule.ts';
import { splitName } from '../../../../src/core/text/name.ts';
import type { AddedLines } from './added-lines.ts';
import type { Asked } from './asked.ts';
import { compiledDraft, draftOf } from './draft.ts';

type AskedRule = Extract<Asked, { kind: 'rule' }>;

interface WithRule {
  text: string;
  /** The lines of the rule. */
  added: AddedLines;
  /** Whether the text did not have the rule before. */
  isNew: boolean;
  /** What was done, in one sentence. */
  said: string;
}

/**
 * `version` is the version of the policy that the text is, or null if somebody has changed it since. The number of the
 * rule that decided says something about its own version only; in another text the new rule goes above every rule that
 * matches the tool. Null if the rule cannot be put in.
 */
export function withRule(text: string, version: number | null, asked: AskedRule): WithRule | null {
  const isThatVersion = version !== null && (asked.version ?? version) === version;
  const above = isThatVersion ? asked.above : firstMatch(text, asked.tool);
  const inserted = insertRule(text, asked, above);
  if (inserted === null) return null;
  const { index, added: isNew } = inserted;
  const first = draftOf(inserted.text).lines[index] ?? 1;
  const more = countLines(inserted.text) - countLines(text);
  return {
    text: inserted.text,
    isNew,
    added: { first, last: first + Math.max(more, 1) - 1 },
    said: `Rule ${index} (${asked.action} for ${asked.tool}) ${isNew ? 'was added to' : 'is already in'} the text.`,
  };
}

function firstMatch(text: string, tool: string): number | null {
  const name = splitName(tool);
  const policy = compiledDraft(draftOf(text), '');
  if (name === null || policy === null) return null;
  return policy.index.candidatesFor(tool, name.toolName)[0] ?? null;
}

const countLines = (text: string): number => text.split('\n').length;
