// What the inbox shows, and where: pure functions over its cards. A card keeps its place until the person moves on. Calls
// that begin to wait are counted, not inserted; an answered one stays as an ended card.

import { answeredBy } from '../../../../../src/core/approvals/approval.ts';
import type { Approval } from '../../../resources.ts';

export interface Ending {
  /** `elsewhere`: it no longer waits, and how it ended is not known yet. */
  status: 'approved' | 'denied' | 'timed_out' | 'withdrawn' | 'elsewhere';
  by: string | null;
  grantExpiresAt: string | null;
}

export interface Card {
  approval: Approval;
  /** Null while it waits. */
  ending: Ending | null;
}

export interface Filter {
  /** A part of the tool's full name. */
  tool: string;
  keyId: string;
  group: string;
}

export function matches({ tool, keyId, group }: Filter, approval: Approval): boolean {
  const name = `${approval.serverName}__${approval.toolName}`.toLowerCase();
  return (
    name.includes(tool.trim().toLowerCase()) &&
    (keyId === '' || keyId === approval.keyId) &&
    (group === '' || group === approval.approverGroup)
  );
}

export const cardsOf = (waiting: readonly Approval[]): Card[] =>
  waiting.map(approval => ({ approval, ending: null }));

/** The calls that wait and have no card yet. */
export function newcomers(cards: readonly Card[], waiting: readonly Approval[]): Approval[] {
  const shown = new Set(cards.map(card => card.approval.referenceId));
  return waiting.filter(each => !shown.has(each.referenceId));
}

/** The same cards in the same places, after the list of waiting calls has changed. */
export function kept(cards: readonly Card[], waiting: readonly Approval[], now: number): Card[] {
  const current = new Map(waiting.map(each => [each.referenceId, each]));
  return cards.map(card => {
    if (card.ending !== null) return card;
    const found = current.get(card.approval.referenceId);
    if (found !== undefined) return found === card.approval ? card : { approval: found, ending: null };
    const lapsed = Date.parse(card.approval.expiresAt) <= now;
    const ending = { by: null, grantExpiresAt: null } as const;
    return { ...card, ending: { ...ending, status: lapsed ? 'timed_out' : 'elsewhere' } };
  });
}

/** The same cards, after what is known about one approval has changed. */
export function updated(cards: readonly Card[], approval: Approval): Card[] {
  return cards.map(card =>
    card.approval.referenceId === approval.referenceId
      ? { approval: { ...card.approval, ...approval }, ending: endingOf(approval) ?? card.ending }
      : card,
  );
}

function endingOf({ status, resolvedBy, grantExpiresAt }: Approval): Ending | null {
  return status === 'pending' ? null : { status, by: resolvedBy, grantExpiresAt };
}

export const isWaiting = (card: Card): boolean => card.ending === null;

/** How a call ended, in words; `me` is the e-mail address of who reads it. */
export function endingWords({ status, by }: Ending, me: string | null): string {
  if (status === 'timed_out') return 'Lapsed: nobody answered in time';
  if (status === 'withdrawn') return 'No longer asked: the agent withdrew the call';
  if (status === 'elsewhere') return 'Answered elsewhere';
  const answer = status === 'approved' ? 'Approved' : 'Denied';
  return by === null ? answer : `${answer} by ${byWords(by, me)}`;
}

function byWords(by: string, me: string | null): string {
  const who = answeredBy(by);
  return who === me ? 'you' : who;
}

/** Calls of one key to one tool. */
export interface Alike {
  id: string;
  cards: Card[];
}

/** Groups alike cards; a group is where its first card was. */
export function alikeOf(cards: readonly Card[]): Alike[] {
  const groups = new Map<string, Alike>();
  for (const card of cards) {
    const { keyId, serverName, toolName } = card.approval;
    const id = JSON.stringify([keyId, serverName, toolName]);
    const group = groups.get(id);
    if (group === undefined) groups.set(id, { id, cards: [card] });
    else group.cards.push(card);
  }
  return [...groups.values()];
}
