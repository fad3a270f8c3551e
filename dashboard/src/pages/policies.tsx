// Policies: the list, and for each policy the editor with its versions. The keys say which policy they use.

import { useEffect } from 'preact/hooks';
import { useRoute } from 'preact-iso';
import { Page } from '../components/page.tsx';
import { Empty, Shown } from '../components/states.tsx';
import { type Column, More, Table } from '../components/table.tsx';
import { Ago, Named } from '../components/text.tsx';
import { lazy } from '../lazy.ts';
import { useList } from '../load.ts';
import { loadKeys } from '../names.ts';
import type { Policy } from '../resources.ts';
import { mayAdminister } from '../session.ts';
import { usersOf } from './policies/users.ts';

// The policy parser and the editor are large, and the list needs neither.
const NewPolicy = lazy(() => import('./policies/new.tsx').then(({ NewPolicy }) => NewPolicy));
const OnePolicy = lazy(() => import('./policies/one.tsx').then(({ OnePolicy }) => OnePolicy));

export default function Policies() {
  const id = useRoute().params['id'];
  useEffect(() => {
    loadKeys().catch(() => {});
  }, []);
  if (id === 'new') return <NewPolicy />;
  return id === undefined ? <List /> : <OnePolicy key={id} id={id} />;
}

const COLUMNS: Column<Policy>[] = [
  {
    head: 'Name',
    cell: ({ id, name }) => (
      <a href={`/dashboard/policies/${id}`}>
        <Named text={name} />
      </a>
    ),
  },
  { head: 'Description', kind: 'wide', cell: ({ description }) => <Named text={description} /> },
  { head: 'Version', kind: 'number', cell: ({ version }) => version },
  { head: 'Keys', kind: 'number', cell: ({ id }) => usersOf(id).length },
  { head: 'Changed', cell: ({ updatedAt }) => <Ago at={updatedAt} /> },
];

function List() {
  const list = useList<Policy>('/policies', 'policies');
  const create = mayAdminister.value && (
    <a class="button" href="/dashboard/policies/new">
      New policy
    </a>
  );
  return (
    <Page
      title="Policies"
      lead="Ordered rules: the first that matches a tool decides; what no rule matches is denied."
      actions={create}
    >
      <section class="panel" aria-label="Policies">
        <Shown of={list} empty={<Empty title="There is no policy">Make one, then attach a key to it.</Empty>}>
          <Table caption="Policies" columns={COLUMNS} rows={list.data ?? []} keyOf={each => each.id} />
          <More more={list.more} />
        </Shown>
      </section>
    </Page>
  );
}
