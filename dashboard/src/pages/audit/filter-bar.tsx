// The controls of the audit log's filters. Each change opens another address, and the page shows what the address says.

import { useEffect } from 'preact/hooks';
import { SURFACES, surfaceName } from '../../../../src/core/text/surface.ts';
import { visible } from '../../../../src/core/text/visible.ts';
import { Choice, keyOptions, type Options, withChosen } from '../../components/choice.tsx';
import { Field } from '../../components/field.tsx';
import { loadKeys, loadPeople, people, personName } from '../../names.ts';
import { type Filters, fromLocalInput, localInput, SPAN_NAMES } from './filters.ts';
import { ToolFilter } from './tool-filter.tsx';

interface FilterBarProps {
  filters: Filters;
  change: (filters: Filters) => void;
}

const DECISIONS: Options = [
  ['', 'Any'],
  ['allow', 'Allow'],
  ['deny', 'Deny'],
  ['pending', 'Pending'],
];
const ANY_SURFACE: Options = [
  ['', 'Any'],
  ...SURFACES.map((each): [string, string] => [each, surfaceName(each)]),
];

const SHADOWS: Options = [['', 'Any, or none'], ['differs', 'Decides otherwise'], ...DECISIONS.slice(1)];

export function FilterBar({ filters, change }: FilterBarProps) {
  useEffect(() => {
    loadKeys().catch(() => {});
    loadPeople().catch(() => {});
  }, []);
  const set = (name: keyof Filters) => (value: string | undefined) => {
    const { [name]: _, ...others } = filters;
    change(value === undefined || value === '' ? others : { ...others, [name]: value });
  };
  const span = (value: string) => {
    const { within: _, from: __, to: ___, ...others } = filters;
    change(value === '' ? others : { ...others, within: value });
  };
  const any = Object.keys(filters).length > 0;
  return (
    <search aria-label="Audit log">
      <form class="filters" onSubmit={event => event.preventDefault()}>
        <ToolFilter value={filters.tool ?? ''} set={set('tool')} />
        <Choice label="Decision" options={DECISIONS} value={filters.decision} set={set('decision')} />
        <Choice label="Key" options={keyOptions(filters.keyId)} value={filters.keyId} set={set('keyId')} />
        <Choice label="Time" options={SPAN_NAMES} value={filters.within} set={span} />
        <details open={isRare(filters)}>
          <summary>More filters</summary>
          <div class="filters">
            <Choice
              label="Person"
              options={personOptions(filters.personId)}
              value={filters.personId}
              set={set('personId')}
            />
            <Text label="Session id" value={filters.sessionId} set={set('sessionId')} />
            <Choice label="Surface" options={ANY_SURFACE} value={filters.surface} set={set('surface')} />
            <Choice label="Shadow" options={SHADOWS} value={filters.shadow} set={set('shadow')} />
            <Text label="Mark of its run" value={filters.mark} set={set('mark')} />
            <Text label="Trace id" value={filters.traceId} set={set('traceId')} />
            <Moment label="From" value={filters.from} set={set('from')} />
            <Moment label="To" value={filters.to} set={set('to')} />
          </div>
        </details>
        {any && (
          <button type="button" class="plain small clear" onClick={() => change({})}>
            Clear filters
          </button>
        )}
      </form>
    </search>
  );
}

const personOptions = (chosen: string | undefined): Options =>
  withChosen(
    people.value.map(({ id, email }) => [id, visible(email)]),
    chosen,
    personName,
  );

/** Whether one of the filters is set that are folded away. */
const isRare = ({ personId, sessionId, surface, shadow, mark, traceId, from, to }: Filters): boolean =>
  [personId, sessionId, surface, shadow, mark, traceId, from, to].some(each => each !== undefined);

interface ControlProps {
  label: string;
  value: string | undefined;
  set: (value: string) => void;
}

function Text({ label, value = '', set }: ControlProps) {
  return (
    <Field label={label}>
      {ties => (
        <input
          {...ties}
          type="search"
          value={value}
          spellcheck={false}
          autocomplete="off"
          onChange={event => set(event.currentTarget.value.trim())}
        />
      )}
    </Field>
  );
}

function Moment({
  label,
  value,
  set,
}: {
  label: string;
  value: string | undefined;
  set: (value: string | undefined) => void;
}) {
  return (
    <Field label={label}>
      {ties => (
        <input
          {...ties}
          type="datetime-local"
          value={localInput(value)}
          onChange={event => set(fromLocalInput(event.currentTarget.value))}
        />
      )}
    </Field>
  );
}
