// Runs: what calls belong together, and what each run has read. Only keys whose policies use marks or known
// values have any, and sessions that were made with `known`.

import { useEffect } from 'preact/hooks';
import { useLocation, useRoute } from 'preact-iso';
import { queryOf } from '../api.ts';
import { Choice, keyOptions, type Options } from '../components/choice.tsx';
import { Page } from '../components/page.tsx';
import { Empty, Shown } from '../components/states.tsx';
import { type Column, More, Table } from '../components/table.tsx';
import { Ago, Named } from '../components/text.tsx';
import { useList } from '../load.ts';
import { keyName, loadKeys } from '../names.ts';
import type { Run } from '../resources.ts';
import { OneRun } from './runs/one.tsx';
import { Marks, RunName } from './runs/parts.tsx';

export default function Runs() {
  const id = useRoute().params['id'];
  return id === undefined ? <List /> : <OneRun key={id} id={id} />;
}

const COLUMNS: Column<Run>[] = [
  {
    head: 'Run',
    kind: 'wide',
    cell: run => (
      <a href={`/dashboard/runs/${run.runId}`}>
        <RunName of={run} />
      </a>
    ),
  },
  { head: 'Key', cell: ({ keyId }) => <Named text={keyName(keyId)} /> },
  { head: 'Has read', cell: ({ marks }) => <Marks of={marks} /> },
  { head: 'Known values', kind: 'number', cell: ({ known }) => known.toLocaleString('en') },
  { head: 'Last call (about)', cell: ({ lastCallAt }) => <Ago at={lastCallAt} /> },
];

const MARKED: Options = [
  ['', 'Any'],
  ['true', 'With marks'],
  ['false', 'Without marks'],
];

function List() {
  const { query, route } = useLocation();
  const { keyId, marked } = query;
  const list = useList<Run>('/runs', 'runs', { keyId, marked });
  useEffect(() => {
    loadKeys().catch(() => {});
  }, []);
  const choose = (chosen: { keyId?: string | undefined; marked?: string | undefined }) =>
    route(`/dashboard/runs${queryOf({ keyId, marked, ...chosen })}`);
  return (
    <Page
      title="Runs"
      lead="A run is the calls that belong together, such as those of one session. Its marks say what they have read; they are forgotten when the run ends."
    >
      <search aria-label="Runs">
        <form class="filters" onSubmit={event => event.preventDefault()}>
          <Choice
            label="Key"
            options={keyOptions(keyId)}
            value={keyId}
            set={value => choose({ keyId: value })}
          />
          <Choice label="Marks" options={MARKED} value={marked} set={value => choose({ marked: value })} />
        </form>
      </search>
      <section class="panel" aria-label="Runs">
        <Shown of={list} empty={<NoRuns filtered={keyId !== undefined || marked !== undefined} />}>
          <Table
            caption="Runs that have not ended, newest first"
            columns={COLUMNS}
            rows={list.data ?? []}
            keyOf={each => each.runId}
          />
          <More more={list.more} />
        </Shown>
      </section>
    </Page>
  );
}

function NoRuns({ filtered }: { filtered: boolean }) {
  if (filtered) return <Empty title="No run matches">Choose other marks, or another key.</Empty>;
  return (
    <Empty title="No run is under way">
      Runs are remembered for keys whose policies use <code>marks</code> or <code>known()</code>, and for
      sessions that were made with <code>known</code>.
    </Empty>
  );
}
