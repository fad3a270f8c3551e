// Shows something once that is never shown again: a key, a secret, a link. The dialog stays until somebody confirms
// that they have it.

import type { ComponentChildren } from 'preact';
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
  return (
    <Dialog title={title} open={secret !== null} onClose={onClose} wide>
      <div class="stack">
        <p>{children}</p>
        <p class="secret">
          <code>{secret}</code>
        </p>
        {use}
        <footer>
          <Copy text={secret ?? ''} label={`Copy the ${name}`} wide />
          <button type="button" onClick={onClose}>
            I have kept it
          </button>
        </footer>
      </div>
    </Dialog>
  );
}
