// Dialogs based on the browser's own <dialog>, which keeps the focus inside, gives it back and closes with Escape, unless
// its content would be lost. The closing button comes last, so that the focus starts in the content. Errors are shown
// inside, and the dialog stays open.

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
  /** With it, neither Escape nor a button in the corner closes the dialog. It is called when somebody presses Escape. */
  onRefused?: () => void;
}

export function Dialog({ title, open, onClose, children, wide = false, onRefused }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    if (open) element.current?.showModal();
    else element.current?.close();
  }, [open]);
  const refuse = (event: Event) => {
    if (onRefused === undefined) return;
    event.preventDefault();
    onRefused();
  };
  // Browsers close a dialog at a second Escape even if its `cancel` was refused, so the key itself is refused too; and
  // some have other ways, such as the back gesture of a phone.
  const closed = () => {
    if (open && onRefused !== undefined) element.current?.showModal();
    else onClose();
  };
  return (
    <dialog
      ref={element}
      aria-labelledby={id}
      class={wide ? 'wide' : undefined}
      onKeyDown={event => event.key === 'Escape' && refuse(event)}
      onCancel={refuse}
      onClose={closed}
    >
      {open && (
        <>
          <h2 id={id}>{title}</h2>
          {children}
          {onRefused === undefined && <CloseButton onClick={onClose} />}
        </>
      )}
    </dialog>
  );
}

function CloseButton({ onClick }: { onClick: () => void }) {
  return (
    <button type="button" class="icon close" onClick={onClick} title="Close">
      <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
        <path d="M4 4l8 8M12 4l-8 8" />
      </svg>
      <span class="unseen">Close</span>
    </button>
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
        <footer>
          <Problem error={error} />
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
  wide?: boolean;
}

/** A button for an action that cannot be undone, which asks for confirmation first. */
export function Confirm({ label, title, children, action, run, disabled, wide, ...looks }: ConfirmProps) {
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
        wide={wide ?? false}
      >
        <div>{children}</div>
      </FormDialog>
    </>
  );
}
