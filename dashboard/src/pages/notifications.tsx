// Notifications: whether the messages about waiting calls reach people, for each channel, and a test message.

import { announce } from '../announce.ts';
import { post } from '../api.ts';
import { Page } from '../components/page.tsx';
import { LastError, SendingState } from '../components/sending.tsx';
import { Empty, Problem, Shown } from '../components/states.tsx';
import { type Column, Table } from '../components/table.tsx';
import { Ago, Named } from '../components/text.tsx';
import { useAction, useGet } from '../load.ts';
import type { NotificationChannel, NotificationTest } from '../resources.ts';
import { mayAdminister } from '../session.ts';

export default function Notifications() {
  const { data, error, loading, reload } = useGet<{ channels: NotificationChannel[] }>(
    '/notifications/channels',
  );
  const channels = data?.channels;
  return (
    <Page
      title="Notifications"
      lead="Whether messages about waiting calls reach people. Figures are of each channel’s newest 100 messages."
      actions={
        <button type="button" class="plain" onClick={reload}>
          Refresh
        </button>
      }
    >
      <section class="panel" aria-label="Channels">
        <Shown of={{ data: channels, error, loading, reload }} empty={<NoChannel />}>
          <Table
            caption="Channels"
            columns={mayAdminister.value ? [...COLUMNS, TEST] : COLUMNS}
            rows={channels ?? []}
            keyOf={({ name, type }) => `${name} ${type}`}
          />
        </Shown>
      </section>
    </Page>
  );
}

/** What is shown for types that have no address. */
const WITHOUT_ADDRESS: Partial<Record<NotificationChannel['type'], string>> = {
  terminal: 'the output of the service',
};

const COLUMNS: Column<NotificationChannel>[] = [
  { head: 'Channel', cell: ({ name }) => <Named text={name} /> },
  { head: 'Type', cell: ({ type }) => type },
  { head: 'To', cell: ({ type, target }) => <Named text={target ?? WITHOUT_ADDRESS[type] ?? ''} /> },
  { head: 'State', cell: channel => <SendingState of={channel} /> },
  { head: 'Messages', cell: channel => countsOf(channel) },
  { head: 'Last sent', cell: ({ lastSentAt }) => (lastSentAt === null ? 'never' : <Ago at={lastSentAt} />) },
  { head: 'Last error', cell: channel => <LastError of={channel} /> },
];

/** Counts of zero are left out. */
function countsOf({ sent, waiting, failed }: NotificationChannel): string {
  const counts = [
    [sent, 'sent'],
    [waiting, 'waiting'],
    [failed, 'given up'],
  ] as const;
  return counts.flatMap(([count, what]) => (count === 0 ? [] : [`${count} ${what}`])).join(', ') || 'none';
}

const TEST: Column<NotificationChannel> = {
  head: 'Test',
  kind: 'actions',
  cell: channel => channel.type !== 'terminal' && <Test of={channel} />,
};

/** A channel is tested by its name; `default` may have several types, and each of them gets a message. */
function Test({ of: { name, type } }: { of: NotificationChannel }) {
  const { busy, error, run } = useAction();
  const send = () =>
    run(async () => {
      const { results } = await post<NotificationTest>(`/notifications/channels/${name}/test`);
      const failed = results.find(each => each.type === type && each.error !== null);
      if (failed !== undefined) throw new Error(`Not sent: ${failed.error}.`);
      announce(`The test message by ${name} was sent.`);
    });
  return (
    <>
      <button type="button" class="plain small" disabled={busy} onClick={send}>
        Send a test
      </button>
      <Problem error={error} />
    </>
  );
}

function NoChannel() {
  return (
    <Empty title="Nobody is told about waiting calls">
      Set a mail server, a Slack webhook or a notifier in the settings, or declare channels in the server
      file.
    </Empty>
  );
}
