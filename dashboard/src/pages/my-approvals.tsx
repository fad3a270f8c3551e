// My approvals: questions about calls in the signed-in person's name, and how they ended. Somebody else answers them.

import { useEffect } from 'preact/hooks';
import { Page } from '../components/page.tsx';
import { Empty, Shown } from '../components/states.tsx';
import { type Column, More, Table } from '../components/table.tsx';
import { Left, Named, StatusBadge, Time, Tool } from '../components/text.tsx';
import { useList } from '../load.ts';
import type { MyApproval } from '../resources.ts';
import { ReadAgain } from './mine/read-again.tsx';
import { MineTabs } from './mine/tabs.tsx';

const FOLLOW_MS = 5000;

export default function MyApprovals() {
  const list = useList<MyApproval>('/me/approvals', 'approvals');
  const waits = list.data?.some(({ status }) => status === 'pending') ?? false;
  useEffect(() => {
    if (!waits) return;
    const timer = setTimeout(() => document.hidden || list.reload(), FOLLOW_MS);
    return () => clearTimeout(timer);
  }, [waits, list.data]);
  return (
    <Page
      title="My approvals"
      lead="Calls in your name that a person has to allow. You cannot answer them yourself: somebody else does."
      actions={<ReadAgain of={list} />}
    >
      <MineTabs />
      <section class="panel" aria-label="Approvals">
        <Shown of={list} empty={<Empty title="No call in your name needed an approval" />}>
          <Table
            caption="Approvals of calls in your name, newest first"
            columns={COLUMNS}
            rows={list.data ?? []}
            keyOf={each => each.referenceId}
          />
          <More more={list.more} />
        </Shown>
      </section>
    </Page>
  );
}

const COLUMNS: Column<MyApproval>[] = [
  { head: 'State', cell: approval => <State of={approval} /> },
  {
    head: 'Tool',
    cell: ({ serverName, toolName }) => <Tool serverName={serverName} toolName={toolName} />,
  },
  { head: 'Key', cell: ({ keyName }) => <Named text={keyName} /> },
  { head: 'Asked', cell: ({ createdAt }) => <Time at={createdAt} /> },
  {
    head: 'Ended',
    cell: ({ resolvedAt }) =>
      resolvedAt === null ? <span class="soft">not yet</span> : <Time at={resolvedAt} />,
  },
  { head: 'Why, and what was said', kind: 'wide', cell: approval => <Words of={approval} /> },
];

function State({ of: { status, expiresAt } }: { of: MyApproval }) {
  return (
    <span>
      <StatusBadge status={status} /> {status === 'pending' && <Left until={expiresAt} />}
    </span>
  );
}

function Words({ of: { reason, note } }: { of: MyApproval }) {
  return (
    <div>
      <Named text={reason} />
      {note !== null && (
        <p class="note">
          <Named text={note} />
        </p>
      )}
    </div>
  );
}
