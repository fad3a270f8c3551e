// The dialog that approves a call, and further ones like it for a while: for how long, and which.

import { GRANT_DURATIONS } from '../../../../../src/core/approval.ts';
import { bindable } from '../../../../../src/core/details.ts';
import { FormDialog } from '../../../components/dialog.tsx';
import { Field } from '../../../components/field.tsx';
import { Named, Tool } from '../../../components/text.tsx';
import { keyName } from '../../../names.ts';
import type { Approval } from '../../../resources.ts';
import type { Answer } from './answer.ts';
import type { Look } from './look.ts';

interface ForAWhileProps {
  approval: Approval;
  look: Look;
  open: boolean;
  onClose: () => void;
  answer: (given: Answer) => Promise<void>;
}

export function ForAWhile({ approval, look, open, onClose, answer }: ForAWhileProps) {
  const { keyId, sessionId, serverName, toolName } = approval;
  const fields = bindable(look.whole?.details?.fields ?? []);
  const submit = (form: FormData) => {
    const same = form.getAll('same').map(String);
    return answer({
      action: 'approve',
      duration: String(form.get('duration')),
      ...(form.has('only') ? { only: 'session' as const } : {}),
      ...(same.length > 0 ? { same } : {}),
    });
  };
  return (
    <FormDialog title="Approve for a while" open={open} onClose={onClose} action="Approve" submit={submit}>
      <p>
        This call, and further calls of the key{' '}
        <b>
          <Named text={keyName(keyId)} />
        </b>{' '}
        to <Tool serverName={serverName} toolName={toolName} />, go through without asking, until the time is
        over or the grant is revoked.
      </p>
      <Field label="For how long">
        {ties => (
          <select name="duration" {...ties}>
            {GRANT_DURATIONS.map(([value, words]) => (
              <option key={value} value={value}>
                {words}
              </option>
            ))}
          </select>
        )}
      </Field>
      {sessionId !== null && (
        <label class="check">
          <input type="checkbox" name="only" /> In this session only
        </label>
      )}
      {fields.length > 0 && (
        <fieldset class="same">
          <legend>Only for the same</legend>
          {fields.map(({ path, value }) => (
            <label key={path} class="check">
              <input type="checkbox" name="same" value={path} />
              <span>
                <Named text={path} />{' '}
                <span class="soft">
                  (<Named text={short(value)} />)
                </span>
              </span>
            </label>
          ))}
        </fieldset>
      )}
    </FormDialog>
  );
}

const SHORT = 60;

/** The card shows all of it. */
const short = (value: string): string =>
  value.length > SHORT ? `${value.slice(0, SHORT).toWellFormed()}…` : value;
