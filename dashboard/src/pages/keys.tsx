// Keys: the list, a form for a new one, and for each key its details, sessions and Connected Tools.

import { useEffect, useState } from 'preact/hooks';
import { useLocation, useRoute } from 'preact-iso';
import { Once } from '../components/once.tsx';
import { Page } from '../components/page.tsx';
import { Empty, Shown } from '../components/states.tsx';
import { type Column, More, Table } from '../components/table.tsx';
import { Ago, Named } from '../components/text.tsx';
import { lazy } from '../lazy.ts';
import { useLive } from '../live.ts';
import { useList } from '../load.ts';
import { loadKeys } from '../names.ts';
import type { Key, KeyWithSecret, Policy } from '../resources.ts';
import { mayAdminister } from '../session.ts';
import { Clients } from './keys/clients.tsx';
import { FirstCall } from './keys/first-call.tsx';
import { NewKey } from './keys/new.tsx';
import { DriftCount, Expiry, KeyState, LastUse, PolicyLink } from './keys/parts.tsx';

// The page of one key is large, and the list needs nothing of it.
const OneKey = lazy(() => import('./keys/one.tsx').then(({ OneKey }) => OneKey));

export default function Keys() {
  const id = useRoute().params['id'];
  return id === undefined ? <List /> : <OneKey key={id} id={id} />;
}

/** The columns, once the names of the policies are known. */
function columnsOf(policies: readonly Policy[]): Column<Key>[] {
  const policyLink = (id: string) => (
    <PolicyLink id={id} policy={policies.find(policy => policy.id === id)} />
  );
  return [
    {
      head: 'Name',
      cell: ({ id, name, prefix }) => (
        <span class="lines">
          <a href={`/dashboard/keys/${id}`}>
            <Named text={name} />
          </a>
          <code class="soft">{prefix}…</code>
        </span>
      ),
    },
    { head: 'State', cell: key => <KeyState of={key} /> },
    {
      head: 'Policy',
      cell: ({ id, policyId, shadowPolicyId }) => (
        <span class="lines">
          {policyLink(policyId)}
          {shadowPolicyId !== null && (
            <span class="soft">
              <a href={`/dashboard/keys/${id}?view=shadow`}>Shadow</a>: {policyLink(shadowPolicyId)}
            </span>
          )}
        </span>
      ),
    },
    { head: 'Last used', cell: ({ lastUsedAt }) => <LastUse at={lastUsedAt} /> },
    { head: 'Expires', cell: key => <Expiry of={key} /> },
    { head: 'Changed tools', cell: ({ id, driftedTools }) => <DriftCount keyId={id} count={driftedTools} /> },
    { head: 'Created', cell: ({ createdAt }) => <Ago at={createdAt} /> },
  ];
}

function List() {
  const list = useList<Key>('/keys', 'keys');
  const policies = useList<Policy>('/policies', 'policies', { limit: 1000 });
  const waits = policies.data === undefined && policies.error === null;
  const { query, route } = useLocation();
  const [made, setMade] = useState<KeyWithSecret | null>(null);
  useEffect(() => {
    if (made !== null) loadKeys().catch(() => {});
  }, [made]);
  useLive({
    gap: list.reload,
    verdict: ({ keyId, at }) =>
      list.change(all => all.map(key => (key.id === keyId ? { ...key, lastUsedAt: at } : key))),
  });
  const columns = columnsOf(policies.data ?? []);
  return (
    <Page
      title="Keys"
      lead="A key belongs to the person or team that runs an agent. Its policy decides what the agent may call."
      actions={
        mayAdminister.value && (
          <button type="button" onClick={() => route('/dashboard/keys?new')}>
            New key
          </button>
        )
      }
    >
      <section class="panel" aria-label="Keys">
        <Shown of={list} empty={<Empty title="There is no key">Make one for your first agent.</Empty>}>
          <Table
            caption="Keys, newest first"
            columns={columns}
            rows={list.data ?? []}
            keyOf={key => key.id}
          />
          <More more={list.more} />
        </Shown>
      </section>
      <NewKey
        open={'new' in query && mayAdminister.value && !waits}
        policies={policies.data ?? []}
        onClose={() => route('/dashboard/keys', true)}
        onMade={key => {
          setMade(key);
          list.reload();
        }}
      />
      <Once
        title="Your new key"
        name="key"
        secret={made?.key ?? null}
        use={made !== null && <UseKey of={made} />}
        onClose={() => {
          if (made !== null) route(`/dashboard/keys/${made.id}`);
        }}
      >
        Only its hash is stored: copy the key now, it is never shown again. Agents send it as{' '}
        <code>Authorization: Bearer …</code>, or read it from <code>TOOLGATE_API_KEY</code>.
      </Once>
    </Page>
  );
}

function UseKey({ of: { id, key, policyId, warnings = [] } }: { of: KeyWithSecret }) {
  return (
    <section class="stack" aria-label="Connect a client">
      {warnings.map(each => (
        <p key={each} class="notice">
          {each}
        </p>
      ))}
      <h3>Connect a client</h3>
      <Clients secret={key} policyId={policyId} />
      <FirstCall keyId={id} />
    </section>
  );
}
