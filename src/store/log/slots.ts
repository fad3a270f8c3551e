// An index of the audit log by time slots. Each key, tool, session, trace, verdict of a shadow, and each of the rarer
// decisions and surfaces has a tag, and a tag has one row for every slot of 16 ms in which there are entries with it.
// Under load a slot has hundreds of entries, so this costs a check almost nothing; an index row per entry and filter
// cost 1.5 µs.

import { randomInt } from 'node:crypto';
import type { Decision } from '../../core/decision/decide.ts';
import { SHADOWS, type ShadowFilter } from '../../core/foresight/shadow.ts';
import { SURFACES, type Surface } from '../../core/text/surface.ts';
import { CommittedMemory } from '../engine/committed-memory.ts';
import { into, type Transaction, type Value } from '../engine/db.ts';
import type { AuditEntry, Shadow } from './audit-entry.ts';

/**
 * The first characters of an id that make up its slot: all but the last four bits of its milliseconds, in hexadecimal.
 */
const SLOT_CHARS = 12;

/**
 * The slot of an entry. All ids in a slot begin with it, so as a bound in a comparison the slot sorts before all of
 * them.
 */
export function slotOf(id: string): string {
  return id.slice(0, SLOT_CHARS);
}

export function slotAfter(slot: string): string {
  const number = Number.parseInt(slot.replace('-', ''), 16) + 1;
  const digits = number.toString(16).padStart(SLOT_CHARS - 1, '0');
  return `${digits.slice(0, 8)}-${digits.slice(8)}`;
}

/** Sorts after every hexadecimal digit that can follow a slot in an id. */
export const AFTER_HEX = 'g';

/** The first possible id at or after a bound, which is a slot or an id. */
export function firstIdFrom(bound: string): string {
  return bound.length === SLOT_CHARS ? `${bound}0-7000-8000-000000000000` : bound;
}

/** Two different texts may have the same tag: a tag narrows a search, and the entries still have to be tested. */
function tagOf(text: string): number {
  return Bun.hash.crc32(text);
}

export const keyTag = (keyId: string): number => tagOf(`key ${keyId}`);
export const toolTag = (toolName: string): number => tagOf(`tool ${toolName}`);
export const personTag = (personId: string): number => tagOf(`person ${personId}`);
export const sessionTag = (sessionId: string): number => tagOf(`session ${sessionId}`);
export const markTag = (mark: string): number => tagOf(`mark ${mark}`);
export const traceTag = (traceId: string): number => tagOf(`trace ${traceId}`);

/** Most calls are allowed and come through /v1/check. Paging finds them at once, so they have no tag. */
const DECISION_TAGS = { allow: null, deny: tagOf('deny'), pending: tagOf('pending') };
const surfaceTags = SURFACES.map(each => [each, each === 'check' ? null : tagOf(each)] as const);
const SURFACE_TAGS = Object.fromEntries(surfaceTags) as Record<Surface, number | null>;

export const decisionTag = (decision: Decision): number | null => DECISION_TAGS[decision];
export const surfaceTag = (surface: Surface): number | null => SURFACE_TAGS[surface];

/** Few calls have a shadow, so `allow` has a tag too. */
const shadowTags = SHADOWS.map(each => [each, tagOf(`shadow ${each}`)] as const);
const SHADOW_TAGS = Object.fromEntries(shadowTags) as Record<ShadowFilter, number>;

export const shadowTag = (filter: ShadowFilter): number => SHADOW_TAGS[filter];

type Tagged = Pick<AuditEntry, 'id' | 'sessionId' | 'decision' | 'surface' | 'traceId'> & {
  shadow: Pick<Shadow, 'decision'> | null;
};

/** All tags of an entry. The tags of its context are given, since many entries share them. */
function tagsOf(entry: Tagged, shared: readonly number[]): readonly number[] {
  const decision = DECISION_TAGS[entry.decision];
  const surface = SURFACE_TAGS[entry.surface];
  const differs = entry.shadow !== null && entry.shadow.decision !== entry.decision;
  const { sessionId, traceId } = entry;
  if (sessionId === null && traceId === null && decision === null && surface === null && !differs)
    return shared;
  const tags = [...shared];
  if (sessionId !== null) tags.push(sessionTag(sessionId));
  if (traceId !== null) tags.push(traceTag(traceId));
  if (decision !== null) tags.push(decision);
  if (surface !== null) tags.push(surface);
  if (differs) tags.push(SHADOW_TAGS.differs);
  return tags;
}

const SLOTS = into(
  'audit_slots',
  { tag: 'bigint', slot: 'text', writer: 'bigint' },
  'ON CONFLICT DO NOTHING',
);

const WRITERS = 2 ** 31;

/** What many entries share that have the same context. */
type Shared = Pick<AuditEntry, 'keyId' | 'toolName' | 'personId' | 'marks'> & Pick<Tagged, 'shadow'>;

export function sharedTags({ keyId, toolName, personId, shadow, marks }: Shared): number[] {
  const tags = [keyTag(keyId), toolTag(toolName)];
  if (personId !== null) tags.push(personTag(personId));
  if (shadow !== null) tags.push(SHADOW_TAGS[shadow.decision]);
  if (marks !== null) tags.push(...marks.split(' ').map(markTag));
  return tags;
}

export type TaggedEntry = Tagged & Shared;

export function allTagsOf(entry: TaggedEntry): readonly number[] {
  return tagsOf(entry, sharedTags(entry));
}

/**
 * Writes the slots of entries for some tags. It uses a writer number of its own, so that it does not wait for the rows
 * of checks.
 */
export function insertSlots(
  tx: Transaction,
  entries: readonly TaggedEntry[],
  tags: ReadonlySet<number>,
): void {
  const values = entries.flatMap(entry => {
    const slot = slotOf(entry.id);
    return allTagsOf(entry).flatMap(tag => (tags.has(tag) ? [tag, slot, WRITERS] : []));
  });
  tx.insert(SLOTS, values);
}

/** Writes the slots of entries, except those that it has certainly written before. */
export class SlotMemory {
  /**
   * The number of this replica in its rows. Two replicas should never write the same row, because the second would wait
   * for the commit of the first.
   */
  readonly #writer = randomInt(WRITERS);
  /** The newest slot written for each tag. */
  readonly #newest = new CommittedMemory<number, string>();

  /** `contexts` contain the tags that each entry shares with others. */
  add(tx: Transaction, entries: readonly Tagged[], contexts: readonly { tags: readonly number[] }[]): void {
    this.#newest.begin();
    const values: Value[] = [];
    let before: { slot: string; tags: readonly number[] } = { slot: '', tags: [] };
    entries.forEach((entry, index) => {
      const slot = slotOf(entry.id);
      const tags = tagsOf(entry, contexts[index]?.tags ?? []);
      if (tags === before.tags && slot === before.slot) return;
      before = { slot, tags };
      for (const tag of tags) {
        if (this.#newest.get(tag) === slot) continue;
        this.#newest.set(tag, slot);
        values.push(tag, slot, this.#writer);
      }
    });
    tx.insert(SLOTS, values);
  }

  /** Must be called when the transaction of the last call has committed. */
  keep(): void {
    this.#newest.committed();
  }
}
