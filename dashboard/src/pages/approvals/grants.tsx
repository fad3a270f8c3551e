// Grants, which approvals for a while open, until they end or are revoked.

import { announce } from '../../announce.ts';
import { remove } from '../../api.ts';
import { Confirm } from '../../components/dialog.tsx';
import { Panel } from '../../components/page.tsx';
import { Empty, Shown } from '../../components/states.tsx';
import { type Column, More, Table } from '../../components/table.tsx';
import { Left, Named, Time, Tool } from '../../components/text.tsx';
import { useLive } from '../../live.ts';
import { useList } from '../../load.ts';
import { keyName } from '../../names.ts';
import type { Grant } from '../../resources.ts';
import { mayAdminister } from '../../session.ts';

const COLUMNS: Column<Grant>[] = [
  {
    head: 'Tool',
    kind: 'wide',
    cell: ({ serverName, toolName }) => <Tool serverName={serverName} toolName={toolName} />,
  },
  { head: 'Key', cell: ({ keyId }) => <Named text={keyName(keyId)} /> },
  { head: 'Since', cell: ({ createdAt }) => <Time at={createdAt} /> },
  { head: 'Until', cell: ({ expiresAt }) => <Time at={expiresAt} /> },
  { head: 'Time left', cell: ({ expiresAt }) => <Left until={expiresAt} ended="ended" /> },
];

export function Grants() {
  const list = useList<Grant>('/grants', 'grants');
  useLive({ approval: () => list.reload(), gap: list.reload });
  const revoke = async ({ id, serverName, toolName }: Grant) => {
    await remove(`/grants/${id}`);
    list.change(grants => grants.filter(grant => grant.id !== id));
    announce(`Revoked: ${serverName}__${toolName}`);
  };
  const columns = mayAdminister.value ? [...COLUMNS, revoking(revoke)] : COLUMNS;
  return (
    <Panel title="Open grants">
      <Shown
        of={list}
        empty={
          <Empty title="No grant is open">
            Approve a call for a while, and calls like it go through without asking until the time is over.
          </Empty>
        }
      >
        <Table caption="Open grants" columns={columns} rows={list.data ?? []} keyOf={grant => grant.id} />
        <More more={list.more} />
      </Shown>
    </Panel>
  );
}

const revoking = (revoke: (grant: Grant) => Promise<void>): Column<Grant> => ({
  head: 'Actions',
  kind: 'actions',
  cell: grant => (
    <Confirm label="Revoke" title="Revoke this grant?" run={() => revoke(grant)}>
      From then on, calls to <Tool serverName={grant.serverName} toolName={grant.toolName} /> wait for an
      answer again.
    </Confirm>
  ),
});
