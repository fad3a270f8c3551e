// The states of something that is read: on its way, refused, empty.

import type { ComponentChildren } from 'preact';
import { type Fault, Refusal } from '../api.ts';

/** What went wrong, where it went wrong. Shows nothing while nothing has. */
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

/** Nothing there: says so, and what to do next. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children !== undefined && <div class="soft">{children}</div>}
    </div>
  );
}

/** Where something will be in a moment. */
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
 * Loading, refused, empty or there: `children` are for the last. What was there stays while it is read again, and
 * fades if that takes long.
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
