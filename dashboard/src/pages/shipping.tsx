// Shipping: where the audit log is sent to, how far each target has come, and what went wrong last.

import { lagText } from '../../../src/core/shipping.ts';
import { Page } from '../components/page.tsx';
import { Empty, Shown } from '../components/states.tsx';
import { type Column, Table } from '../components/table.tsx';
import { Ago, Badge, Named, type Tone } from '../components/text.tsx';
import { useGet } from '../load.ts';
import type { ShippedTarget } from '../resources.ts';

export default function Shipping() {
  const { data, error, loading, reload } = useGet<{ targets: ShippedTarget[] }>('/shipping');
  const targets = data?.targets;
  return (
    <Page
      title="Shipping"
      lead="Every sealed entry of the audit log is sent to these targets, in order. What a target has not confirmed is kept."
      actions={
        <button type="button" class="plain" onClick={reload}>
          Refresh
        </button>
      }
    >
      <section class="panel" aria-label="Targets">
        <Shown of={{ data: targets, error, loading, reload }} empty={<NoTarget />}>
          <Table caption="Targets" columns={COLUMNS} rows={targets ?? []} keyOf={({ name }) => name} />
        </Shown>
      </section>
    </Page>
  );
}

const STATES: Record<ShippedTarget['state'], [Tone, string]> = {
  ok: ['allow', 'works'],
  failing: ['deny', 'failing'],
  unused: ['plain', 'not used yet'],
};

const COLUMNS: Column<ShippedTarget>[] = [
  { head: 'Target', cell: ({ name }) => <Named text={name} /> },
  { head: 'Type', cell: ({ type }) => type },
  { head: 'To', cell: ({ to }) => <Named text={to} /> },
  { head: 'State', cell: ({ state }) => <Badge tone={STATES[state][0]}>{STATES[state][1]}</Badge> },
  {
    head: 'Shipped to',
    cell: ({ shippedTo }) => (shippedTo === null ? 'nothing yet' : `entry ${shippedTo}`),
  },
  { head: 'Lag', cell: target => lagText(target) },
  {
    head: 'Last confirmed',
    cell: ({ shippedAt }) => (shippedAt === null ? 'never' : <Ago at={shippedAt} />),
  },
  { head: 'Last error', cell: target => <LastError of={target} /> },
];

function LastError({ of: { lastError, lastErrorAt } }: { of: ShippedTarget }) {
  if (lastError === null || lastErrorAt === null) return <>none</>;
  return (
    <div>
      <Named text={lastError} />, <Ago at={lastErrorAt} />
    </div>
  );
}

function NoTarget() {
  return (
    <Empty title="The audit log is not shipped">
      Name a target under <code>shipping</code> in the server file to send every entry to another system.
    </Empty>
  );
}
