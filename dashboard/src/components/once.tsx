// Shows something once that is never shown again: a key, a secret, a link. The dialog stays until somebody says that they
// have stored it; neither Escape nor going back nor leaving the page loses it unasked.

import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Dialog } from './dialog.tsx';
import { Copy } from './text.tsx';

interface OnceProps {
  title: string;
  /** Null while there is nothing to show. */
  secret: string | null;
  /** What the secret is called. */
  name: string;
  children: ComponentChildren;
  /** What helps to use it, below. */
  use?: ComponentChildren;
  onClose: () => void;
}

export function Once({ title, secret, name, children, use, onClose }: OnceProps) {
  const [refused, setRefused] = useState(false);
  useAskedBeforeLeaving(secret !== null);
  useStaying(secret !== null, () => setRefused(true));
  useEffect(() => setRefused(false), [secret]);
  return (
    <Dialog title={title} open={secret !== null} onClose={onClose} onRefused={() => setRefused(true)} wide>
      <div class="stack">
        <p>{children}</p>
        <p class="secret">
          <code>{secret}</code>
        </p>
        {use}
        <footer>
          <p role="status" class="failed">
            {refused && `The ${name} is shown only now. Store it, then choose “I have stored it”.`}
          </p>
          <Copy text={secret ?? ''} label={`Copy the ${name}`} wide />
          <button type="button" onClick={onClose}>
            I have stored it
          </button>
        </footer>
      </div>
    </Dialog>
  );
}

/** Browsers ask whoever reloads or closes the page meanwhile. */
function useAskedBeforeLeaving(shown: boolean): void {
  useEffect(() => {
    if (!shown) return;
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener('beforeunload', ask);
    return () => removeEventListener('beforeunload', ask);
  }, [shown]);
}

/** The page gets a second entry in the browser's history, so that going back leads to the page itself. */
function useStaying(shown: boolean, onBack: () => void): void {
  useEffect(() => {
    if (!shown) return;
    const stay = () => history.pushState(null, '', location.href);
    const back = () => {
      stay();
      onBack();
    };
    stay();
    addEventListener('popstate', back);
    return () => removeEventListener('popstate', back);
  }, [shown]);
}
