// The states of something that is loaded: loading, refused, empty.

import type { ComponentChildren } from 'preact';
import { type Fault, Refusal } from '../api.ts';

/** Shows an error where it happened, or nothing without an error. */
export function Problem({ error, retry }: { error: Error | null; retry?: () => void }) {
  if (error === null) return null;
  const faults = error instanceof Refusal ? error.errors : [];
  return (
    <div class="notice problem" role="alert">
      {faults.length === 0 && <p>{error.message}</p>}
      {faults.length === 1 && <p>{faults.map(faultWords)}</p>}
      {faults.length > 1 && (
        <ul>
          {faults.map(fault => (
            <li key={fault.path + fault.message}>{faultWords(fault)}</li>
          ))}
        </ul>
      )}
      {retry !== undefined && (
        <button type="button" class="plain small" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

function faultWords({ path, message }: Fault) {
  return (
    <>
      {path !== '' && <code>{path.slice(1)}</code>} {message}
    </>
  );
}

/** Says that there is nothing, and what to do next. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children !== undefined && <div class="soft">{children}</div>}
    </div>
  );
}

/** A placeholder while something is loading. */
export function Loading({ lines = 3 }: { lines?: number }) {
  return (
    <div class="loading" role="status">
      <span class="unseen">Loading</span>
      {Array.from({ length: lines }, (_, line) => (
        <span key={line} class="bar" aria-hidden="true" />
      ))}
    </div>
  );
}

/**
 * Shows one of the states loading, refused, empty or loaded; `children` are for the last. Loaded content stays visible
 * while it is loaded again, and fades if that takes long.
 */
export function Shown({
  of: { data, error, loading = false, reload },
  empty,
  children,
}: {
  of: { data: readonly unknown[] | undefined; error: Error | null; loading?: boolean; reload: () => void };
  empty: ComponentChildren;
  children: ComponentChildren;
}) {
  return (
    <>
      <Problem error={error} retry={reload} />
      {data === undefined && error === null && <Loading />}
      {data !== undefined && (
        <div class={loading ? 'read again' : 'read'} aria-busy={loading}>
          {data.length === 0 ? empty : children}
        </div>
      )}
    </>
  );
}
