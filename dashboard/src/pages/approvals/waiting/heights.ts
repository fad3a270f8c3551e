// How high the cards are, as the browser reports it. To measure a card when it ends would make the browser lay out the
// whole list again, for each of hundreds of cards that are answered together.

const heights = new WeakMap<Element, number>();

let observer: ResizeObserver | undefined;

/** Returns a function that stops watching. */
export function watchHeight(card: Element | null): (() => void) | undefined {
  if (card === null) return;
  observer ??= new ResizeObserver(entries => {
    for (const { target, borderBoxSize } of entries) heights.set(target, borderBoxSize[0]?.blockSize ?? 0);
  });
  observer.observe(card);
  return () => observer?.unobserve(card);
}

export const heightOf = (card: Element): number => heights.get(card) ?? 0;
