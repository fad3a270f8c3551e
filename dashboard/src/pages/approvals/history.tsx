// How earlier questions ended.

import { useLocation } from 'preact-iso';
import { type Approval, queryOf } from '../../api.ts';
import { Panel } from '../../components/page.tsx';
import { Empty, Shown } from '../../components/states.tsx';
import { type Column, More, Table } from '../../components/table.tsx';
import { Named, StatusBadge, Time, Tool } from '../../components/text.tsx';
import { useLive } from '../../live.ts';
import { useList } from '../../load.ts';
import { keyName } from '../../names.ts';
import { addressOf } from '../audit/filters.ts';

const STATUSES: [string, string][] = [
  ['', 'All'],
  ['approved', 'Approved'],
  ['denied', 'Denied'],
  ['timed_out', 'Timed out'],
];

const COLUMNS: Column<Approval>[] = [
  { head: 'Outcome', cell: ({ status }) => <StatusBadge status={status} /> },
  {
    head: 'Tool',
    cell: ({ serverName, toolName, toolCallId }) => (
      <a href={addressOf({}, toolCallId)}>
        <Tool serverName={serverName} toolName={toolName} />
      </a>
    ),
  },
  { head: 'Key', cell: ({ keyId }) => <Named text={keyName(keyId)} /> },
  { head: 'Asked', cell: ({ createdAt }) => <Time at={createdAt} /> },
  { head: 'Ended', cell: ({ resolvedAt }) => resolvedAt !== null && <Time at={resolvedAt} /> },
  { head: 'By', cell: ({ resolvedBy }) => by(resolvedBy) },
  {
    head: 'Grant until',
    cell: ({ grantExpiresAt }) => grantExpiresAt !== null && <Time at={grantExpiresAt} />,
  },
];

export function History() {
  const { query, route } = useLocation();
  const status = query['status'] ?? '';
  const list = useList<Approval>('/approvals', 'approvals', { status });
  useLive({ approval: () => list.reload(), gap: list.reload });
  const ended = list.data?.filter(approval => approval.status !== 'pending');
  const choose = (value: string) =>
    route(`/dashboard/approvals${queryOf({ view: 'history', status: value })}`);
  return (
    <Panel title="Answered and lapsed" aside={<StatusChoice status={status} choose={choose} />}>
      <Shown of={{ ...list, data: ended }} empty={<Empty title="None yet" />}>
        <Table
          caption="Approvals that have ended"
          columns={COLUMNS}
          rows={ended ?? []}
          keyOf={approval => approval.referenceId}
        />
        <More more={list.more} />
      </Shown>
    </Panel>
  );
}

function StatusChoice({ status, choose }: { status: string; choose: (status: string) => void }) {
  return (
    <select aria-label="Outcome" class="narrow" onChange={event => choose(event.currentTarget.value)}>
      {STATUSES.map(([value, words]) => (
        <option key={value} value={value} selected={value === status}>
          {words}
        </option>
      ))}
    </select>
  );
}

function by(resolvedBy: string | null) {
  if (resolvedBy === null) return <span class="soft">nobody</span>;
  if (resolvedBy === 'link') return 'link';
  if (resolvedBy === 'admin') return 'admin token';
  return <Named text={resolvedBy.replace(/^operator:/, '')} />;
}
