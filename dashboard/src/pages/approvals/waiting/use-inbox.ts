// The cards of the inbox, kept in their places while calls begin and cease to wait.

import { useSignal, useSignalEffect } from '@preact/signals';
import { useLayoutEffect, useState } from 'preact/hooks';
import { useLive } from '../../../live.ts';
import { pending, updatePending } from '../../../pending.ts';
import type { Approval } from '../../../resources.ts';
import { type Card, cardsOf, type Filter, isWaiting, kept, matches, newcomers, updated } from './inbox.ts';

/** How many cards are drawn at first, and how many more whenever the end of the list comes near. */
const PAGE = 50;

interface Inbox {
  /** Null until they are loaded. */
  cards: Card[] | null;
  /** Changes when other cards are shown. */
  round: number;
  /** How many of the cards are drawn. */
  drawn: number;
  more: () => void;
  newcomers: Approval[];
  showNew: () => void;
  clearEnded: () => void;
  update: (approval: Approval) => void;
}

export function useInbox(filter: Filter): Inbox {
  const cards = useSignal<Card[] | null>(null);
  const [{ round, drawn }, setView] = useState({ round: 0, drawn: PAGE });
  const wanted = () => (pending.peek() ?? []).filter(each => matches(filter, each));
  const show = (next: Card[]) => {
    cards.value = next;
    setView(before => ({ round: before.round + 1, drawn: PAGE }));
  };
  useSignalEffect(() => {
    const waiting = pending.value;
    if (waiting === undefined) return;
    // With an empty list nothing can move, so what comes is shown at once.
    const shown = cards.peek() ?? [];
    if (shown.length === 0) show(cardsOf(wanted()));
    else cards.value = kept(shown, waiting, Date.now());
  });
  const { tool, keyId, group } = filter;
  useLayoutEffect(() => {
    if (pending.peek() !== undefined) show(cardsOf(wanted()));
  }, [tool, keyId, group]);
  const update = (approval: Approval) => {
    updatePending(approval);
    cards.value = updated(cards.peek() ?? [], approval);
  };
  useLive({
    approval: approval => {
      cards.value = updated(cards.peek() ?? [], approval);
    },
  });
  const shown = cards.value ?? [];
  return {
    cards: cards.value,
    round,
    drawn,
    more: () => setView(before => ({ ...before, drawn: before.drawn + PAGE })),
    newcomers: newcomers(
      shown,
      (pending.value ?? []).filter(each => matches(filter, each)),
    ),
    showNew: () => show(cardsOf(wanted())),
    clearEnded: () => show(shown.filter(isWaiting)),
    update,
  };
}
