// Annotations that contradict the name of the tool: `readOnlyHint` on one that is named for a change, and
// `destructiveHint: false` on one that is named for a loss. Clients may call a tool unasked because of them.

import { isObject } from '../wire/json.ts';
import type { Finder } from './finding.ts';
import { quoted } from './quoted.ts';

const words = (text: string) => new Set(text.trim().split(/\s+/));

/** Verbs of tools that destroy something. */
const DESTROYS = words(`
  delete remove destroy drop purge erase wipe truncate uninstall revoke clear reset kill terminate overwrite unpublish
`);
/** Verbs of tools that change something. */
const CHANGES = words(`
  create add insert write update edit modify set put patch upsert append rename move copy upload save store send post
  reply publish submit merge push commit deploy install execute pay charge refund transfer cancel approve close
  archive assign invite grant enable disable restart schedule
`);
/** Verbs of tools that only look. What follows them is what they look at: `get_deleted_items`, `list_delete_markers`. */
const LOOKS = words(`
  get list read search find show view describe fetch query count check lookup look browse retrieve inspect explain
  summarize validate verify test preview is has can whoami about help status download export diff compare
`);

export const liesOf: Finder = function* ({ definition: { name, annotations } }) {
  if (typeof name !== 'string' || !isObject(annotations)) return;
  const verb = verbOf(name);
  if (verb === null) return;
  if (annotations['readOnlyHint'] === true)
    yield () => lie('readOnlyHint', 'says that the tool only reads', name, verb);
  if (annotations['destructiveHint'] === false && DESTROYS.has(verb))
    yield () => lie('destructiveHint', 'says that the tool destroys nothing', name, verb);
};

function lie(hint: string, says: string, name: string, verb: string) {
  const text = `The annotation ${hint} ${says}, while its name, ${quoted(name)}, says "${verb}".`;
  return { where: `/annotations/${hint}`, text };
}

const MAX_NAME = 200;

/** The word of a name that says that the tool changes something, or null. */
function verbOf(name: string): string | null {
  const parts = name
    .slice(0, MAX_NAME)
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z]+/);
  for (const part of parts) {
    if (LOOKS.has(part)) return null;
    if (DESTROYS.has(part) || CHANGES.has(part)) return part;
  }
  return null;
}
