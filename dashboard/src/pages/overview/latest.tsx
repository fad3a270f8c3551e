// The latest verdicts, as they happen.

import { Panel } from '../../components/page.tsx';
import { Empty, Shown } from '../../components/states.tsx';
import { type Column, Table } from '../../components/table.tsx';
import { DecisionBadge, Named, Time, Tool } from '../../components/text.tsx';
import { useLive } from '../../live.ts';
import { useList } from '../../load.ts';
import { keyName } from '../../names.ts';
import type { AuditEntry } from '../../resources.ts';
import { addressOf } from '../audit/filters.ts';

const MOST = 8;

const COLUMNS: Column<AuditEntry>[] = [
  {
    head: 'Time',
    cell: ({ id, at }) => (
      <a href={addressOf({}, id)}>
        <Time at={at} />
      </a>
    ),
  },
  { head: 'Decision', cell: ({ decision }) => <DecisionBadge decision={decision} /> },
  {
    head: 'Tool',
    kind: 'wide',
    cell: ({ serverName, toolName }) => <Tool serverName={serverName} toolName={toolName} />,
  },
  { head: 'Key', cell: ({ keyId }) => <Named text={keyName(keyId)} /> },
];

export function Latest() {
  const list = useList<AuditEntry>('/audit', 'entries', { limit: MOST });
  useLive({
    gap: list.reload,
    verdict: entry =>
      list.change(entries => [entry, ...entries.filter(each => each.id !== entry.id)].slice(0, MOST)),
  });
  return (
    <Panel title="Latest verdicts" aside={<a href="/dashboard/audit">Audit</a>}>
      <Shown of={list} empty={<Empty title="None yet" />}>
        <Table caption="Latest verdicts" columns={COLUMNS} rows={list.data ?? []} keyOf={entry => entry.id} />
      </Shown>
    </Panel>
  );
}
