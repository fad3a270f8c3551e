// A page that fails must not take the frame with it: it is said in its place, and another page can be opened.

import type { ComponentChildren, FunctionComponent } from 'preact';
import { useEffect, useErrorBoundary } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { Page } from './page.tsx';

/** Around whatever page is shown. */
export function Boundary({ children }: { children: ComponentChildren }) {
  const { path } = useLocation();
  const [error, forget] = useErrorBoundary();
  // Another page may well work.
  useEffect(() => forget(), [path]);
  return error === undefined ? children : <Broken what="This page failed." />;
}

/** In place of a page whose script could not be had: after an upgrade its file has another name. */
export const Unloaded: FunctionComponent = () => <Broken what="This page could not be loaded." />;

function Broken({ what }: { what: string }) {
  return (
    <Page title="Something went wrong">
      <div class="notice problem" role="alert">
        <p>{what} Loading the dashboard anew may help.</p>
        <button type="button" class="plain small" onClick={() => location.reload()}>
          Load anew
        </button>
      </div>
    </Page>
  );
}
