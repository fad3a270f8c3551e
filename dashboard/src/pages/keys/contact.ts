// Contacts MCP servers: after one was added or changed, after a sign-in, and when an admin wants to know. What
// was found is announced, and shown beside the server until it is contacted again.

import { useState } from 'preact/hooks';
import { announce } from '../../announce.ts';
import { post } from '../../api.ts';
import type { ConnectedTool, ToolTest } from '../../resources.ts';

/** What a server answered, or that it has yet to. */
export type Found = ToolTest | 'asked';

export interface Contacts {
  found: Readonly<Record<string, Found>>;
  contact: (server: Pick<ConnectedTool, 'id' | 'name'>) => Promise<void>;
}

/** `within` is the path of the list that the servers are in. */
export function useContacts(within: string, reload: () => void): Contacts {
  const [found, setFound] = useState<Record<string, Found>>({});
  const keep = (id: string, what: Found) => setFound(before => ({ ...before, [id]: what }));
  const contact: Contacts['contact'] = async ({ id, name }) => {
    keep(id, 'asked');
    const answer = await post<ToolTest>(`${within}/${id}/test`).catch(refused);
    keep(id, answer);
    announce(`${name}: ${foundWords(answer)}`);
    reload();
  };
  return { found, contact };
}

const refused = (error: Error): ToolTest => ({ ok: false, error: error.message, tools: [] });

export function foundWords({ ok, error, tools }: ToolTest): string {
  if (!ok) return `It does not answer: ${error}`;
  return `Connected: ${tools.length === 1 ? '1 tool' : `${tools.length} tools`}`;
}

/** Whether an admin can connect to it now. */
export function isReachable({ oauth, signIn }: Pick<ConnectedTool, 'oauth' | 'signIn'>): boolean {
  return oauth === null || signIn?.state === 'signed_in';
}
