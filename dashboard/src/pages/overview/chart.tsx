// Verdicts over time as stacked columns in the colours of the style sheet. The values of a column are shown above the
// chart while it is pointed at or has the focus, and in a table for everybody.

import { useState } from 'preact/hooks';
import { Table } from '../../components/table.tsx';
import { Time } from '../../components/text.tsx';
import type { Decision, Stats } from '../../resources.ts';
import { addressOf } from '../audit/filters.ts';
import { Bars } from './bars.tsx';
import { DECISIONS, type Slice, sum, WORDS, written } from './stats.ts';

export function Chart({ stats }: { stats: Stats }) {
  const { series, to } = stats;
  const [pointed, setPointed] = useState<number | null>(null);
  const top = niceTop(Math.max(1, ...series.map(sum)));
  const ends = series.map((_, index) => series[index + 1]?.at ?? to);
  return (
    <figure class="chart">
      <figcaption>
        <Legend slice={pointed === null ? stats.totals : (series[pointed] as Slice)} />
        <span class="soft">{pointed !== null && <Span from={series[pointed]?.at} to={ends[pointed]} />}</span>
      </figcaption>
      <div class="plot">
        <span class="scale soft" aria-hidden="true">
          <span>{written(top)}</span>
          <span>{written(top / 2)}</span>
          <span>0</span>
        </span>
        <Bars
          series={series}
          ends={series.map((_, index) => series[index + 1]?.at)}
          top={top}
          label={`Verdicts over time: ${DECISIONS.map(each => `${stats.totals[each]} ${WORDS[each].toLowerCase()}`).join(', ')}`}
          point={setPointed}
        />
        <Moments series={series} />
      </div>
      <Figures series={series} ends={ends} />
    </figure>
  );
}

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const DAY = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' });
const MARKS = [0, 0.25, 0.5, 0.75];
const DAYS_BEYOND = 2 * 86_400_000;

/** The start times of some of the columns. */
function Moments({ series }: { series: Slice[] }) {
  const first = series[0]?.at ?? '';
  const format = Date.parse(series.at(-1)?.at ?? '') - Date.parse(first) > DAYS_BEYOND ? DAY : CLOCK;
  const marked = MARKS.map(share => Math.floor(share * series.length));
  return (
    <span class="moments soft" aria-hidden="true">
      {marked.map(index => (
        <span key={index} style={{ left: `${(index / series.length) * 100}%` }}>
          {format.format(new Date(series[index]?.at ?? first))}
        </span>
      ))}
    </span>
  );
}

/** The next of 2, 4, 6, 10, 20, 40 …, so that half of it is a whole number too. */
function niceTop(most: number): number {
  const power = 10 ** Math.floor(Math.log10(most));
  return [2, 4, 6, 10, 20].map(each => each * power).find(each => each >= most) ?? most;
}

function Legend({ slice }: { slice: Omit<Slice, 'at'> }) {
  return (
    <span class="legend">
      {DECISIONS.map(decision => (
        <span key={decision}>
          <i class={decision} /> {WORDS[decision]} <b>{written(slice[decision])}</b>
        </span>
      ))}
    </span>
  );
}

function Span({ from, to }: { from: string | undefined; to: string | undefined }) {
  if (from === undefined || to === undefined) return null;
  return (
    <>
      <Time at={from} /> to <Time at={to} />
    </>
  );
}

function Figures({ series, ends }: { series: Slice[]; ends: string[] }) {
  const rows = series
    .map((slice, index) => ({ ...slice, end: ends[index] as string }))
    .filter(slice => sum(slice) > 0);
  return (
    <details class="figures">
      <summary>Figures</summary>
      <Table
        caption="Verdicts over time"
        keyOf={row => row.at}
        rows={rows.reverse()}
        columns={[
          {
            head: 'From',
            cell: ({ at, end }) => (
              <a href={addressOf({ from: at, to: end })}>
                <Time at={at} />
              </a>
            ),
          },
          ...DECISIONS.map(decision => ({
            head: WORDS[decision],
            kind: 'number' as const,
            cell: (row: Slice & { end: string }) => <Count of={row} decision={decision} />,
          })),
        ]}
      />
    </details>
  );
}

function Count({ of: row, decision }: { of: Slice & { end: string }; decision: Decision }) {
  if (row[decision] === 0) return <>0</>;
  return <a href={addressOf({ decision, from: row.at, to: row.end })}>{written(row[decision])}</a>;
}
