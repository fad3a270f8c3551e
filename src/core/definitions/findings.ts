// What is remarkable about a tool's definition, of all kinds. It is the door of this folder for whoever shows a
// definition to people. It takes time in proportion to the definition, and tells a bounded number of places.

import type { JsonObject } from '../wire/json.ts';
import { liesOf } from './annotations.ts';
import { FINDING_KINDS, type Finder, type Finding, type FindingKind, type Looked } from './finding.ts';
import { hiddenIn } from './hidden.ts';
import { instructsIn } from './instructs.ts';
import { longIn } from './long.ts';
import { mixedIn } from './mixed.ts';
import { type Neighbours, NO_NEIGHBOURS } from './neighbours.ts';
import { placesOf } from './places.ts';
import { shadowsIn } from './shadows.ts';
import { urlsIn } from './urls.ts';

/** The most places that are told of each kind, and the most that are counted. */
const MAX_TOLD = 10;
const MAX_COUNTED = 1000;

const FINDERS: Record<FindingKind, Finder> = {
  hidden: hiddenIn,
  shadows: shadowsIn,
  'mixed-script': mixedIn,
  instructs: instructsIn,
  'annotation-lies': liesOf,
  url: urlsIn,
  long: longIn,
};

/** The findings, those that hold a tool first. */
export function findingsOf(definition: JsonObject, neighbours: Neighbours = NO_NEIGHBOURS): Finding[] {
  const looked = { definition, neighbours, places: placesOf(definition) };
  return FINDING_KINDS.flatMap(kind => bounded(kind, looked));
}

function bounded(kind: FindingKind, looked: Looked): Finding[] {
  const told: Finding[] = [];
  let count = 0;
  for (const tell of FINDERS[kind](looked)) {
    if (++count <= MAX_TOLD) told.push({ kind, ...tell() });
    if (count > MAX_COUNTED) break;
  }
  const more = count > MAX_COUNTED ? `more than ${MAX_COUNTED - MAX_TOLD}` : count - MAX_TOLD;
  if (count > MAX_TOLD) told.push({ kind, where: '', text: `The same is found at ${more} further places.` });
  return told;
}
