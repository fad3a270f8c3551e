// What is remarkable about a tool's definition, of all kinds. It is the door of this folder for whoever shows a
// definition to people. It takes time in proportion to the definition, and says at most some places of each kind.

import type { JsonObject } from '../wire/json.ts';
import type { Finding, FindingKind } from './finding.ts';
import { hiddenIn } from './hidden.ts';
import { type Neighbours, NO_NEIGHBOURS, shadowsIn } from './shadows.ts';

/** The most places that are told of each kind. */
const MAX_TOLD = 10;

const FINDERS: Record<string, (definition: JsonObject, neighbours: Neighbours) => Iterable<Finding>> = {
  hidden: hiddenIn,
  shadows: shadowsIn,
};

/** The findings, those that hold a tool first. */
export function findingsOf(definition: JsonObject, neighbours: Neighbours = NO_NEIGHBOURS): Finding[] {
  return Object.entries(FINDERS).flatMap(([kind, find]) =>
    bounded(kind as FindingKind, find(definition, neighbours)),
  );
}

function bounded(kind: FindingKind, found: Iterable<Finding>): Finding[] {
  const told: Finding[] = [];
  let more = 0;
  for (const finding of found) {
    if (told.length < MAX_TOLD) told.push(finding);
    else more++;
  }
  if (more > 0)
    told.push({ kind, where: '', text: `The same is found ${more === 1 ? 'once' : `${more} times`} more.` });
  return told;
}
