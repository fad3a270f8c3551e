// My calls: the audit log of what was called in the signed-in person's name.

import { useState } from 'preact/hooks';
import { Page } from '../components/page.tsx';
import { Empty, Shown } from '../components/states.tsx';
import { type Column, More, Table } from '../components/table.tsx';
import { DecisionBadge, Named, Time, Tool } from '../components/text.tsx';
import { useList } from '../load.ts';
import type { MyCall } from '../resources.ts';
import { ReadAgain } from './mine/read-again.tsx';
import { MineTabs } from './mine/tabs.tsx';

const DECISIONS: [string, string][] = [
  ['', 'All'],
  ['allow', 'Allowed'],
  ['deny', 'Denied'],
  ['pending', 'Waiting'],
];

const COLUMNS: Column<MyCall>[] = [
  { head: 'Time', cell: ({ at }) => <Time at={at} /> },
  { head: 'Decision', cell: ({ decision }) => <DecisionBadge decision={decision} /> },
  {
    head: 'Tool',
    cell: ({ serverName, toolName }) => <Tool serverName={serverName} toolName={toolName} />,
  },
  { head: 'Key', cell: ({ keyName }) => <Named text={keyName} /> },
  { head: 'Reason', kind: 'wide', cell: ({ reason }) => <Named text={reason} /> },
];

export default function Calls() {
  const [decision, setDecision] = useState('');
  const list = useList<MyCall>('/me/calls', 'entries', { decision });
  return (
    <Page
      title="My calls"
      lead="What clients called in your name, and what was decided. Arguments are not recorded."
      actions={
        <>
          <select
            class="narrow"
            aria-label="Decision"
            value={decision}
            onChange={event => setDecision(event.currentTarget.value)}
          >
            {DECISIONS.map(([value, words]) => (
              <option key={value} value={value}>
                {words}
              </option>
            ))}
          </select>
          <ReadAgain of={list} />
        </>
      }
    >
      <MineTabs />
      <section class="panel" aria-label="Calls">
        <Shown
          of={list}
          empty={<Empty title={decision === '' ? 'No call was made in your name' : 'No call matches'} />}
        >
          <Table
            caption="Calls in your name, newest first"
            columns={COLUMNS}
            rows={list.data ?? []}
            keyOf={entry => entry.id}
          />
          <More more={list.more} />
        </Shown>
      </section>
    </Page>
  );
}
