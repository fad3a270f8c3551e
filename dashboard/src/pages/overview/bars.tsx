// The columns of the chart, as links: a part of a column leads to the verdicts of one decision in that time, the space
// around it to all of that time. With the keyboard the chart is one stop: the arrows go from column to column, and up
// and down between all verdicts of a column and those of one decision.

import { useRef, useState } from 'preact/hooks';
import type { Decision } from '../../resources.ts';
import { addressOf } from '../audit/filters.ts';
import { DECISIONS, type Slice, sum, WORDS, written } from './stats.ts';

interface BarsProps {
  series: Slice[];
  /** When each slice ends; undefined for the last one, which still grows. */
  ends: (string | undefined)[];
  /** The count at the upper edge. */
  top: number;
  label: string;
  point: (column: number | null) => void;
}

/** A link in the chart: a column, and one decision in it or all. */
type Place = [column: number, part: Decision | 'all'];

const nameOf = ([column, part]: Place): string => `${column} ${part}`;

export function Bars({ series, ends, top, label, point }: BarsProps) {
  const links = useRef(new Map<string, HTMLAnchorElement>());
  const columns = series.flatMap((slice, index) => (sum(slice) > 0 ? [index] : []));
  const [chosen, setChosen] = useState<Place>([-1, 'all']);
  const partsOf = (column: number): Place[] => [
    [column, 'all'],
    ...DECISIONS.filter(each => (series[column]?.[each] ?? 0) > 0).map((each): Place => [column, each]),
  ];
  /** The one link that Tab leads to. */
  const stop = nameOf(links.current.has(nameOf(chosen)) ? chosen : [columns.at(-1) ?? -1, 'all']);
  const move = (event: KeyboardEvent, [column, part]: Place) => {
    const across = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const along = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    const parts = partsOf(column);
    const next: Place | undefined =
      across !== undefined
        ? [columns[columns.indexOf(column) + across] ?? column, 'all']
        : parts[parts.findIndex(each => each[1] === part) + (along ?? 0)];
    if ((across ?? along) === undefined || next === undefined) return;
    event.preventDefault();
    links.current.get(nameOf(next))?.focus();
  };
  const linkOf = (place: Place) => {
    const [column, part] = place;
    const slice = series[column] as Slice;
    const filters = {
      ...(part !== 'all' && { decision: part }),
      from: slice.at,
      ...(ends[column] !== undefined && { to: ends[column] }),
    };
    return {
      href: addressOf(filters),
      'aria-label': `${countOf(slice, part)}, from ${CLOCK.format(new Date(slice.at))}`,
      tabIndex: nameOf(place) === stop ? 0 : -1,
      ref: (link: HTMLAnchorElement | null) => {
        if (link === null) links.current.delete(nameOf(place));
        else links.current.set(nameOf(place), link);
      },
      onFocus: () => {
        setChosen(place);
        point(column);
      },
      onBlur: () => point(null),
      onKeyDown: (event: KeyboardEvent) => move(event, place),
    };
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for fields, and these are links.
    <div role="group" aria-label={label} class="bars" onPointerLeave={() => point(null)}>
      {series.map((slice, column) => (
        <div key={slice.at} class="column" onPointerEnter={() => point(column)}>
          {sum(slice) > 0 && <a class="whole" {...linkOf([column, 'all'])} />}
          {DECISIONS.map(
            decision =>
              slice[decision] > 0 && (
                <a
                  key={decision}
                  class={decision}
                  style={{ height: `${(slice[decision] / top) * 100}%` }}
                  {...linkOf([column, decision])}
                />
              ),
          )}
        </div>
      ))}
    </div>
  );
}

const CLOCK = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });

function countOf(slice: Slice, part: Decision | 'all'): string {
  if (part === 'all') return `${written(sum(slice))} verdicts`;
  return `${written(slice[part])} ${WORDS[part].toLowerCase()}`;
}
