// Tool servers that keys share: the list, a form that adds one, and for each its tools, who accepted them, and who uses it.

import { useRef } from 'preact/hooks';
import { useLocation, useRoute } from 'preact-iso';
import { Page } from '../components/page.tsx';
import { Empty, Shown } from '../components/states.tsx';
import { type Column, More, Table } from '../components/table.tsx';
import { Badge, Named } from '../components/text.tsx';
import { lazy } from '../lazy.ts';
import { useList } from '../load.ts';
import type { ToolServer } from '../resources.ts';
import { mayAdminister } from '../session.ts';
import { AddServer } from './tool-servers/add.tsx';
import { ServerState } from './tool-servers/parts.tsx';
import { trustWord } from './tool-servers/trust.tsx';

// The page of one server is large, and the list needs nothing of it.
const OneServer = lazy(() => import('./tool-servers/one.tsx').then(({ OneServer }) => OneServer));

export default function ToolServers() {
  const id = useRoute().params['id'];
  return id === undefined ? <List /> : <OneServer key={id} id={id} />;
}

const COLUMNS: Column<ToolServer>[] = [
  {
    head: 'Name',
    kind: 'wide',
    cell: ({ id, name, transport, url, server }) => (
      <span class="lines">
        <a href={`/dashboard/tool-servers/${id}`}>
          <Named text={name} />
        </a>
        <span class="soft">
          {transport}: <Named text={url ?? server ?? ''} />
        </span>
      </span>
    ),
  },
  { head: 'State', cell: server => <ServerState of={server} /> },
  { head: 'Trust', cell: ({ trust }) => trustWord(trust) },
  { head: 'Tools', cell: server => <ToolCount of={server} /> },
  { head: 'Keys', kind: 'number', cell: ({ keys }) => keys },
];

function ToolCount({ of: { id, tools } }: { of: ToolServer }) {
  const changed = tools.filter(({ drifted }) => drifted).length;
  if (tools.length === 0) return <span class="soft">not known yet</span>;
  return (
    <span class="cluster">
      {tools.length}
      {changed > 0 && (
        <a href={`/dashboard/tool-servers/${id}`}>
          <Badge tone="pending">{changed} changed</Badge>
        </a>
      )}
    </span>
  );
}

function List() {
  const list = useList<ToolServer>('/tool-servers', 'toolServers');
  const { query, route } = useLocation();
  /** Where the form leads when it closes: to the server that was added. */
  const added = useRef('');
  return (
    <Page
      title="Tool servers"
      lead="MCP servers that several keys share. Their tools are looked at and accepted once, for all of them."
      actions={
        mayAdminister.value && (
          <button type="button" onClick={() => route('/dashboard/tool-servers?new')}>
            Add a tool server
          </button>
        )
      }
    >
      <section class="panel" aria-label="Tool servers">
        <Shown
          of={list}
          empty={
            <Empty title="No tool server is shared yet">
              Add one here, then give it to the keys that may use it. Or share a server that{' '}
              <a href="/dashboard/keys">a key</a> has already: its tools and sign-ins stay.
            </Empty>
          }
        >
          <Table
            caption="Tool servers, by name"
            columns={COLUMNS}
            rows={list.data ?? []}
            keyOf={each => each.id}
          />
          <More more={list.more} />
        </Shown>
      </section>
      <AddServer
        open={'new' in query && mayAdminister.value}
        onClose={() => route(`/dashboard/tool-servers${added.current}`, true)}
        onAdded={({ id }) => {
          added.current = `/${id}`;
        }}
      />
    </Page>
  );
}
