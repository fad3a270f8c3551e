// What is remembered of tools' annotations. A call must be decided by those of its tool whatever other calls of the
// same group, or of another one at the same time, make the memory forget: without them a rule that denies may not apply.

import { afterEach, beforeEach, expect, test } from 'bun:test';
import { Annotations } from '../../../src/guard/check/annotations.ts';
import { DefinitionFacts } from '../../../src/guard/check/facts.ts';
import { createPolicy } from '../../../src/guard/check/policies.ts';
import type { CheckRequest } from '../../../src/guard/check/request.ts';
import type { Deps } from '../../../src/guard/deps.ts';
import { createKey } from '../../../src/guard/keys.ts';
import { connectTool } from '../../../src/guard/tool-servers/connected-tools.ts';
import { compareDefinitions } from '../../../src/guard/tool-servers/definitions.ts';
import type { ConnectedTool } from '../../../src/store/connected-tools.ts';
import { NOW, openStore, type TestStore } from '../../store/stores.ts';
import { depsAt } from '../deps.ts';

let store: TestStore;
let deps: Deps;
let tool: ConnectedTool;
let keyId: string;

beforeEach(async () => {
  store = await openStore('sqlite');
  deps = depsAt(store.db, () => NOW);
  const policy = await createPolicy(deps, 'admin', { name: 'p', description: '', rules: [] });
  const key = { name: 'k', policyId: policy.id, requireSignInToApprove: false, expiresAt: null };
  keyId = (await createKey(deps, 'admin', { ...key, notify: null, forward: [] })).key.id;
  const input = { name: 'up', transport: 'stdio' as const, target: 'x', headers: null };
  tool = await connectTool(deps, 'admin', { allowPrivate: true }, keyId, input);
  const names = ['a', 'b', 'c', 'd'];
  const shown = names.map(title => ({ toolName: title, definition: { annotations: { title } } }));
  await compareDefinitions(deps, tool, shown);
});
afterEach(() => store.close());

const call = (toolName: string): CheckRequest => ({
  principal: { kind: 'key', keyId, sessionId: null, scope: null },
  surface: 'mcp',
  call: { serverName: 'up', toolName },
  args: {},
  connectedTool: tool,
  referenceId: null,
  startedAt: 0,
});

test('what is forgotten for other calls is known for these', async () => {
  const annotations = new Annotations(1);
  const load = (requests: CheckRequest[]) =>
    deps.db.transaction({}, async tx =>
      annotations.load(tx, requests, await DefinitionFacts.read(tx, requests, null)),
    );
  await load([call('a'), call('b')]);
  // The memory is full now: c makes it forget a, which is decided beside it.
  const group = [call('a'), call('c')];
  await load(group);
  const other = [call('b'), call('d')];
  await load(other);
  expect([...group, ...other].map(each => annotations.of(each)?.['title'])).toEqual(['a', 'c', 'b', 'd']);
});
