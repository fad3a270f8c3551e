// The filter by tool: suggestions while somebody types, and what the chosen text means. The service takes the exact
// name of a tool as that tool alone, so the page says so if other names contain it too.

import { useEffect, useState } from 'preact/hooks';
import { isExactly, nameMatcher, type ToolName } from '../../../../src/core/log/name-search.ts';
import { splitName } from '../../../../src/core/text/name.ts';
import { get } from '../../api.ts';
import { Combobox } from '../../components/combobox.tsx';
import { Named } from '../../components/text.tsx';
import { addressOf, type Filters } from './filters.ts';

const suggest = async (like: string, signal?: AbortSignal): Promise<string[]> =>
  (await get<{ tools: string[] }>('/audit/tools', { like }, signal)).tools;

export function ToolFilter({ value, set }: { value: string; set: (value: string) => void }) {
  return (
    <Combobox
      label="Tool"
      value={value}
      set={set}
      suggest={suggest}
      placeholder="github__*"
      hint="A name, a part of names, or a pattern with *."
    />
  );
}

interface Meaning {
  /** Whether the text is the name of a tool, and so means only that one. */
  exact: boolean;
  /** Whether other names contain it. */
  others: boolean;
}

/** What the text of the filter means to the service. */
export function useMeaning(text: string | undefined): Meaning {
  const [meaning, setMeaning] = useState<Meaning>({ exact: false, others: false });
  useEffect(() => {
    const abort = new AbortController();
    setMeaning({ exact: false, others: false });
    if (text !== undefined)
      suggest(text, abort.signal)
        .then(found => abort.signal.aborted || setMeaning(meaningOf(text, found)))
        .catch(() => {});
    return () => abort.abort();
  }, [text]);
  return meaning;
}

/** The exact names are the first that are suggested. */
function meaningOf(text: string, suggested: readonly string[]): Meaning {
  const isExact = (full: string) => isExactly(text, splitName(full) as ToolName);
  return { exact: suggested.some(isExact), others: !suggested.every(isExact) };
}

/** Whether the tool of an entry is one that the text means. */
export function isMeant(text: string | undefined, { exact }: Meaning, tool: ToolName): boolean {
  if (text === undefined) return true;
  return exact ? isExactly(text, tool) : nameMatcher(text)(tool);
}

export function ExactOnly({ filters, meaning }: { filters: Filters; meaning: Meaning }) {
  const { tool } = filters;
  if (tool === undefined || !meaning.exact || !meaning.others) return null;
  return (
    <p class="soft">
      Only calls of{' '}
      <b>
        <Named text={tool} />
      </b>{' '}
      itself are shown.{' '}
      <a href={addressOf({ ...filters, tool: `*${tool}*` })}>Show all tools whose names contain it</a>
    </p>
  );
}
