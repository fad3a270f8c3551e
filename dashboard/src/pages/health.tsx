// Health: what the doctor finds about this service, the worst first, and what to do. A run takes some seconds.

import { useEffect } from 'preact/hooks';
import { Page } from '../components/page.tsx';
import { Empty, Shown } from '../components/states.tsx';
import { type Column, Table } from '../components/table.tsx';
import { Badge, Named, type Tone } from '../components/text.tsx';
import { tellHealth } from '../health.ts';
import { useGet } from '../load.ts';
import type { DoctorReport } from '../resources.ts';
import { mayAdminister } from '../session.ts';

type Line = DoctorReport['checks'][number];

export default function Health() {
  return mayAdminister.value ? (
    <Report />
  ) : (
    <Page title="Health" lead={LEAD}>
      <Empty title="Only admins can look at this" />
    </Page>
  );
}

const LEAD =
  'Settings, store, disk, clock, and the servers that the service needs, as this replica sees them.';

function Report() {
  const { data, error, loading, reload } = useGet<DoctorReport>('/doctor');
  useEffect(() => {
    if (data !== undefined) tellHealth(data);
  }, [data]);
  const lines = data?.checks.toSorted((a, b) => RANK.indexOf(a.state) - RANK.indexOf(b.state));
  return (
    <Page
      title="Health"
      lead={LEAD}
      actions={
        <button type="button" class="plain" disabled={loading} onClick={reload}>
          Look again
        </button>
      }
    >
      <p role="status">{loading ? 'Looking, which takes a few seconds…' : data && summary(data)}</p>
      <section class="panel" aria-label="Checks">
        <Shown of={{ data: lines, error, loading, reload }} empty={null}>
          <Table
            caption="Checks"
            columns={COLUMNS}
            rows={lines ?? []}
            keyOf={({ name, message }) => `${name} ${message}`}
            compact
          />
        </Shown>
      </section>
    </Page>
  );
}

const RANK: Line['state'][] = ['bad', 'warning', 'good'];
const TONES: Record<Line['state'], Tone> = { bad: 'deny', warning: 'pending', good: 'allow' };

const COLUMNS: Column<Line>[] = [
  { head: 'State', cell: ({ state }) => <Badge tone={TONES[state]}>{state}</Badge> },
  { head: 'What', cell: ({ name }) => <Named text={name} /> },
  { head: 'Found', kind: 'wide', cell: ({ message }) => <Named text={message} /> },
];

function summary({ ok, checks }: DoctorReport): string {
  const count = (state: Line['state']) => checks.filter(each => each.state === state).length;
  if (ok)
    return count('warning') === 0 ? 'Nothing is wrong.' : `Nothing is bad; warnings: ${count('warning')}.`;
  return `Bad: ${count('bad')}; warnings: ${count('warning')}.`;
}
