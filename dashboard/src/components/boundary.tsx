// Keeps the shell alive when a page fails or cannot be loaded: that is said in place of the page, and another page can be
// opened.

import { type ComponentChildren, type ComponentType, type FunctionComponent, h } from 'preact';
import { useEffect, useErrorBoundary, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { whenAnswering } from '../answering.ts';
import { Page } from './page.tsx';

/** Wraps the current page. */
export function Boundary({ children }: { children: ComponentChildren }) {
  const { path } = useLocation();
  const [error, forget] = useErrorBoundary();
  // Another page may work, so the error is cleared.
  useEffect(() => forget(), [path]);
  return error === undefined ? (
    children
  ) : (
    <Broken what="This page failed. Reloading the dashboard may help." label="Reload" retry={reload} />
  );
}

/**
 * Stands for a component whose script could not be loaded. It loads the script as soon as the service answers again. If even
 * that fails, the script has another name after an upgrade, or the browser remembers the failure: a reload helps both.
 */
export function unloaded<Props>(load: () => Promise<ComponentType<Props>>): FunctionComponent<Props> {
  let loaded: ComponentType<Props> | undefined;
  return props => {
    const [, show] = useState(0);
    const retry = async (failed: () => void) => {
      try {
        loaded = await load();
        show(1);
      } catch {
        failed();
      }
    };
    useEffect(() => (loaded === undefined ? whenAnswering(() => retry(reloadOnce)) : undefined), []);
    if (loaded !== undefined) return h(loaded as ComponentType<unknown>, props);
    return (
      <Broken
        what="This page could not be loaded. It is loaded as soon as the service answers."
        label="Try again"
        retry={() => retry(reload)}
      />
    );
  };
}

const reload = () => location.reload();
const RELOADED = 'toolgate-reloaded';
const CALM_MS = 60_000;

/** Nobody asked for this reload, so it must not happen over and over. */
function reloadOnce(): void {
  if (Date.now() - Number(sessionStorage.getItem(RELOADED) ?? 0) < CALM_MS) return;
  sessionStorage.setItem(RELOADED, String(Date.now()));
  reload();
}

function Broken({ what, label, retry }: { what: string; label: string; retry: () => void }) {
  return (
    <Page title="Something went wrong">
      <div class="notice problem" role="alert">
        <p>{what}</p>
        <button type="button" class="plain small" onClick={retry}>
          {label}
        </button>
      </div>
    </Page>
  );
}
