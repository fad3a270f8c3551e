// One key: what it may do, its sessions, and the MCP servers behind its proxy; its shadow; a policy from its calls; the tools
// of one of its servers. The address says which of them is shown.

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { announce } from '../../announce.ts';
import { queryOf, Refusal, remove } from '../../api.ts';
import { Confirm } from '../../components/dialog.tsx';
import { Facts, Page, Panel } from '../../components/page.tsx';
import { Empty, Loading, Problem } from '../../components/states.tsx';
import { Id, Named, Time } from '../../components/text.tsx';
import { useLive } from '../../live.ts';
import { useGet, useList } from '../../load.ts';
import { loadKeys } from '../../names.ts';
import type { Key, Policy } from '../../resources.ts';
import { mayAdminister } from '../../session.ts';
import { ConnectedTools } from './connected-tools.tsx';
import { atClients } from './for-clients.tsx';
import { ChangeKey } from './new.tsx';
import { NotifyShown } from './notify.tsx';
import { OpenTo } from './open-to.tsx';
import { Expiry, KeyState, LastUse, PolicyLink } from './parts.tsx';
import { Sessions } from './sessions.tsx';
import { Shadow } from './shadow.tsx';
import { Suggest } from './suggest.tsx';
import { ToolsOf } from './tools-of.tsx';

export function OneKey({ id }: { id: string }) {
  const { data, error, reload } = useGet<Key>(`/keys/${id}`);
  useLive({ gap: reload });
  const changed = () => {
    reload();
    // Other pages show its name.
    loadKeys().catch(() => {});
  };
  if (data !== undefined) return <Known of={data} reload={changed} />;
  return (
    <Page title="Key" lead={<a href="/dashboard/keys">All keys</a>}>
      {isUnknown(error) ? (
        <Empty title="There is no key with this id" />
      ) : (
        <Problem error={error} retry={reload} />
      )}
      {error === null && <Loading />}
    </Page>
  );
}

const isUnknown = (error: Error | null) => error instanceof Refusal && error.status === 404;

/** The parts of the page, by the parameter of its address. */
const VIEWS = [
  ['', 'Key'],
  ['shadow', 'Shadow'],
  ['suggest', 'Suggest a policy'],
] as const;

function Known({ of: key, reload }: { of: Key; reload: () => void }) {
  const policies = useList<Policy>('/policies', 'policies', { limit: 1000 });
  const { query } = useLocation();
  const toolId = query['tools'];
  const view = toolId === undefined ? (VIEWS.find(([name]) => name === query['view'])?.[0] ?? '') : 'tools';
  const policyLink = (id: string) => (
    <PolicyLink id={id} policy={policies.data?.find(each => each.id === id)} />
  );
  const facts: [string, ComponentChildren][] = [
    ['State', <KeyState key="" of={key} />],
    ['Policy', policyLink(key.policyId)],
    ...(key.shadowPolicyId === null
      ? []
      : [['Shadow', policyLink(key.shadowPolicyId)] as [string, ComponentChildren]]),
    ['Last used', <LastUse key="" at={key.lastUsedAt} />],
    ['Expires', <Expiry key="" of={key} />],
    ['Approvals', key.requireSignInToApprove ? 'need a signed-in operator' : 'by link, or by an operator'],
    ['Approval links', <NotifyShown key="" of={key.notify} />],
    ['Also forwards', key.forward.length === 0 ? 'nothing but tools' : key.forward.join(', ')],
    ['At MCP clients', atClients(key)],
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
            <Actions
              of={key}
              policies={policies.data ?? []}
              waits={policies.data === undefined && policies.error === null}
              reload={reload}
            />
          )}
        </>
      }
    >
      <nav class="tabs" aria-label="This key">
        {VIEWS.map(([name, title]) => (
          <a
            key={name}
            href={`/dashboard/keys/${key.id}${queryOf({ view: name })}`}
            aria-current={name === view ? 'page' : undefined}
          >
            {title}
          </a>
        ))}
      </nav>
      {view === 'shadow' && <Shadow of={key} policies={policies.data ?? []} reload={reload} />}
      {view === 'suggest' && <Suggest of={key} />}
      {toolId !== undefined && <ToolsOf key={toolId} keyId={key.id} toolId={toolId} />}
      {view === '' && (
        <>
          <Panel title="About it">
            <Facts facts={facts} />
          </Panel>
          <OpenTo of={key} reload={reload} />
          <ConnectedTools of={key} />
          <Sessions keyId={key.id} />
        </>
      )}
    </Page>
  );
}

function Actions({
  of: key,
  policies,
  waits,
  reload,
}: {
  of: Key;
  policies: readonly Policy[];
  /** The policies to choose from are still being loaded. */
  waits: boolean;
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
      <button type="button" class="plain" disabled={waits} onClick={() => setOpen(true)}>
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
