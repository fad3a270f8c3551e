// Ignores clicks right after something has moved: they were meant for what was under the pointer before. The buttons of
// the list take no pointer for a moment; the keyboard, which moves with the focus, goes on.

import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';

/** About the time that a person takes to see a change and to stop a click. */
const STILL_MS = 400;

/** `order` changes when other cards are shown, even if nothing changes its size. */
export function useStill(list: RefObject<HTMLElement | null>, order: unknown): void {
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const moved = () => {
    list.current?.setAttribute('data-moved', '');
    clearTimeout(timer.current);
    timer.current = setTimeout(() => list.current?.removeAttribute('data-moved'), STILL_MS);
  };
  useEffect(() => {
    const page = list.current?.closest('.page');
    // The observer is called before the change is painted, so no click comes between.
    const observer = new ResizeObserver(moved);
    if (page !== null && page !== undefined) observer.observe(page);
    return () => {
      observer.disconnect();
      clearTimeout(timer.current);
    };
  }, []);
  useLayoutEffect(moved, [order]);
}
