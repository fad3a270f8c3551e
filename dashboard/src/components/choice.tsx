// A choice among a few values, for filters. The empty value stands for none.

import { visible } from '../../../src/core/text/visible.ts';
import { keyName, keys } from '../names.ts';
import { Field } from './field.tsx';

/** Values, each with its name. */
export type Options = [string, string][];

interface ChoiceProps {
  label: string;
  options: Options;
  value: string | undefined;
  set: (value: string) => void;
}

export function Choice({ label, value = '', set, options }: ChoiceProps) {
  return (
    <Field label={label}>
      {ties => (
        <select {...ties} value={value} onChange={event => set(event.currentTarget.value)}>
          {options.map(([each, words]) => (
            <option key={each} value={each}>
              {words}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

/** All keys that are loaded. */
export const keyOptions = (chosen: string | undefined): Options =>
  withChosen(
    keys.value.map(({ id, name }) => [id, visible(name)]),
    chosen,
    keyName,
  );

/** Includes the chosen one even if it is not among the loaded ones. */
export function withChosen(
  known: Options,
  chosen: string | undefined,
  nameOf: (id: string) => string,
): Options {
  const missing = chosen !== undefined && !known.some(([id]) => id === chosen);
  return [['', 'Any'], ...known, ...(missing ? [[chosen, nameOf(chosen)] as [string, string]] : [])];
}
