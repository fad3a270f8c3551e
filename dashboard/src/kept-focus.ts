// Keeps the keyboard within a part of a page whose pressed button goes away, as the one that accepts a tool does.

import { useEffect, useRef } from 'preact/hooks';

/** The element to set it on may take the focus. `shown` is what the element shows. */
export function useKeptFocus(shown: unknown) {
  const place = useRef<HTMLDivElement>(null);
  const within = useRef(false);
  useEffect(() => {
    const follow = () => {
      const { activeElement } = document;
      if (activeElement !== document.body) within.current = place.current?.contains(activeElement) ?? false;
    };
    document.addEventListener('focusin', follow);
    return () => document.removeEventListener('focusin', follow);
  }, []);
  useEffect(() => {
    if (within.current && document.activeElement === document.body)
      place.current?.focus({ preventScroll: true });
  }, [shown]);
  return place;
}
