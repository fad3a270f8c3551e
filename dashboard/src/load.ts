// Loads data from the service in a component: the data, the error, and whether it is loading. What was shown stays
// while it is loaded again, so that nothing flickers and nothing blocks. What failed because the service did not answer is
// loaded again when it does.

import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { passes, whenAnswering } from './answering.ts';
import { get, type Query, queryOf } from './api.ts';

interface Loaded<T> {
  data: T | undefined;
  error: Error | null;
  loading: boolean;
  reload: () => void;
  /** Changes the loaded data without another request, for example after a live event. */
  change: (correct: (data: T) => T) => void;
}

/** Loads when `key` changes, and on `reload`. The answer for an older key is dropped. */
function useLoad<T>(key: string, load: (signal: AbortSignal) => Promise<T>): Loaded<T> {
  const [state, setState] = useState<{ data: T | undefined; error: Error | null; loading: boolean }>({
    data: undefined,
    error: null,
    loading: true,
  });
  const [round, setRound] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  useEffect(() => {
    const abort = new AbortController();
    setState(before => ({ ...before, loading: true }));
    latest
      .current(abort.signal)
      .then(data => abort.signal.aborted || setState({ data, error: null, loading: false }))
      .catch(error => abort.signal.aborted || setState(before => ({ ...before, error, loading: false })));
    return () => abort.abort();
  }, [key, round]);
  const reload = useCallback(() => setRound(before => before + 1), []);
  useEffect(() => (passes(state.error) ? whenAnswering(reload) : undefined), [state.error]);
  const change = useCallback(
    (correct: (data: T) => T) =>
      setState(before => (before.data === undefined ? before : { ...before, data: correct(before.data) })),
    [],
  );
  return { ...state, reload, change };
}

/** One resource: `useGet<Stats>('/stats', { window: '24h' })`. */
export function useGet<T>(path: string, query: Query = {}): Loaded<T> {
  return useLoad(path + queryOf(query), signal => get<T>(path, query, signal));
}

interface Listed<T> extends Loaded<T[]> {
  /** Loads the next page and appends it; null when there is none. */
  more: (() => void) | null;
}

interface Pages<T> {
  items: T[];
  next: string | null;
}

/** Loads a list of the admin API: `useList<Key>('/keys', 'keys')`. `query` may contain `limit` and filters. */
export function useList<T>(path: string, name: string, query: Query = {}): Listed<T> {
  const page = async (cursor: string | null, signal?: AbortSignal): Promise<Pages<T>> => {
    const body = await get<Record<string, unknown>>(path, { ...query, cursor }, signal);
    const [items, next] = [body[name] as T[], body['nextCursor'] as string | null];
    // A search that finds little ends a page early, so an empty page need not be the last.
    return items.length === 0 && next !== null ? page(next, signal) : { items, next };
  };
  const { data, error, loading, reload, change } = useLoad(path + queryOf(query), signal =>
    page(null, signal),
  );
  const [failure, setFailure] = useState<Error | null>(null);
  const next = data?.next ?? null;
  const append = async () => {
    try {
      const following = await page(next);
      setFailure(null);
      // If the list was reloaded in the meantime, it has another next page.
      change(shown =>
        shown.next === next ? { ...following, items: [...shown.items, ...following.items] } : shown,
      );
    } catch (caught) {
      setFailure(caught as Error);
    }
  };
  return {
    data: data?.items,
    error: error ?? failure,
    loading,
    reload,
    change: correct => change(shown => ({ ...shown, items: correct(shown.items) })),
    more: next === null ? null : append,
  };
}

interface Action {
  busy: boolean;
  error: Error | null;
  /** Runs the work and returns whether it succeeded. */
  run: (work: () => Promise<unknown>) => Promise<boolean>;
  clear: () => void;
}

/** Runs one action at a time, and keeps its error to be shown in place. */
export function useAction(): Action {
  const [state, setState] = useState<{ busy: boolean; error: Error | null }>({ busy: false, error: null });
  const run = async (work: () => Promise<unknown>) => {
    setState({ busy: true, error: null });
    try {
      await work();
      setState({ busy: false, error: null });
      return true;
    } catch (error) {
      setState({ busy: false, error: error as Error });
      return false;
    }
  };
  return { ...state, run, clear: () => setState({ busy: false, error: null }) };
}
