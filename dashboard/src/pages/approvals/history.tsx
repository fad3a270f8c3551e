// How earlier approvals ended, by whom and how, and what became of them. On a narrow screen a row takes little room.

import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { answeredBy } from '../../../../src/core/approvals/approval.ts';
import { isTaskUnderWay, taskText } from '../../../../src/core/approvals/task-text.ts';
import { queryOf } from '../../api.ts';
import { inWords, now } from '../../clock.ts';
import { Panel } from '../../components/page.tsx';
import { Empty, Shown } from '../../components/states.tsx';
import { type Column, More, Table } from '../../components/table.tsx';
import { Named, StatusBadge, Time, Tool } from '../../components/text.tsx';
import { useLive } from '../../live.ts';
import { useList } from '../../load.ts';
import { keyName } from '../../names.ts';
import type { ListedApproval } from '../../resources.ts';
import { By } from './facts.tsx';
import { usageOf } from './usage.ts';
import { Withdraw } from './withdraw.tsx';

const STATUSES: [string, string][] = [
  ['', 'All'],
  ['approved', 'Approved'],
  ['denied', 'Denied'],
  ['timed_out', 'Timed out'],
  ['withdrawn', 'Withdrawn'],
];

export function History() {
  const { query, route } = useLocation();
  const status = query['status'] ?? '';
  const list = useList<ListedApproval>('/approvals', 'approvals', { order: 'ended', status });
  useLive({
    gap: list.reload,
    approval: list.reload,
    // An approval is spent by the call that it frees.
    verdict: ({ referenceId, decision }) => referenceId !== null && decision === 'allow' && list.reload(),
  });
  useFollowing(list.data, list.reload);
  const choose = (value: string) =>
    route(`/dashboard/approvals${queryOf({ view: 'history', status: value })}`);
  return (
    <Panel title="Ended" aside={<StatusChoice status={status} choose={choose} />}>
      <Shown of={list} empty={<Empty title="None yet" />}>
        <Table
          caption="Approvals that have ended"
          columns={columnsOf(list.reload)}
          rows={list.data ?? []}
          keyOf={approval => approval.referenceId}
          compact
        />
        <More more={list.more} />
      </Shown>
    </Panel>
  );
}

const FOLLOW_MS = 2000;

/** No live event tells that the call of a task has ended, so the list is read again while one of them is under way. */
function useFollowing(shown: ListedApproval[] | undefined, reload: () => void): void {
  const active = shown?.some(({ status, task }) => status === 'approved' && isTaskUnderWay(task)) === true;
  useEffect(() => {
    if (!active) return;
    const timer = setTimeout(() => document.hidden || reload(), FOLLOW_MS);
    return () => clearTimeout(timer);
  }, [active, shown]);
}

const columnsOf = (reload: () => void): Column<ListedApproval>[] => [
  { head: 'Outcome', cell: ({ status }) => <StatusBadge status={status} /> },
  {
    head: 'Tool',
    cell: ({ referenceId, serverName, toolName }) => (
      <a href={`/dashboard/approvals/${referenceId}`}>
        <Tool serverName={serverName} toolName={toolName} />
      </a>
    ),
  },
  {
    head: 'Key',
    cell: ({ keyId, personEmail }) => (
      <div>
        <Named text={keyName(keyId)} />
        {personEmail !== undefined && (
          <p class="soft small">
            for <Named text={personEmail} />
          </p>
        )}
      </div>
    ),
  },
  { head: 'Ended', cell: ({ resolvedAt }) => resolvedAt !== null && <Time at={resolvedAt} /> },
  { head: 'By', cell: approval => <Answer of={approval} /> },
  {
    head: 'Use',
    cell: approval => (
      <div class="use">
        <Usage of={approval} /> <Withdraw approval={approval} done={reload} looks="link" />
      </div>
    ),
  },
];

/** Who answered, with how many votes, and what they wrote. */
function Answer({ of: { status, resolvedBy, votes, approverGroup, note } }: { of: ListedApproval }) {
  if (status === 'timed_out') return <span class="soft">nobody in time</span>;
  if (status === 'withdrawn') return <span class="soft">the agent</span>;
  return (
    <div>
      {votes.needed > 1 && status === 'approved' ? (
        <>
          {votes.approved.length} of {votes.needed}
          {approverGroup !== null && (
            <>
              {' '}
              of <Named text={approverGroup} />
            </>
          )}
          : <Named text={votes.approved.map(({ by }) => answeredBy(by)).join(', ')} />
        </>
      ) : (
        <By by={resolvedBy} />
      )}
      {note !== null && (
        <p class="note">
          <Named text={note} />
        </p>
      )}
    </div>
  );
}

/** What became of its task, if it has one, and how it was used. */
function Usage({ of: approval }: { of: ListedApproval }): ComponentChildren {
  const task = taskText(approval);
  if (task === null) return <Used of={approval} />;
  if (approval.task?.state === 'held') return task;
  return (
    <>
      {task} · <Used of={approval} />
    </>
  );
}

function Used({ of: approval }: { of: ListedApproval }): ComponentChildren {
  const usage = usageOf(approval, now.value);
  if (usage === null) return null;
  const at = <Time at={usage.at} />;
  const long = Date.parse(usage.at) - Date.parse(approval.resolvedAt ?? usage.at);
  switch (usage.kind) {
    case 'grant':
      return (
        <>
          grant for {inWords(long)}, until {at}
        </>
      );
    case 'spent':
      return <>spent {at}</>;
    case 'withdrawn':
      return <>withdrawn {at}</>;
    case 'usable':
      return <>one call until {at}</>;
    case 'lapsed':
      return <>not used, lapsed {at}</>;
  }
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
