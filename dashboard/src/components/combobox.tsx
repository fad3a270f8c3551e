// A text field that suggests values while somebody types. The text counts as it is typed; a suggestion is taken with
// the arrow keys and Enter, or by pointing at it. Escape closes the suggestions.

import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { visible } from '../../../src/core/text/visible.ts';
import { Field } from './field.tsx';

interface ComboboxProps {
  label: string;
  hint?: string;
  placeholder?: string;
  value: string;
  /** Called with the text when it is to be used. */
  set: (value: string) => void;
  suggest: (typed: string, signal: AbortSignal) => Promise<string[]>;
}

/** The pause in the typing before a request is sent. */
const PAUSE_MS = 150;

export function Combobox({ label, hint, placeholder, value, set, suggest }: ComboboxProps) {
  const [typed, setTyped] = useState(value);
  const [asked, setAsked] = useState<string | null>(null);
  const [options, setOptions] = useState<string[]>([]);
  const [active, setActive] = useState(-1);
  const listId = useId();
  const used = useRef(value);
  if (used.current !== value) {
    used.current = value;
    setTyped(value);
  }
  useEffect(() => {
    if (asked === null) return;
    const abort = new AbortController();
    const pause = setTimeout(async () => {
      // Without suggestions the text can still be used.
      const found = await suggest(asked, abort.signal).catch(() => []);
      if (abort.signal.aborted) return;
      setActive(-1);
      setOptions(found);
    }, PAUSE_MS);
    return () => {
      clearTimeout(pause);
      abort.abort();
    };
  }, [asked]);
  const close = () => {
    setAsked(null);
    setOptions([]);
    setActive(-1);
  };
  const use = (text: string) => {
    close();
    setTyped(text);
    if (text !== value) set(text);
  };
  const open = options.length > 0;
  const keys: Record<string, () => void> = {
    ArrowDown: () => (open ? setActive((active + 1) % options.length) : setAsked(typed.trim())),
    ArrowUp: () => open && setActive((active <= 0 ? options.length : active) - 1),
    Enter: () => use(options[active] ?? typed.trim()),
    // Otherwise Escape goes on to whatever else it closes.
    ...(open && { Escape: close }),
  };
  return (
    <Field label={label} {...(hint === undefined ? {} : { hint })}>
      {ties => (
        <div class="combobox">
          <input
            {...ties}
            type="text"
            role="combobox"
            aria-expanded={open}
            aria-controls={open ? listId : undefined}
            aria-autocomplete="list"
            aria-activedescendant={active < 0 ? undefined : `${listId}-${active}`}
            value={typed}
            placeholder={placeholder}
            spellcheck={false}
            autocomplete="off"
            onInput={event => {
              setTyped(event.currentTarget.value);
              setAsked(event.currentTarget.value.trim());
            }}
            onKeyDown={event => {
              const press = keys[event.key];
              if (press === undefined) return;
              event.preventDefault();
              press();
            }}
            onBlur={() => use(typed.trim())}
          />
          {open && (
            <div role="listbox" id={listId} aria-label="Suggestions">
              {options.map((option, index) => (
                <button
                  type="button"
                  tabIndex={-1}
                  key={option}
                  id={`${listId}-${index}`}
                  role="option"
                  aria-selected={index === active}
                  // The field must not lose the focus before the click is done.
                  onPointerDown={event => event.preventDefault()}
                  onClick={() => use(option)}
                >
                  <bdi>{visible(option)}</bdi>
                </button>
              ))}
            </div>
          )}
        </div>
      )}
    </Field>
  );
}
