// The dialog that approves a call, and further ones like it for a while: for how long, and which.

import { useState } from 'preact/hooks';
import { GRANT_DURATIONS } from '../../../../../src/core/approvals/approval.ts';
import { bindable } from '../../../../../src/core/approvals/details.ts';
import { visible } from '../../../../../src/core/text/visible.ts';
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

/** The form begins with the narrowest grant: the shortest time, this session, and the same values. */
export function ForAWhile({ approval, look, open, onClose, answer }: ForAWhileProps) {
  const { sessionId } = approval;
  const fields = bindable(look.whole?.details?.fields ?? []);
  const [chosen, setChosen] = useState<Bounds | null>(null);
  const bounds = chosen ?? {
    duration: SHORTEST,
    only: sessionId !== null,
    same: fields.map(({ path }) => path),
  };
  const change = (part: Partial<Bounds>) => setChosen({ ...bounds, ...part });
  const close = () => {
    setChosen(null);
    onClose();
  };
  const submit = () =>
    answer({
      action: 'approve',
      duration: bounds.duration,
      ...(bounds.only && { only: 'session' as const }),
      ...(bounds.same.length > 0 && { same: bounds.same }),
    });
  return (
    <FormDialog title="Approve for a while" open={open} onClose={close} action="Approve" submit={submit}>
      <p role="status">
        <Opened approval={approval} bounds={bounds} all={fields.length} />
      </p>
      <Field label="For how long">
        {ties => (
          <select {...ties} onChange={event => change({ duration: event.currentTarget.value })}>
            {GRANT_DURATIONS.map(([value, words]) => (
              <option key={value} value={value} selected={value === bounds.duration}>
                {words}
              </option>
            ))}
          </select>
        )}
      </Field>
      {sessionId !== null && (
        <label class="check">
          <input
            type="checkbox"
            checked={bounds.only}
            onChange={event => change({ only: event.currentTarget.checked })}
          />{' '}
          In this session only
        </label>
      )}
      {fields.length > 0 && (
        <fieldset class="same">
          <legend>Only for the same</legend>
          {fields.map(({ path, value }) => (
            <label key={path} class="check">
              <input
                type="checkbox"
                checked={bounds.same.includes(path)}
                onChange={event => change({ same: withPath(bounds.same, path, event.currentTarget.checked) })}
              />
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

interface Bounds {
  duration: string;
  /** In this session only. */
  only: boolean;
  /** The paths at which further calls must have the same values. */
  same: readonly string[];
}

const SHORTEST = GRANT_DURATIONS[0]?.[0] ?? '15m';

const withPath = (paths: readonly string[], path: string, on: boolean): string[] =>
  on ? [...paths, path] : paths.filter(each => each !== path);

/** What the grant would open, in one sentence. */
function Opened({ approval, bounds, all }: { approval: Approval; bounds: Bounds; all: number }) {
  const { keyId, serverName, toolName } = approval;
  const words = GRANT_DURATIONS.find(([value]) => value === bounds.duration)?.[1];
  return (
    <>
      For {words}, {bounds.only ? 'this session of the key' : 'everything that uses the key'}{' '}
      <b>
        <Named text={keyName(keyId)} />
      </b>{' '}
      may call <Tool serverName={serverName} toolName={toolName} /> without asking,{' '}
      <b>{valuesWords(bounds.same, all)}</b>, until somebody revokes it.
    </>
  );
}

function valuesWords(same: readonly string[], all: number): string {
  if (same.length === 0) return 'with any arguments';
  if (same.length === all) return 'with the values that are shown here and any further arguments';
  return `with the same ${same.map(visible).join(', ')} and any other arguments`;
}

const SHORT = 60;

/** The card shows all of it. */
const short = (value: string): string =>
  value.length > SHORT ? `${value.slice(0, SHORT).toWellFormed()}…` : value;
