// Operators accept definitions of tools: those that changed, and those that nobody has accepted yet. They name what they have
// looked at by its digest, and nothing else is accepted.

import { GuardError } from '../../core/errors.ts';
import { findConnectedTool } from '../../store/connected-tools.ts';
import type { Transaction } from '../../store/engine/db.ts';
import { acceptDefinitions, findPin, type LookedAt } from '../../store/tool-definitions.ts';
import { findToolServer, type SourceRef } from '../../store/tool-servers.ts';
import { recordChange } from '../changes.ts';
import type { Actor, Deps } from '../deps.ts';
import { noSuchTool } from './connected-tools.ts';
import { changeSource } from './sources.ts';
import { noSuchToolServer } from './tool-servers.ts';

/** Accepts all of these definitions, or none if a tool has another one now. */
export async function acceptOfServer(
  deps: Deps,
  actor: Actor,
  id: string,
  tools: readonly LookedAt[],
): Promise<void> {
  const server = await findToolServer(deps.db, id);
  if (server === null) throw noSuchToolServer();
  await changing(deps, server, async (tx, sourceId) => {
    if (sourceId === null) throw noSuchToolServer();
    await acceptAll(deps, tx, actor, sourceId, tools);
    await recordChange(tx, deps, actor, 'tool-server.accept', id, { name: server.name, tools });
  });
}

/** The same for a Connected Tool. If it names a tool server, they are accepted for all keys that do. */
export async function acceptOfTool(
  deps: Deps,
  actor: Actor,
  keyId: string,
  id: string,
  tools: readonly LookedAt[],
): Promise<void> {
  await changingTool(deps, keyId, id, async (tx, sourceId) => {
    await acceptAll(deps, tx, actor, sourceId, tools);
    await recordChange(tx, deps, actor, 'connected-tool.accept', id, { keyId, tools });
  });
}

/** Accepts a changed definition, if it is still the one that the operator has seen. */
export async function acceptDrift(
  deps: Deps,
  actor: Actor,
  keyId: string,
  id: string,
  { toolName, digest }: { toolName: string; digest: string },
): Promise<void> {
  await changingTool(deps, keyId, id, async (tx, sourceId) => {
    const pin = await findPin(tx, sourceId, toolName);
    if (pin?.changedDigest !== digest) {
      throw new GuardError(
        'conflict',
        'This is not the digest of a changed definition of this tool: it has changed again, was accepted already, ' +
          'or shows the accepted one. Look at its definitions once more.',
      );
    }
    await acceptAll(deps, tx, actor, sourceId, [{ name: toolName, digest }]);
    await recordChange(tx, deps, actor, 'connected-tool.accept', id, { toolName, digest });
  });
}

async function changingTool(
  deps: Deps,
  keyId: string,
  id: string,
  work: (tx: Transaction, sourceId: string) => Promise<void>,
): Promise<void> {
  const tool = await findConnectedTool(deps.db, keyId, id);
  if (tool === null) throw noSuchTool();
  await changing(deps, tool, async (tx, sourceId) => {
    if (sourceId === null || (await findConnectedTool(tx, keyId, id)) === null) throw noSuchTool();
    await work(tx, sourceId);
  });
}

/** While there is a lock file, nobody accepts anything. `work` gets null if the source was removed. */
async function changing(
  deps: Deps,
  source: SourceRef,
  work: (tx: Transaction, sourceId: string | null) => Promise<void>,
): Promise<void> {
  const { toolsLock } = deps.settings;
  if (toolsLock !== null)
    throw new GuardError(
      'conflict',
      `The lock file ${toolsLock.path} decides which definitions are accepted. Write "server tool digest" into it, and start the service anew.`,
    );
  await changeSource(deps, source, (tx, now) => work(tx, now?.sourceId ?? null));
}

async function acceptAll(
  deps: Deps,
  tx: Transaction,
  actor: Actor,
  sourceId: string,
  tools: readonly LookedAt[],
): Promise<void> {
  const by = actor.replace(/^operator:/, '');
  const others = await acceptDefinitions(tx, sourceId, tools, { by, at: deps.now() });
  if (others.length > 0) throw changedMeanwhile(others.map(each => each.name));
}

const MOST_NAMED = 5;

function changedMeanwhile(names: readonly string[]): GuardError {
  const some = names.slice(0, MOST_NAMED).map(name => JSON.stringify(name));
  const more = names.length > some.length ? ` and ${names.length - some.length} others` : '';
  return new GuardError(
    'conflict',
    `Nothing was accepted: the server shows another definition, or none, of ${some.join(', ')}${more}. Look at its tools once more.`,
  );
}
