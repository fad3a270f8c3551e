// A finding: what is remarkable about a tool's definition, and where. Findings are for people. What they say of a
// stranger's text has nothing in it that is not seen.

import type { JsonObject } from '../wire/json.ts';
import type { Neighbours } from './neighbours.ts';
import type { Place } from './places.ts';

/** Those that hold a tool come first. */
export const FINDING_KINDS = [
  'hidden',
  'shadows',
  'mixed-script',
  'instructs',
  'annotation-lies',
  'url',
  'long',
] as const;
export type FindingKind = (typeof FINDING_KINDS)[number];

/** A tool in whose definition one of these is found is held, whatever the trust in its server is. */
export const HOLDING: readonly FindingKind[] = ['hidden', 'shadows'];

export interface Finding {
  kind: FindingKind;
  /** A JSON Pointer into the definition. One that would be very long ends early, at a value that contains the place. */
  where: string;
  /** Whole sentences for people. */
  text: string;
}

/** What finders look at: a definition, its texts, and the servers beside that of the tool. */
export interface Looked {
  definition: JsonObject;
  places: readonly Place[];
  neighbours: Neighbours;
}

/** Finds places, of which only the first ones are told: sentences about thousands of them would take long to make. */
export type Finder = (looked: Looked) => Iterable<() => Omit<Finding, 'kind'>>;
