// One webhook: a test event, its secret, switching it on and off, and its deliveries.

import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { announce } from '../../announce.ts';
import { patch, post, remove } from '../../api.ts';
import { Confirm } from '../../components/dialog.tsx';
import { Facts, Page, Panel } from '../../components/page.tsx';
import { Empty, Loading, Problem } from '../../components/states.tsx';
import { Id, Named, Time } from '../../components/text.tsx';
import { useAction, useList } from '../../load.ts';
import { keyName } from '../../names.ts';
import type { Webhook, WebhookTest, WebhookWithSecret } from '../../resources.ts';
import { mayAdminister } from '../../session.ts';
import { Deliveries } from './deliveries.tsx';
import { ChangeWebhook } from './form.tsx';
import { SecretOnce, WebhookState } from './parts.tsx';

export function OneWebhook({ id }: { id: string }) {
  const { data, error, reload } = useList<Webhook>('/webhooks', 'webhooks', { limit: 1000 });
  const webhook = data?.find(each => each.id === id);
  if (webhook !== undefined) return <Known of={webhook} reload={reload} />;
  return (
    <Page title="Webhook" lead={<a href="/dashboard/webhooks">All webhooks</a>}>
      <Problem error={error} retry={reload} />
      {data === undefined ? <Loading /> : <Empty title="There is no webhook with this id" />}
    </Page>
  );
}

function Known({ of: webhook, reload }: { of: Webhook; reload: () => void }) {
  return (
    <Page
      title={new URL(webhook.url).host}
      lead={<a href="/dashboard/webhooks">All webhooks</a>}
      actions={mayAdminister.value && <Actions of={webhook} reload={reload} />}
    >
      <Panel title="About it">
        <Facts
          facts={[
            ['Address', <Named key="" text={webhook.url} />],
            ['State', <WebhookState key="" of={webhook} />],
            [
              'Hears of',
              webhook.keyId === null ? 'every key' : <Named key="" text={keyName(webhook.keyId)} />,
            ],
            ['Events', webhook.events.join(', ')],
            ['Created', <Time key="" at={webhook.createdAt} />],
            ...(webhook.previousSecretUntil === null
              ? []
              : [['Secret before', <OldSecret key="" until={webhook.previousSecretUntil} />] as never]),
            ['Id', <Id key="" id={webhook.id} />],
          ]}
        />
        {mayAdminister.value && <Trial of={webhook} />}
      </Panel>
      <Deliveries webhook={webhook} />
    </Page>
  );
}

function OldSecret({ until }: { until: string }) {
  return (
    <span>
      signs too until <Time at={until} />
    </span>
  );
}

/** Sends an event of type webhook.test now. */
function Trial({ of: webhook }: { of: Webhook }) {
  const { busy, error, run } = useAction();
  const [tried, setTried] = useState<WebhookTest | null>(null);
  const send = () => {
    setTried(null);
    return run(async () => setTried(await post<WebhookTest>(`/webhooks/${webhook.id}/test`)));
  };
  return (
    <div class="stack">
      <div class="actions">
        <button type="button" class="plain small" disabled={busy} onClick={send}>
          {busy ? 'Sending…' : 'Send a test event'}
        </button>
        <p role="status" class={tried?.error ? 'failed aligned' : 'aligned'}>
          {tried !== null && <Named text={wordsFor(tried)} />}
        </p>
      </div>
      <Problem error={error} />
    </div>
  );
}

function wordsFor({ status, durationMs, error }: WebhookTest): string {
  if (error === null) return `It answered ${status} after ${durationMs} ms.`;
  return `It failed after ${durationMs} ms: ${error}`;
}

function Actions({ of: webhook, reload }: { of: Webhook; reload: () => void }) {
  const [changing, setChanging] = useState(false);
  const [secret, setSecret] = useState<string | null>(null);
  const { route } = useLocation();
  const path = `/webhooks/${webhook.id}`;
  const turn = async (enabled: boolean) => {
    await patch(path, { enabled });
    announce(enabled ? 'Switched on.' : 'Switched off.');
    reload();
  };
  const rotate = async () => {
    setSecret((await post<WebhookWithSecret>(`${path}/rotate-secret`)).secret);
    reload();
  };
  const destroy = async () => {
    await remove(path);
    announce('Deleted.');
    route('/dashboard/webhooks', true);
  };
  return (
    <>
      <button type="button" class="plain" onClick={() => setChanging(true)}>
        Change
      </button>
      <ChangeWebhook of={webhook} open={changing} onClose={() => setChanging(false)} onChanged={reload} />
      <Confirm label="New secret" title="Give it a new secret?" action="Make it" class="plain" run={rotate}>
        The new secret is shown once. The old one signs too for 24 hours, so that the receiver can change
        over.
      </Confirm>
      {webhook.enabled ? (
        <Confirm label="Switch off" title="Switch it off?" class="plain" run={() => turn(false)}>
          Nothing more is sent to it. Deliveries that wait for it count as failed and can be redelivered
          later.
        </Confirm>
      ) : (
        <button type="button" class="plain" onClick={() => turn(true)}>
          Switch on
        </button>
      )}
      <Confirm label="Delete" title="Delete this webhook?" class="plain" run={destroy}>
        <Named text={webhook.url} /> receives no more events, and its deliveries can no longer be seen.
      </Confirm>
      <SecretOnce secret={secret} onClose={() => setSecret(null)} />
    </>
  );
}
