// Dialogs based on the browser's own <dialog>, which keeps the focus inside, gives it back and closes with Escape. The
// closing button comes last, so that the focus starts in the content. Errors are shown inside, and the dialog stays
// open.

import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { useAction } from '../load.ts';
import { Problem } from './states.tsx';

interface DialogProps {
  title: string;
  open: boolean;
  onClose: () => void;
  children: ComponentChildren;
  wide?: boolean;
}

export function Dialog({ title, open, onClose, children, wide = false }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    if (open) element.current?.showModal();
    else element.current?.close();
  }, [open]);
  return (
    <dialog ref={element} aria-labelledby={id} class={wide ? 'wide' : undefined} onClose={onClose}>
      {open && (
        <>
          <h2 id={id}>{title}</h2>
          {children}
          <button type="button" class="icon close" onClick={onClose} title="Close">
            <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
              <path d="M4 4l8 8M12 4l-8 8" />
            </svg>
            <span class="unseen">Close</span>
          </button>
        </>
      )}
    </dialog>
  );
}

interface FormDialogProps {
  title: string;
  open: boolean;
  onClose: () => void;
  /** The label of the submit button. */
  action: string;
  /** Submits the form. An error is shown in the dialog; on success the dialog closes. */
  submit: (form: FormData) => Promise<unknown>;
  danger?: boolean;
  wide?: boolean;
  children: ComponentChildren;
}

/** A dialog around a form. */
export function FormDialog({ action, submit, danger = false, children, ...dialog }: FormDialogProps) {
  const { busy, error, run, clear } = useAction();
  const close = () => {
    clear();
    dialog.onClose();
  };
  const send = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    if (await run(() => submit(form))) dialog.onClose();
  };
  return (
    <Dialog {...dialog} onClose={close}>
      <form method="dialog" onSubmit={send}>
        {children}
        <Problem error={error} />
        <footer>
          <button type="button" class="plain" onClick={close}>
            Cancel
          </button>
          <button type="submit" class={danger ? 'danger' : undefined} disabled={busy}>
            {action}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}

interface ConfirmProps {
  /** The label of the button that opens the dialog. */
  label: string;
  /** The question. */
  title: string;
  /** Describes the consequences. */
  children: ComponentChildren;
  /** The label of the confirming button; `label` by default. */
  action?: string;
  run: () => Promise<unknown>;
  /** The class of the button that opens the dialog. */
  class?: string;
  disabled?: boolean;
}

/** A button for an action that cannot be undone, which asks for confirmation first. */
export function Confirm({ label, title, children, action, run, disabled, ...looks }: ConfirmProps) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button
        type="button"
        class={looks.class ?? 'plain small'}
        disabled={disabled}
        onClick={() => setOpen(true)}
      >
        {label}
      </button>
      <FormDialog
        title={title}
        open={open}
        onClose={() => setOpen(false)}
        action={action ?? label}
        submit={run}
        danger
      >
        <div>{children}</div>
      </FormDialog>
    </>
  );
}
