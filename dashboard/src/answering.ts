// Waits until the service answers again, for requests that it could not answer. One request asks for all that wait;
// none is sent while nothing waits or the tab is hidden.

import { Refusal } from './api.ts';

const AGAIN_MS = 3000;
const waiting = new Set<() => void>();
let asks: ReturnType<typeof setInterval> | undefined;

/** Runs `work` once, when the service is ready; returns a function that stops waiting. */
export function whenAnswering(work: () => void): () => void {
  waiting.add(work);
  asks ??= setInterval(ask, AGAIN_MS);
  return () => {
    waiting.delete(work);
    if (waiting.size === 0) stop();
  };
}

/** Whether the same request may succeed later: the service did not answer, or could not answer now. */
export function passes(error: Error | null): boolean {
  return error instanceof Refusal && [0, 502, 503, 504].includes(error.status);
}

async function ask(): Promise<void> {
  if (document.hidden) return;
  const ready = await fetch('/readyz').catch(() => null);
  if (ready?.ok !== true) return;
  stop();
  const all = [...waiting];
  waiting.clear();
  for (const work of all) work();
}

function stop(): void {
  clearInterval(asks);
  asks = undefined;
}
