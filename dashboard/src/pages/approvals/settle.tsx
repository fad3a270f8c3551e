// The two answers about a call of which it is not known whether it ran, and what somebody has answered.

import { useState } from 'preact/hooks';
import { announce } from '../../announce.ts';
import { post } from '../../api.ts';
import { FormDialog } from '../../components/dialog.tsx';
import { Field } from '../../components/field.tsx';
import { Named, Time, Tool } from '../../components/text.tsx';
import type { UnknownCall, WholeAuditEntry } from '../../resources.ts';
import { mayResolve } from '../../session.ts';
import { By } from './facts.tsx';

interface SettleProps {
  call: Pick<UnknownCall, 'toolCallId' | 'serverName' | 'toolName'>;
  done: () => void;
}

/** Nothing for those who may only look. */
export function Settle({ call, done }: SettleProps) {
  const [ran, setRan] = useState(false);
  const [open, setOpen] = useState(false);
  if (!mayResolve.value) return null;
  const { toolCallId, serverName, toolName } = call;
  const ask = (is: boolean) => () => {
    setRan(is);
    setOpen(true);
  };
  const settle = async (form: FormData) => {
    const note = String(form.get('note') ?? '').trim();
    await post(`/calls/${toolCallId}/settle`, { ran, ...(note !== '' && { note }) });
    announce(`Recorded: ${serverName}__${toolName} ${ran ? 'ran' : 'did not run'}`);
    done();
  };
  return (
    <>
      <span class="settle">
        <button type="button" class="plain small" onClick={ask(true)}>
          It ran…
        </button>
        <button type="button" class="plain small" onClick={ask(false)}>
          It did not run…
        </button>
      </span>
      <FormDialog
        title={ran ? 'Say that this call ran' : 'Say that this call did not run'}
        open={open}
        onClose={() => setOpen(false)}
        action={ran ? 'It ran' : 'It did not run'}
        submit={settle}
      >
        <div class="stack">
          <p>
            <Tool serverName={serverName} toolName={toolName} />
          </p>
          <p>
            It is recorded that you say so. Nothing else follows: its task stays failed, and the call is not
            run again.
            {!ran && ' If it is still needed, let the agent call again.'}
          </p>
          <Field label="How you know, optional" hint="At most 500 characters.">
            {ties => <textarea name="note" rows={3} maxLength={500} {...ties} />}
          </Field>
        </div>
      </FormDialog>
    </>
  );
}

/** What is known of a call whose outcome is `outcome_unknown`, and the answers to it. */
export function UnknownOutcome({ of, done }: { of: WholeAuditEntry; done: () => void }) {
  const { id: toolCallId, settled } = of;
  return (
    <div class="unknown-outcome">
      <p>
        It is not known whether this call ran: Toolgate forwarded it and never learned how it ended.
        {settled == null && ' It is not run again.'}
      </p>
      {settled == null ? <Settle call={{ ...of, toolCallId }} done={done} /> : <Settled of={settled} />}
    </div>
  );
}

function Settled({ of: { ran, by, at, note } }: { of: NonNullable<WholeAuditEntry['settled']> }) {
  return (
    <div>
      <b>{ran ? 'It ran' : 'It did not run'}</b>, says <By by={by} />, <Time at={at} />
      {note !== null && (
        <blockquote class="note">
          <Named text={note} />
        </blockquote>
      )}
    </div>
  );
}
