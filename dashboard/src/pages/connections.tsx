// My connections: the clients that act in the signed-in person's name, and how to connect another one.

import { announce } from '../announce.ts';
import { remove } from '../api.ts';
import { Confirm } from '../components/dialog.tsx';
import { Page, Panel } from '../components/page.tsx';
import { Empty, Shown } from '../components/states.tsx';
import { type Column, More, Table } from '../components/table.tsx';
import { Ago, Copy, Left, Named, Time } from '../components/text.tsx';
import { useList } from '../load.ts';
import type { Connection } from '../resources.ts';
import { clientAddress } from '../session.ts';
import { MyServers } from './mine/servers.tsx';
import { MineTabs } from './mine/tabs.tsx';

export default function Connections() {
  const list = useList<Connection>('/me/connections', 'connections');
  return (
    <Page
      title="My connections"
      lead="The clients that you signed in with. What they call, they call in your name."
    >
      <MineTabs />
      <section class="panel" aria-label="Connections">
        <Shown of={list} empty={<Empty title="Nothing is connected" />}>
          <Table
            caption="Connections, newest first"
            columns={columnsOf(list.reload)}
            rows={list.data ?? []}
            keyOf={each => each.id}
          />
          <More more={list.more} />
        </Shown>
      </section>
      <MyServers />
      <HowTo />
    </Page>
  );
}

const nameOf = ({ clientName }: Connection): string => clientName ?? 'a client without a name';

const columnsOf = (reload: () => void): Column<Connection>[] => [
  { head: 'Client', kind: 'wide', cell: connection => <Named text={nameOf(connection)} /> },
  { head: 'Key', cell: ({ keyName }) => <Named text={keyName} /> },
  { head: 'Since', cell: ({ createdAt }) => <Time at={createdAt} /> },
  {
    head: 'Last used',
    cell: ({ lastUsedAt }) =>
      lastUsedAt === null ? <span class="soft">not yet</span> : <Ago at={lastUsedAt} />,
  },
  { head: 'Ends', cell: ({ expiresAt }) => <Left until={expiresAt} ended="ended" /> },
  {
    head: 'Actions',
    kind: 'actions',
    cell: connection => (
      <Confirm
        label="Disconnect"
        title="Disconnect this client?"
        run={async () => {
          await remove(`/me/connections/${connection.id}`);
          announce(`Disconnected: ${nameOf(connection)}`);
          reload();
        }}
      >
        <Named text={nameOf(connection)} /> can make no further call in your name from that moment on. To
        connect it again, sign in with it again.
      </Confirm>
    ),
  },
];

function HowTo() {
  return (
    <Panel title="Connect a client">
      {clientAddress === '' ? (
        <p class="soft">
          Clients cannot sign in to this service. Whoever runs it can turn that on:{' '}
          <code>TOOLGATE_OAUTH=on</code>.
        </p>
      ) : (
        <div class="stack">
          <p>
            Enter this address in a client that speaks MCP. It opens a page here, on which you choose what it
            may use.
          </p>
          <p class="cluster">
            <code>{clientAddress}</code> <Copy text={clientAddress} label="Copy the address" wide />
          </p>
        </div>
      )}
    </Panel>
  );
}
