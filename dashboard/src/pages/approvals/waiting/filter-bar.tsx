// Which of the waiting calls are shown. The choice is in the address, so a link shows the same.

import { useState } from 'preact/hooks';
import { visible } from '../../../../../src/core/text/visible.ts';
import { Field } from '../../../components/field.tsx';
import { keyName } from '../../../names.ts';
import type { Approval } from '../../../resources.ts';
import type { Filter } from './inbox.ts';

export interface View extends Filter {
  /** Whether alike calls are shown as one. */
  alike: boolean;
}

export function viewIn(query: Record<string, string>): View {
  const { tool = '', keyId = '', group = '', alike } = query;
  return { tool, keyId, group, alike: alike !== undefined };
}

export const isFiltered = ({ tool, keyId, group }: Filter): boolean => tool + keyId + group !== '';

interface FilterBarProps {
  view: View;
  /** All calls that wait. */
  waiting: readonly Approval[];
  change: (view: View) => void;
}

/** With fewer calls than this, what is asked matters more than room for filters. */
const MANY = 10;

export function FilterBar({ view, waiting, change }: FilterBarProps) {
  const [opened] = useState(
    isFiltered(view) || view.alike || (waiting.length > MANY && matchMedia('(min-width: 56rem)').matches),
  );
  const keys = choices(
    waiting.map(each => each.keyId),
    view.keyId,
  );
  const groups = choices(
    waiting.map(each => each.approverGroup ?? ''),
    view.group,
  );
  return (
    <details class="choose" open={opened}>
      <summary>Filter and group</summary>
      <div class="inbox-filters">
        <Field label="Tool">
          {ties => (
            <input
              type="search"
              placeholder="Part of its name"
              value={view.tool}
              onInput={event => change({ ...view, tool: event.currentTarget.value })}
              {...ties}
            />
          )}
        </Field>
        <Choice
          label="Key"
          all="All keys"
          value={view.keyId}
          values={keys}
          nameOf={keyName}
          choose={keyId => change({ ...view, keyId })}
        />
        <Choice
          label="Group that answers"
          all="All"
          value={view.group}
          values={groups}
          nameOf={group => group}
          choose={group => change({ ...view, group })}
        />
        <label class="check">
          <input
            type="checkbox"
            checked={view.alike}
            onChange={event => change({ ...view, alike: event.currentTarget.checked })}
          />
          Group alike calls
        </label>
      </div>
    </details>
  );
}

const choices = (values: readonly string[], chosen: string): string[] =>
  [...new Set([...values, chosen])].filter(each => each !== '').sort();

interface ChoiceProps {
  label: string;
  all: string;
  value: string;
  values: string[];
  nameOf: (value: string) => string;
  choose: (value: string) => void;
}

function Choice({ label, all, value, values, nameOf, choose }: ChoiceProps) {
  return (
    <Field label={label}>
      {ties => (
        <select onChange={event => choose(event.currentTarget.value)} {...ties}>
          <option value="">{all}</option>
          {values.map(each => (
            <option key={each} value={each} selected={each === value}>
              {visible(nameOf(each))}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}
