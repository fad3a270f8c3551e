// Finds policies and keys that name channels which the server file does not declare. Saving such a name is refused, but a
// channel can be removed from the file later; the service says so when it starts.

import { isKnownChannel } from '../../core/policy/channel.ts';
import { listKeys } from '../../store/keys.ts';
import { policiesWithChannels, readRulesColumn } from '../../store/policies.ts';
import type { Deps } from '../deps.ts';
import { AFTER_EVERY_ID } from '../ids.ts';
import { decryptNotify } from '../keys.ts';

/** Who names a channel that is not there. */
interface Undeclared {
  channel: string;
  policy?: string;
  key?: string;
}

/** So many policies and keys are looked at, so that a start takes no longer for it. */
const MOST_READ = 1000;
const MOST_SHOWN = 20;

export async function undeclaredChannels(deps: Deps): Promise<Undeclared[]> {
  const { db, settings } = deps;
  const found: Undeclared[] = [];
  const look = (names: readonly string[], about: Omit<Undeclared, 'channel'>) => {
    for (const channel of new Set(names))
      if (!isKnownChannel(settings.channels, channel)) found.push({ channel, ...about });
  };
  for (const { name, rules } of await policiesWithChannels(db, MOST_READ))
    look(namesInRules(rules), { policy: name });
  for (const { id, name, notifyEncrypted, revokedAt } of await listKeys(db, MOST_READ, AFTER_EVERY_ID))
    if (revokedAt === null && notifyEncrypted !== null)
      look(namesOfKey(deps, id, notifyEncrypted), { key: name });
  return found.slice(0, MOST_SHOWN);
}

/** What cannot be read says so when it is used. */
function namesInRules(column: string): string[] {
  try {
    const { rules } = readRulesColumn(column);
    return rules.flatMap(({ notify = [], escalate }) => [...notify, ...(escalate?.notify ?? [])]);
  } catch {
    return [];
  }
}

function namesOfKey({ vault }: Deps, id: string, encrypted: string): string[] {
  try {
    const notify = decryptNotify(vault, id, encrypted);
    return Array.isArray(notify) ? notify : [];
  } catch {
    return [];
  }
}
