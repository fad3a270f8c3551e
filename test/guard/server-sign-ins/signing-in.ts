// A key with a Connected Tool behind OAuth on an open store, and a person's browser that signs in to its server.

import type { Deps } from '../../../src/guard/deps.ts';
import { newId } from '../../../src/guard/ids.ts';
import type { ServerSignIns } from '../../../src/guard/server-sign-ins/server-sign-ins.ts';
import { connectTool } from '../../../src/guard/tool-servers/connected-tools.ts';
import type { OAuthSettings } from '../../../src/guard/tool-servers/source-secrets.ts';
import type { ConnectedTool } from '../../../src/store/connected-tools.ts';
import { insertKey } from '../../../src/store/keys.ts';
import { insertOperator, updateOperatorGroups } from '../../../src/store/operators.ts';
import type { ToolSource } from '../../../src/store/tool-servers.ts';
import { keyRecord, NOW } from '../../store/stores.ts';
import { Visitor } from '../../support/identity-provider.ts';

export const HERE = 'http://127.0.0.1:9';
export const RULES = { allowPrivate: true };
/** Whoever is signed in may sign in for whomever. */
export const ANYBODY = () => {};

export async function newTool(
  deps: Deps,
  target: string,
  oauth: OAuthSettings = { as: 'key' },
): Promise<ConnectedTool> {
  const key = keyRecord({ id: newId(), openTo: ['group:people'] });
  await deps.db.transaction({}, tx => insertKey(tx, key, key.id));
  const input = { name: 'up', transport: 'http' as const, target, headers: null, oauth };
  return connectTool(deps, 'admin', RULES, key.id, input);
}

export async function newOperator(deps: Deps): Promise<string> {
  const id = newId();
  const operator = { id, email: `${id}@example.com`, role: 'user' as const, createdAt: NOW };
  await deps.db.transaction({}, async tx => {
    await insertOperator(tx, operator, null);
    await updateOperatorGroups(tx, id, ['people']);
  });
  return id;
}

/** Begins as the page does: what it shows is what the sign-in is for. */
export async function begin(
  signIns: ServerSignIns,
  tool: ToolSource,
  personId: string | null = null,
): Promise<{ url: string; browser: string }> {
  const { shown } = await signIns.look(tool, personId);
  const begun = await signIns.begin(tool, personId, { actor: 'admin', browser: null, shown });
  if (begun === null) throw new Error('the server says something else now');
  return begun;
}

/** Goes to the server's pages and back; returns the answer that the callback gets, and the browser's cookie. */
export async function visit(
  signIns: ServerSignIns,
  tool: ToolSource,
  { personId = null, login = 'ann' }: { personId?: string | null; login?: string } = {},
): Promise<{ answer: URLSearchParams; browser: string; url: string }> {
  const { url, browser } = await begin(signIns, tool, personId);
  const back = await new Visitor('10.0.0.1').signInAt(url, login, `${HERE}/oauth/callback/${tool.id}`);
  return { answer: new URL(back).searchParams, browser, url };
}

export async function signIn(
  signIns: ServerSignIns,
  tool: ToolSource,
  who: { personId?: string | null; login?: string } = {},
): Promise<void> {
  const { answer, browser } = await visit(signIns, tool, who);
  await signIns.finish({ toolId: tool.id, answer, browser }, ANYBODY);
}
