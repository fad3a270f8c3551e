// Calls on which a tool server works by itself, as tasks of its own. What the server calls such a task is stored encrypted, so
// that every replica can ask for it. No process waits for it: the call has no outcome until somebody has asked and it has
// ended, or until its time is over.

import { DAY } from '../../core/time/duration.ts';
import { abandonedExecutions, releaseExecution } from '../../store/executions.ts';
import { findTaskOfCall, followServerTask, putTask, type TaskRecord } from '../../store/tasks.ts';
import { type Chore, everyMinute } from '../chores.ts';
import type { Principal } from '../credentials.ts';
import type { Deps } from '../deps.ts';
import { giveHint } from '../hints.ts';
import { giveUpCall } from './end-call.ts';

/** How long a task of a server is followed, whatever the server says. */
const MOST_MS = 7 * DAY;
/** How many calls are given up in one step. */
const BATCH = 100;

export interface ServerTask {
  /** What the server calls it. */
  id: string;
  /** The Connected Tool that the call went to, and what it stood for then. */
  connectedToolId: string;
  sourceId: string;
  /** The run in which the result makes values known, if it does. */
  learns?: { number: number; id: string };
}

interface Followed {
  toolCallId: string;
  principal: Principal;
  /** How long the server keeps it; null: for as long as we like. */
  ttlMs: number | null;
}

/**
 * From now on no process waits for the call. A task that waited for the approval of the call stands for it. If there is none,
 * there is a task under the id of the call.
 */
export async function followTaskOfServer(
  { db, vault, now, settings, executing }: Pick<Deps, 'db' | 'vault' | 'now' | 'settings' | 'executing'>,
  { toolCallId, principal, ttlMs }: Followed,
  serverTask: ServerTask,
): Promise<void> {
  const at = now();
  const serverTaskEncrypted = vault.encrypt(JSON.stringify(serverTask), about(toolCallId));
  // A server may say any number.
  const knownUntil = at + Math.ceil(Math.min(ttlMs ?? MOST_MS, MOST_MS)) + settings.resultsFor;
  const { keyId, sessionId, personId = null } = principal;
  const known = { toolCallId, serverTaskEncrypted, changedAt: at, knownUntil };
  const task = await db.transaction({}, async tx => {
    if (!(await followServerTask(tx, known)))
      putTask(tx, {
        ...known,
        id: toolCallId,
        keyId,
        sessionId,
        personId,
        state: 'begun',
        processId: null,
        createdAt: at,
      });
    await releaseExecution(tx, toolCallId);
    return findTaskOfCall(tx, toolCallId);
  });
  executing.delete(toolCallId);
  if (task !== null) giveHint(db, 'task', task.id);
}

/** Null if the task of this row is not one of a server. */
export function serverTaskOf(
  { vault }: Pick<Deps, 'vault'>,
  { serverTaskEncrypted, toolCallId }: TaskRecord,
): ServerTask | null {
  if (serverTaskEncrypted === null || toolCallId === null) return null;
  return JSON.parse(vault.decrypt(serverTaskEncrypted, about(toolCallId)));
}

const about = (toolCallId: string): string => `server task of ${toolCallId}`;

/** Gives up calls that a server works on, once nobody can ask for them any more. Whether they ran is not known. */
export function giveUpAbandoned(): Chore {
  return everyMinute(async deps => {
    const abandoned = await abandonedExecutions(deps.db, deps.now(), BATCH);
    for (const toolCallId of abandoned) await giveUpCall(deps, toolCallId);
    return abandoned.length === BATCH;
  });
}
