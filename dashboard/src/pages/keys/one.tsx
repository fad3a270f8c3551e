// One key: what it may do, its sessions, and the MCP servers behind its proxy.

import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { announce } from '../../announce.ts';
import { queryOf, remove } from '../../api.ts';
import { Confirm } from '../../components/dialog.tsx';
import { Facts, Page, Panel } from '../../components/page.tsx';
import { Empty, Loading, Shown } from '../../components/states.tsx';
import { type Column, More, Table } from '../../components/table.tsx';
import { Badge, Id, Left, Named, Time } from '../../components/text.tsx';
import { useList } from '../../load.ts';
import { keys, loadKeys } from '../../names.ts';
import type { Key, Policy, Session } from '../../resources.ts';
import { mayAdminister } from '../../session.ts';
import { ConnectedTools } from './connected-tools.tsx';
import { ChangeKey } from './new.tsx';
import { NotifyShown } from './notify.tsx';
import { KeyState, PolicyLink } from './parts.tsx';

export function OneKey({ id }: { id: string }) {
  const [asked, setAsked] = useState(false);
  const reload = () =>
    loadKeys()
      .catch(() => {})
      .finally(() => setAsked(true));
  useEffect(() => {
    reload();
  }, []);
  const key = keys.value.find(each => each.id === id);
  if (key !== undefined) return <Known of={key} reload={reload} />;
  return (
    <Page title="Key" lead={<a href="/dashboard/keys">All keys</a>}>
      {asked ? <Empty title="There is no key with this id" /> : <Loading />}
    </Page>
  );
}

function Known({ of: key, reload }: { of: Key; reload: () => void }) {
  const policies = useList<Policy>('/policies', 'policies', { limit: 1000 });
  const policy = policies.data?.find(each => each.id === key.policyId);
  const facts: [string, ComponentChildren][] = [
    ['State', <KeyState key="" of={key} />],
    ['Policy', <PolicyLink key="" id={key.policyId} policy={policy} />],
    ['Approvals', key.requireSignInToApprove ? 'need a signed-in operator' : 'by link, or by an operator'],
    ['Approval links', <NotifyShown key="" of={key.notify} />],
    ['Also forwards', key.forward.length === 0 ? 'nothing but tools' : key.forward.join(', ')],
    ['Begins with', <code key="">{key.prefix}…</code>],
    ['Created', <Time key="" at={key.createdAt} />],
    ...(key.revokedAt === null
      ? []
      : [['Revoked', <Time key="" at={key.revokedAt} />] as [string, ComponentChildren]]),
    ['Id', <Id key="" id={key.id} />],
  ];
  return (
    <Page
      title={key.name}
      lead={<a href="/dashboard/keys">All keys</a>}
      actions={
        <>
          <a class="button plain" href={`/dashboard/audit${queryOf({ keyId: key.id })}`}>
            Its audit log
          </a>
          {mayAdminister.value && key.revokedAt === null && (
            <Actions of={key} policies={policies.data ?? []} reload={reload} />
          )}
        </>
      }
    >
      <Panel title="About it">
        <Facts facts={facts} />
      </Panel>
      <ConnectedTools keyId={key.id} />
      <Sessions keyId={key.id} />
    </Page>
  );
}

function Actions({
  of: key,
  policies,
  reload,
}: {
  of: Key;
  policies: readonly Policy[];
  reload: () => void;
}) {
  const [open, setOpen] = useState(false);
  const revoke = async () => {
    await remove(`/keys/${key.id}`);
    announce(`Revoked: ${key.name}`);
    reload();
  };
  return (
    <>
      <button type="button" class="plain" onClick={() => setOpen(true)}>
        Change
      </button>
      <ChangeKey of={key} open={open} policies={policies} onClose={() => setOpen(false)} onChanged={reload} />
      <Confirm label="Revoke" title="Revoke this key?" class="plain" run={revoke}>
        <Named text={key.name} /> and all its sessions get no verdict from that moment on, on every replica.
        This cannot be taken back.
      </Confirm>
    </>
  );
}

const SESSIONS: Column<Session>[] = [
  {
    head: 'Label',
    cell: ({ label }) => (label === '' ? <span class="soft">none</span> : <Named text={label} />),
  },
  { head: 'State', cell: session => <SessionState of={session} /> },
  {
    head: 'Scope',
    kind: 'wide',
    cell: ({ scopeTools }) => (scopeTools === null ? 'every tool' : <Scope tools={scopeTools} />),
  },
  { head: 'Begun', cell: ({ createdAt }) => <Time at={createdAt} /> },
  {
    head: 'Actions',
    kind: 'actions',
    cell: ({ id }) => <a href={`/dashboard/audit${queryOf({ sessionId: id })}`}>Audit log</a>,
  },
];

function SessionState({ of: { revokedAt, expiresAt } }: { of: Session }) {
  if (revokedAt !== null) return <Badge tone="deny">revoked</Badge>;
  if (Date.parse(expiresAt) <= Date.now()) return <Badge tone="plain">ended</Badge>;
  return (
    <span>
      <Badge tone="allow">active</Badge> <Left until={expiresAt} ended="ended" />
    </span>
  );
}

function Scope({ tools }: { tools: readonly string[] }) {
  if (tools.length === 0) return <span>no tool</span>;
  return (
    <span class="cluster">
      {tools.map(tool => (
        <code key={tool}>
          <Named text={tool} />
        </code>
      ))}
    </span>
  );
}

function Sessions({ keyId }: { keyId: string }) {
  const list = useList<Session>('/sessions', 'sessions', { keyId, limit: 10 });
  return (
    <Panel title="Sessions">
      <Shown
        of={list}
        empty={
          <Empty title="No session was made with this key">
            An agent’s owner makes one for each run: <code>toolgate sessions create --ttl 60</code>
          </Empty>
        }
      >
        <Table
          caption="Sessions, newest first"
          columns={SESSIONS}
          rows={list.data ?? []}
          keyOf={each => each.id}
        />
        <More more={list.more} />
      </Shown>
    </Panel>
  );
}
