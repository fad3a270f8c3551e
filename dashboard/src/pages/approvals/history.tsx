// How earlier approvals ended and were used, and withdrawing those that are not spent.

import { useLocation } from 'preact-iso';
import { announce } from '../../announce.ts';
import { post, queryOf } from '../../api.ts';
import { now } from '../../clock.ts';
import { Confirm } from '../../components/dialog.tsx';
import { Panel } from '../../components/page.tsx';
import { Empty, Shown } from '../../components/states.tsx';
import { type Column, More, Table } from '../../components/table.tsx';
import { Named, StatusBadge, Time, Tool } from '../../components/text.tsx';
import { useLive } from '../../live.ts';
import { useList } from '../../load.ts';
import { keyName } from '../../names.ts';
import type { ListedApproval } from '../../resources.ts';
import { mayResolve } from '../../session.ts';
import { addressOf } from '../audit/filters.ts';

const STATUSES: [string, string][] = [
  ['', 'All'],
  ['approved', 'Approved'],
  ['denied', 'Denied'],
  ['timed_out', 'Timed out'],
];

const COLUMNS: Column<ListedApproval>[] = [
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
];

/** What an approval frees, or how it was used. */
function use({ grantExpiresAt, spentAt, withdrawnAt, usableUntil }: ListedApproval): [string, string] | null {
  if (grantExpiresAt !== null) return ['grant until', grantExpiresAt];
  if (spentAt !== null) return ['spent', spentAt];
  if (withdrawnAt !== null) return ['withdrawn', withdrawnAt];
  if (usableUntil === null) return null;
  return [Date.parse(usableUntil) > now.value ? USABLE : 'lapsed', usableUntil];
}

const USABLE = 'one call until';

export function History() {
  const { query, route } = useLocation();
  const status = query['status'] ?? '';
  const list = useList<ListedApproval>('/approvals', 'approvals', { status });
  useLive({ approval: () => list.reload(), gap: list.reload });
  const ended = list.data?.filter(approval => approval.status !== 'pending');
  const withdraw = async ({ referenceId, serverName, toolName }: ListedApproval) => {
    try {
      await post(`/approvals/${referenceId}/withdraw`);
    } finally {
      list.reload();
    }
    announce(`Withdrawn: ${serverName}__${toolName}`);
  };
  const choose = (value: string) =>
    route(`/dashboard/approvals${queryOf({ view: 'history', status: value })}`);
  return (
    <Panel title="Answered and timed out" aside={<StatusChoice status={status} choose={choose} />}>
      <Shown of={{ ...list, data: ended }} empty={<Empty title="None yet" />}>
        <Table
          caption="Approvals that have ended"
          columns={[...COLUMNS, using(withdraw)]}
          rows={ended ?? []}
          keyOf={approval => approval.referenceId}
        />
        <More more={list.more} />
      </Shown>
    </Panel>
  );
}

const using = (withdraw: (approval: ListedApproval) => Promise<void>): Column<ListedApproval> => ({
  head: 'Use',
  cell: approval => {
    const [what, at] = use(approval) ?? [];
    if (what === undefined || at === undefined) return null;
    return (
      <div>
        {what} <Time at={at} />{' '}
        {what === USABLE && mayResolve.value && (
          <Confirm label="Withdraw" title="Withdraw this approval?" run={() => withdraw(approval)}>
            From then on it frees no call to{' '}
            <Tool serverName={approval.serverName} toolName={approval.toolName} />; the agent has to ask
            again.
          </Confirm>
        )}
      </div>
    );
  },
});

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
