// The question that every peer is asked, which is the one that a check asks: may this tool be called, under the ten rules
// of the plain policy? Each peer has the same rules in its own language, and the same arguments in its request.

import { plainPolicy } from '../policies.ts';

interface Rule {
  tool: string;
  action: 'allow' | 'deny';
}

export const RULES = plainPolicy().rules as Rule[];
export const ALLOWED = 'github__create_issue';
/** A tool that one of the rules denies, and one that no rule names. */
const DENIED = ['server3__delete', 'github__delete_repository'];

/** Asks about the allowed tool and about the denied ones; a fast wrong answer must not be measured. */
export async function checkAnswers(ask: (tool: string) => Promise<string>, allow: string): Promise<void> {
  for (const tool of [ALLOWED, ...DENIED]) {
    const answer = await ask(tool);
    if (answer.includes(allow) !== (tool === ALLOWED))
      throw new Error(`A wrong answer for ${tool}: ${answer}`);
  }
}

export async function post(url: string, body: string): Promise<string> {
  const response = await fetch(url, { method: 'POST', headers: JSON_HEADERS, body });
  return response.text();
}

export const JSON_HEADERS = { 'content-type': 'application/json' };
