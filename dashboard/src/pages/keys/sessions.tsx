// The sessions of a key: those that agents' owners made, and those of people who signed in with a client.

import { safeJson } from '../../../../src/core/text/visible.ts';
import { announce } from '../../announce.ts';
import { queryOf, remove } from '../../api.ts';
import { Confirm } from '../../components/dialog.tsx';
import { Panel } from '../../components/page.tsx';
import { Empty, Shown } from '../../components/states.tsx';
import { type Column, More, Table } from '../../components/table.tsx';
import { Ago, Badge, Left, Named, Time } from '../../components/text.tsx';
import { useList } from '../../load.ts';
import type { Session } from '../../resources.ts';
import { mayAdminister } from '../../session.ts';

export function Sessions({ keyId }: { keyId: string }) {
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
          columns={columnsOf(list.reload)}
          rows={list.data ?? []}
          keyOf={each => each.id}
        />
        <More more={list.more} />
      </Shown>
    </Panel>
  );
}

const columnsOf = (reload: () => void): Column<Session>[] => [
  { head: 'Label', kind: 'wide', cell: session => <Whose of={session} /> },
  { head: 'State', cell: session => <SessionState of={session} /> },
  {
    head: 'Scope',
    kind: 'wide',
    cell: ({ scopeTools }) => (scopeTools === null ? 'every tool' : <Scope tools={scopeTools} />),
  },
  { head: 'Begun', cell: ({ createdAt }) => <Time at={createdAt} /> },
  { head: 'Last used', cell: ({ lastUsedAt }) => lastUsedAt !== null && <Ago at={lastUsedAt} /> },
  {
    head: 'Actions',
    kind: 'actions',
    cell: session => (
      <>
        <a href={`/dashboard/audit${queryOf({ sessionId: session.id })}`}>Audit log</a>{' '}
        {mayAdminister.value && isActive(session) && <Revoke of={session} reload={reload} />}
      </>
    ),
  },
];

function Whose({ of: { label, personEmail, personId, attributes } }: { of: Session }) {
  return (
    <div>
      {label === '' ? <span class="soft">none</span> : <Named text={label} />}
      {personId !== null && (
        <p class="soft small">
          for <Named text={personEmail ?? 'somebody who was removed'} />
        </p>
      )}
      {attributes !== undefined && <Attributes of={attributes} />}
    </div>
  );
}

/** What its owner said of it when it was made, for conditions. */
function Attributes({ of }: { of: NonNullable<Session['attributes']> }) {
  return (
    <dl class="attributes small" aria-label="Attributes">
      {Object.entries(of).map(([name, value]) => (
        <div key={name}>
          <dt>
            <Named text={name} />
          </dt>
          <dd>
            <Named text={typeof value === 'string' ? value : safeJson(value)} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

const isActive = ({ revokedAt, expiresAt }: Session): boolean =>
  revokedAt === null && Date.parse(expiresAt) > Date.now();

function SessionState({ of: session }: { of: Session }) {
  const { revokedAt, revokedBecause, expiresAt } = session;
  if (revokedAt !== null)
    return (
      <div>
        <Badge tone="deny">revoked</Badge>
        {revokedBecause !== null && <p class="soft small">{revokedBecause}</p>}
      </div>
    );
  if (!isActive(session)) return <Badge tone="plain">ended</Badge>;
  return (
    <span>
      <Badge tone="allow">active</Badge> <Left until={expiresAt} ended="ended" />
    </span>
  );
}

function Revoke({ of: { id, label, personEmail }, reload }: { of: Session; reload: () => void }) {
  const revoke = async () => {
    await remove(`/sessions/${id}`);
    announce(`Revoked: ${label || 'a session without a label'}`);
    reload();
  };
  return (
    <Confirm label="Revoke" title="Revoke this session?" run={revoke}>
      <Named text={label || 'This session'} />
      {personEmail !== null && (
        <>
          {' '}
          of <Named text={personEmail} />
        </>
      )}{' '}
      gets no verdict from that moment on, on every replica.
    </Confirm>
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
