// The overview: the verdicts of the last hours or days, the calls that wait now, and whether events reach their
// webhooks. Live events update the counts, and the statistics are loaded again as the window moves on.

import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { queryOf } from '../api.ts';
import { Page, Panel } from '../components/page.tsx';
import { Empty, Loading, Problem } from '../components/states.tsx';
import { Ago, Named, type Tone } from '../components/text.tsx';
import { useLive } from '../live.ts';
import { useGet } from '../load.ts';
import { keyName } from '../names.ts';
import { pending } from '../pending.ts';
import type { Stats } from '../resources.ts';
import { Stuck } from './approvals/stuck.tsx';
import { addressOf } from './audit/filters.ts';
import { Chart } from './overview/chart.tsx';
import { Latest } from './overview/latest.tsx';
import { NoVerdicts } from './overview/no-verdicts.tsx';
import { Ranks } from './overview/ranks.tsx';
import { Start } from './overview/start.tsx';
import { counted, DECISIONS, sum, WINDOWS, WORDS, written } from './overview/stats.ts';

const AGAIN_MS = 60_000;

export default function Overview() {
  const { query, route } = useLocation();
  const [window, name] =
    WINDOWS.find(([each]) => each === query['window']) ?? (WINDOWS[1] as [string, string]);
  const { data, error, reload, change } = useGet<Stats>('/stats', { window });
  useLive({ gap: reload, verdict: entry => change(stats => counted(stats, entry)) });
  useEffect(() => {
    const again = setInterval(() => document.hidden || reload(), AGAIN_MS);
    return () => clearInterval(again);
  }, [reload]);
  const choose = (value: string) => route(`/dashboard${queryOf({ window: value === '24h' ? '' : value })}`);
  return (
    <Page title="Overview" actions={<WindowChoice window={window} choose={choose} />}>
      <Start />
      <Stuck />
      <Problem error={error} retry={reload} />
      {data === undefined && error === null && <Loading lines={6} />}
      {data !== undefined && <Shown stats={data} window={window} name={name} />}
    </Page>
  );
}

function WindowChoice({ window, choose }: { window: string; choose: (window: string) => void }) {
  return (
    <select
      aria-label="Window"
      class="narrow"
      value={window}
      onChange={event => choose(event.currentTarget.value)}
    >
      {WINDOWS.map(([value, words]) => (
        <option key={value} value={value}>
          {words}
        </option>
      ))}
    </select>
  );
}

function Shown({ stats, window, name }: { stats: Stats; window: string; name: string }) {
  const total = sum(stats.totals);
  return (
    <>
      <div class="tiles">
        {DECISIONS.map(decision => (
          <Tile
            key={decision}
            name={WORDS[decision]}
            figure={written(stats.totals[decision])}
            note={
              total === 0
                ? 'no verdicts'
                : `${share(stats.totals[decision], total)} of ${written(total)} ${total === 1 ? 'verdict' : 'verdicts'}`
            }
            href={addressOf({ decision, within: window })}
            tone={decision}
          />
        ))}
        <WaitingTile count={pending.value?.length ?? stats.pendingApprovals} />
      </div>
      {total === 0 ? <NoVerdicts name={name} /> : <Figures stats={stats} window={window} name={name} />}
      <Latest />
    </>
  );
}

function Figures({ stats, window, name }: { stats: Stats; window: string; name: string }) {
  return (
    <>
      <Panel title={`Verdicts, ${name.toLowerCase()}`}>
        <Chart stats={stats} />
      </Panel>
      <div class="columns">
        <Ranks
          title="Top tools"
          list={stats.topTools}
          keyOf={({ tool }) => tool}
          name={({ tool }) => (
            <a class="mono" href={addressOf({ tool, within: window })}>
              <Named text={tool} />
            </a>
          )}
        />
        <Ranks
          title="Busiest keys"
          list={stats.topKeys}
          keyOf={({ keyId }) => keyId}
          name={({ keyId }) => (
            <a href={addressOf({ keyId, within: window })}>
              <Named text={keyName(keyId)} />
            </a>
          )}
        />
        <div class="stack">
          <Latency stats={stats} />
          <Deliveries stats={stats} />
        </div>
      </div>
    </>
  );
}

function share(part: number, whole: number): string {
  const percent = (part / whole) * 100;
  return percent > 0 && percent < 0.1 ? 'less than 0.1 %' : `${percent.toFixed(percent < 10 ? 1 : 0)} %`;
}

interface TileProps {
  name: string;
  figure: ComponentChildren;
  note: string;
  href: string;
  tone: Tone;
}

function Tile({ name, figure, note, href, tone }: TileProps) {
  return (
    <a class={`tile ${tone}`} href={href}>
      <span class="tile-name">{name}</span>
      <span class="figure">{figure}</span>
      <span class="soft small">{note}</span>
    </a>
  );
}

function WaitingTile({ count }: { count: number }) {
  const note = count === 0 ? 'Nobody has to answer' : 'Open the inbox';
  return (
    <Tile name="Waiting now" figure={written(count)} note={note} href="/dashboard/approvals" tone="accent" />
  );
}

function Latency({ stats: { latencyMs } }: { stats: Stats }) {
  const rows: [string, number | undefined][] = [
    ['Half (p50)', latencyMs?.p50],
    ['90 % (p90)', latencyMs?.p90],
    ['99 % (p99)', latencyMs?.p99],
  ];
  return (
    <Panel title="Time to decide">
      {latencyMs === null ? (
        <Empty title="No verdict to measure" />
      ) : (
        <Numbers rows={rows.map(([name, ms]) => [name, within(ms ?? 0)])} />
      )}
    </Panel>
  );
}

/** Latencies are recorded in whole milliseconds. */
const within = (ms: number): string => (ms === 0 ? 'under 1 ms' : `within ${written(ms)} ms`);

function Deliveries({ stats: { deliveries } }: { stats: Stats }) {
  const { delivered, pending: waiting, failed, oldestPendingAt } = deliveries;
  const none = delivered + waiting + failed === 0;
  return (
    <Panel title="Deliveries" aside={<a href="/dashboard/webhooks">Webhooks</a>}>
      {none ? (
        <Empty title="No event to deliver">Events are sent to webhooks when approvals open and end.</Empty>
      ) : (
        <Numbers
          rows={[
            ['Delivered', written(delivered)],
            ['On their way', written(waiting)],
            ...(oldestPendingAt === null ? [] : [oldest(oldestPendingAt)]),
            [
              'Failed',
              <span key="" class={failed > 0 ? 'failed' : undefined}>
                {written(failed)}
              </span>,
            ],
          ]}
        />
      )}
    </Panel>
  );
}

const oldest = (at: string): [string, ComponentChildren] => ['The oldest since', <Ago key="" at={at} />];

function Numbers({ rows }: { rows: [string, ComponentChildren][] }) {
  return (
    <dl class="numbers">
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
