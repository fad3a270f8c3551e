// Shipping: where the audit log is sent to, how far each target has come, and what went wrong last.

import { lagText } from '../../../src/core/log/shipping.ts';
import { Page } from '../components/page.tsx';
import { LastError, SendingState } from '../components/sending.tsx';
import { Empty, Shown } from '../components/states.tsx';
import { type Column, Table } from '../components/table.tsx';
import { Ago, Named } from '../components/text.tsx';
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

const COLUMNS: Column<ShippedTarget>[] = [
  { head: 'Target', cell: ({ name }) => <Named text={name} /> },
  { head: 'Type', cell: ({ type }) => type },
  { head: 'To', cell: ({ to }) => <Named text={to} /> },
  { head: 'State', cell: target => <SendingState of={target} /> },
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

function NoTarget() {
  return (
    <Empty title="The audit log is not shipped">
      Name a target under <code>shipping</code> in the server file to send every entry to another system.
    </Empty>
  );
}
