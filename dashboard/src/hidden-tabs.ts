// Which of a browser's hidden tabs keeps its stream: the one that holds a lock that all tabs of this service share. When
// it is shown or closed, the next one gets the lock. So a browser has at most one stream besides those of the tabs that
// somebody looks at. Browsers have such locks only for pages from https or from their own machine; elsewhere no hidden tab
// has a stream.

const LOCK = 'toolgate.hidden-stream';

let holds = false;
let letGo: () => void = () => {};

/** Whether this tab may have a stream now. */
export const mayStream = (): boolean => !document.hidden || holds;

/** The tab was hidden: `keep` is called when its stream may go on, `close` if it may not. */
export async function hideTab(keep: () => void, close: () => void): Promise<void> {
  showTab();
  const locks: LockManager | undefined = navigator.locks;
  if (locks === undefined) return close();
  const shown = Promise.withResolvers<void>();
  const waiting = new AbortController();
  letGo = () => {
    shown.resolve();
    waiting.abort();
  };
  const hold = async (lock: Lock | null): Promise<boolean> => {
    if (lock === null) return false;
    if (waiting.signal.aborted) return true;
    holds = true;
    keep();
    await shown.promise;
    return true;
  };
  if (await locks.request(LOCK, { ifAvailable: true }, hold)) return;
  if (waiting.signal.aborted) return;
  close();
  // The tab was shown before its turn came.
  await locks.request(LOCK, { signal: waiting.signal }, hold).catch(() => {});
}

/** The tab is shown again, and leaves the lock to another one. */
export function showTab(): void {
  holds = false;
  letGo();
}
