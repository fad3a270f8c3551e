// Loads what helps to answer a call when its card comes near the screen, a few cards at a time. What failed is tried again
// when somebody looks at the card again.

import type { RefObject } from 'preact';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { get } from '../../../api.ts';
import type { WholeApproval } from '../../../resources.ts';

/** A browser has six connections to a host, and the answers need some of them. */
const AT_ONCE = 3;
const NEAR = '600px';

const queue: (() => Promise<void>)[] = [];
let running = 0;

function enqueue(work: () => Promise<void>): void {
  queue.push(work);
  run();
}

function run(): void {
  while (running < AT_ONCE) {
    const work = queue.shift();
    if (work === undefined) return;
    running++;
    work().finally(() => {
      running--;
      run();
    });
  }
}

const watchers = new WeakMap<Element, (near: boolean) => void>();
let observer: IntersectionObserver | undefined;

function observe(element: Element, watcher: (near: boolean) => void): () => void {
  observer ??= new IntersectionObserver(
    entries => {
      for (const { target, isIntersecting } of entries) watchers.get(target)?.(isIntersecting);
    },
    { rootMargin: NEAR },
  );
  watchers.set(element, watcher);
  observer.observe(element);
  return () => {
    observer?.unobserve(element);
    watchers.delete(element);
    watcher(false);
  };
}

export interface Look {
  /** Whether the card is on the screen or near it. */
  isNear: boolean;
  whole: WholeApproval | null;
  error: Error | null;
  again: () => void;
}

/** The service lets go of details when a call is answered. Whoever has seen them sees them until they move on. */
function withDetails(whole: WholeApproval, before: WholeApproval | null): WholeApproval {
  if (before?.details === undefined) return whole;
  const { details, detailsInserted } = before;
  return { details, ...(detailsInserted && { detailsInserted }), ...whole };
}

export function useLook(card: RefObject<HTMLElement | null>, referenceId: string): Look {
  const [state, setState] = useState<Omit<Look, 'again' | 'isNear'>>({ whole: null, error: null });
  const [isNear, setNear] = useState(true);
  const near = useRef(false);
  const asked = useRef(false);
  const again = useCallback(() => {
    if (asked.current) return;
    asked.current = true;
    enqueue(async () => {
      try {
        // Whoever scrolls past many cards wants none of them.
        if (near.current) {
          const whole = await get<WholeApproval>(`/approvals/${referenceId}`);
          setState(before => ({ whole: withDetails(whole, before.whole), error: null }));
        }
      } catch (error) {
        setState(before => ({ ...before, error: error as Error }));
      } finally {
        asked.current = false;
      }
    });
  }, [referenceId]);
  const wanted = useRef(true);
  wanted.current = state.whole === null;
  useEffect(() => {
    if (card.current === null) return;
    return observe(card.current, isNear => {
      near.current = isNear;
      setNear(isNear);
      if (isNear && wanted.current) again();
    });
  }, [again]);
  return { ...state, isNear, again };
}
