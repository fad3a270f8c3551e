// Grants, which approvals for a while open, until they end or are revoked: who opened them, how often they were used,
// and which calls they are bound to.

import type { ComponentChildren } from 'preact';
import { announce } from '../../announce.ts';
import { remove } from '../../api.ts';
import { Confirm } from '../../components/dialog.tsx';
import { Facts, Panel } from '../../components/page.tsx';
import { Empty, Shown } from '../../components/states.tsx';
import { type Column, More, Table } from '../../components/table.tsx';
import { Left, Named, Time, Tool } from '../../components/text.tsx';
import { useLive } from '../../live.ts';
import { useGet, useList } from '../../load.ts';
import { keyName } from '../../names.ts';
import type { Grant } from '../../resources.ts';
import { mayAdminister, mayResolve, me } from '../../session.ts';
import { By } from './facts.tsx';

export function Grants() {
  const list = useList<Grant>('/grants', 'grants');
  useLive({ approval: () => list.reload(), gap: list.reload });
  const columns = mayResolve.value ? [...COLUMNS, revoking(list.reload)] : COLUMNS;
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

const COLUMNS: Column<Grant>[] = [
  {
    head: 'Tool',
    cell: ({ referenceId, serverName, toolName }) => (
      <a href={`/dashboard/approvals/${referenceId}`}>
        <Tool serverName={serverName} toolName={toolName} />
      </a>
    ),
  },
  { head: 'Key', cell: ({ keyId }) => <Named text={keyName(keyId)} /> },
  { head: 'Only for', cell: grant => <Bound grant={grant} /> },
  { head: 'Opened by', cell: grant => <Opened grant={grant} /> },
  { head: 'Since', cell: ({ createdAt }) => <Time at={createdAt} /> },
  { head: 'Time left', cell: ({ expiresAt }) => <Left until={expiresAt} ended="ended" /> },
  { head: 'Used', kind: 'number', cell: ({ used }) => timesOf(used) },
];

const timesOf = (used: number): string => (used === 1 ? 'once' : used === 0 ? 'never' : `${used} times`);

const revoking = (done: () => void): Column<Grant> => ({
  head: 'Actions',
  kind: 'actions',
  cell: grant => <Revoke grant={grant} done={done} />,
});

/** Admins revoke any grant, approvers those that they opened. */
function Revoke({ grant, done }: { grant: Grant; done: () => void }) {
  if (!mayAdminister.value && grant.openedBy !== me.value.actor) return null;
  const { id, serverName, toolName } = grant;
  const revoke = async () => {
    await remove(`/grants/${id}`);
    announce(`Revoked: ${serverName}__${toolName}`);
    done();
  };
  return (
    <Confirm label="Revoke" title="Revoke this grant?" run={revoke}>
      From then on, calls to <Tool serverName={serverName} toolName={toolName} /> wait for an answer again.
    </Confirm>
  );
}

/** Which calls of the key the grant frees. */
function Bound({ grant: { sessionId, same } }: { grant: Grant }) {
  if (sessionId === null && same.length === 0) return <>all its calls</>;
  return (
    <div>
      {sessionId !== null && 'one session'}
      {sessionId !== null && same.length > 0 && ', '}
      {same.length > 0 && (
        <>
          the same{' '}
          <code>
            <Named text={same.join(', ')} />
          </code>
        </>
      )}
    </div>
  );
}

function Opened({ grant: { openedBy } }: { grant: Grant }) {
  return openedBy === null ? <span class="soft">not recorded</span> : <By by={openedBy} />;
}

/** The grant that an approval opened, while it is open. */
export function GrantOf({ referenceId }: { referenceId: string }) {
  const { data, reload } = useGet<{ grants: Grant[] }>('/grants', { limit: 1000 });
  useLive({ gap: reload, verdict: entry => entry.referenceId === referenceId && reload() });
  if (data === undefined) return null;
  const grant = data.grants.find(each => each.referenceId === referenceId);
  if (grant === undefined)
    return (
      <Panel title="Grant">
        <p class="soft">The grant that this approval opened has ended.</p>
      </Panel>
    );
  const facts: [string, ComponentChildren][] = [
    ['Time left', <Left key="" until={grant.expiresAt} ended="ended" />],
    ['Opened by', <Opened key="" grant={grant} />],
    ['Only for', <Bound key="" grant={grant} />],
    ['Used', timesOf(grant.used)],
  ];
  return (
    <Panel title="Open grant" aside={<Revoke grant={grant} done={reload} />}>
      <Facts facts={facts} />
    </Panel>
  );
}
