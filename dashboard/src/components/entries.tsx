// A list of short texts that a person puts together: each can be removed, and others are typed or picked from what is
// known.

import { useId, useState } from 'preact/hooks';
import { Field } from './field.tsx';
import { Named } from './text.tsx';

interface EntriesProps {
  label: string;
  hint?: string;
  /** What is said while the list is empty. */
  none: string;
  entries: readonly string[];
  change: (entries: string[]) => void;
  known: readonly string[];
}

export function Entries({ label, hint, none, entries, change, known }: EntriesProps) {
  const [typed, setTyped] = useState('');
  const listId = useId();
  const add = () => {
    const entry = typed.trim();
    setTyped('');
    if (entry !== '' && !entries.includes(entry)) change([...entries, entry]);
  };
  return (
    <div class="entries">
      <Field label={label} {...(hint === undefined ? {} : { hint })}>
        {ties => (
          <div class="entry-input">
            <input
              {...ties}
              value={typed}
              list={listId}
              autocomplete="off"
              spellcheck={false}
              onInput={event => setTyped(event.currentTarget.value)}
              onKeyDown={event => {
                if (event.key !== 'Enter') return;
                // Enter adds to the list; it does not send the form.
                event.preventDefault();
                add();
              }}
              onBlur={add}
            />
            <button type="button" class="plain" onClick={add}>
              Add
            </button>
          </div>
        )}
      </Field>
      <datalist id={listId}>
        {known
          .filter(each => !entries.includes(each))
          .map(each => (
            <option key={each} value={each} />
          ))}
      </datalist>
      {entries.length === 0 && <p class="soft small">{none}</p>}
      {entries.length > 0 && (
        <ul class="cluster">
          {entries.map(entry => (
            <li key={entry} class="entry">
              <Named text={entry} />
              <button
                type="button"
                class="icon"
                title={`Remove ${entry}`}
                onClick={() => change(entries.filter(each => each !== entry))}
              >
                <svg viewBox="0 0 16 16" width="12" height="12" aria-hidden="true">
                  <path d="M4 4l8 8M12 4l-8 8" />
                </svg>
                <span class="unseen">Remove {entry}</span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
