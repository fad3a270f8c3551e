// Webhooks: the receivers of events about approvals, and for each its deliveries.

import { useState } from 'preact/hooks';
import { useLocation, useRoute } from 'preact-iso';
import { Page } from '../components/page.tsx';
import { Empty, Shown } from '../components/states.tsx';
import { type Column, More, Table } from '../components/table.tsx';
import { Ago, Named } from '../components/text.tsx';
import { useList } from '../load.ts';
import { keyName } from '../names.ts';
import type { Webhook, WebhookWithSecret } from '../resources.ts';
import { mayAdminister } from '../session.ts';
import { NewWebhook } from './webhooks/form.tsx';
import { OneWebhook } from './webhooks/one.tsx';
import { SecretOnce, WebhookState } from './webhooks/parts.tsx';

export default function Webhooks() {
  const id = useRoute().params['id'];
  return id === undefined ? <List /> : <OneWebhook key={id} id={id} />;
}

const COLUMNS: Column<Webhook>[] = [
  {
    head: 'Address',
    kind: 'wide',
    cell: ({ id, url }) => (
      <a href={`/dashboard/webhooks/${id}`}>
        <Named text={url} />
      </a>
    ),
  },
  { head: 'State', cell: webhook => <WebhookState of={webhook} /> },
  { head: 'Hears of', cell: ({ keyId }) => (keyId === null ? 'every key' : <Named text={keyName(keyId)} />) },
  { head: 'Events', cell: ({ events }) => events.join(', ') },
  { head: 'Created', cell: ({ createdAt }) => <Ago at={createdAt} /> },
];

function List() {
  const list = useList<Webhook>('/webhooks', 'webhooks');
  const { query, route } = useLocation();
  const [made, setMade] = useState<WebhookWithSecret | null>(null);
  return (
    <Page
      title="Webhooks"
      lead="Signed events about approvals, sent at least once: this is how a program learns how a waiting call ended."
      actions={
        mayAdminister.value && (
          <button type="button" onClick={() => route('/dashboard/webhooks?new')}>
            New webhook
          </button>
        )
      }
    >
      <section class="panel" aria-label="Webhooks">
        <Shown
          of={list}
          empty={
            <Empty title="No webhook is registered">
              Register the address of a program that goes on when a waiting call is answered.
            </Empty>
          }
        >
          <Table
            caption="Webhooks, newest first"
            columns={COLUMNS}
            rows={list.data ?? []}
            keyOf={each => each.id}
          />
          <More more={list.more} />
        </Shown>
      </section>
      <NewWebhook
        open={'new' in query && mayAdminister.value}
        onClose={() => route('/dashboard/webhooks', true)}
        onMade={webhook => {
          setMade(webhook);
          list.reload();
        }}
      />
      <SecretOnce
        secret={made?.secret ?? null}
        onClose={() => {
          if (made !== null) route(`/dashboard/webhooks/${made.id}`);
        }}
      />
    </Page>
  );
}
