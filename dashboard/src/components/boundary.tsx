// Keeps the shell alive when a page fails: an error is shown in place of the page, and another page can be opened.

import type { ComponentChildren, FunctionComponent } from 'preact';
import { useEffect, useErrorBoundary } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { Page } from './page.tsx';

/** Wraps the current page. */
export function Boundary({ children }: { children: ComponentChildren }) {
  const { path } = useLocation();
  const [error, forget] = useErrorBoundary();
  // Another page may work, so the error is cleared.
  useEffect(() => forget(), [path]);
  return error === undefined ? children : <Broken what="This page failed." />;
}

/** Shown instead of a page whose script could not be loaded, because its file has another name after an upgrade. */
export const Unloaded: FunctionComponent = () => <Broken what="This page could not be loaded." />;

function Broken({ what }: { what: string }) {
  return (
    <Page title="Something went wrong">
      <div class="notice problem" role="alert">
        <p>{what} Reloading the dashboard may help.</p>
        <button type="button" class="plain small" onClick={() => location.reload()}>
          Reload
        </button>
      </div>
    </Page>
  );
}
