// The deliveries of a webhook with their attempts. Those that failed for good can be sent again.

import { useEffect } from 'preact/hooks';
import { announce } from '../../announce.ts';
import { post } from '../../api.ts';
import { Panel } from '../../components/page.tsx';
import { Empty, Problem, Shown } from '../../components/states.tsx';
import { type Column, More, Table } from '../../components/table.tsx';
import { Ago, Badge, Id, Named, Time, type Tone } from '../../components/text.tsx';
import { useLive } from '../../live.ts';
import { useAction, useList } from '../../load.ts';
import type { Attempt, Delivery, Webhook } from '../../resources.ts';
import { mayAdminister } from '../../session.ts';

const TONE: Record<Delivery['status'], Tone> = { pending: 'pending', delivered: 'allow', failed: 'deny' };

const COLUMNS: Column<Delivery>[] = [
  { head: 'Time', cell: ({ eventId }) => <Time at={timeOf(eventId)} /> },
  { head: 'Event', cell: ({ type }) => type },
  { head: 'State', cell: ({ status }) => <Badge tone={TONE[status]}>{status}</Badge> },
  { head: 'Attempts', kind: 'wide', cell: delivery => <Attempts of={delivery} /> },
];

/** The time of an event, which is the beginning of its id, a UUID of version 7. */
function timeOf(id: string): string {
  return new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)).toISOString();
}

export function Deliveries({ webhook }: { webhook: Webhook }) {
  const list = useList<Delivery>(`/webhooks/${webhook.id}/deliveries`, 'deliveries', { limit: 25 });
  useLive({ approval: list.reload, gap: list.reload });
  useFollowing(list.data?.some(isDue) ?? false, list.data, list.reload);
  const { busy, error, run } = useAction();
  const again = ({ id }: Delivery) =>
    run(async () => {
      await post(`/deliveries/${id}/redeliver`);
      announce('It is sent again, from the start of the schedule.');
      list.reload();
    });
  const columns: Column<Delivery>[] = mayAdminister.value
    ? [
        ...COLUMNS,
        {
          head: 'Actions',
          kind: 'actions',
          cell: each => <Again disabled={busy} send={() => again(each)} />,
        },
      ]
    : COLUMNS;
  return (
    <Panel
      title="Deliveries"
      aside={
        <button type="button" class="plain small" onClick={list.reload}>
          Read again
        </button>
      }
    >
      <Problem error={error} />
      <Shown
        of={list}
        empty={<Empty title="Nothing was sent yet">The next waiting call appears here.</Empty>}
      >
        <Table
          caption="Deliveries, newest first"
          columns={columns}
          rows={list.data ?? []}
          keyOf={each => each.id}
        />
        <More more={list.more} />
      </Shown>
    </Panel>
  );
}

/** There are no live events about attempts, so the list is loaded again while deliveries are in progress. */
function useFollowing(active: boolean, shown: unknown, reload: () => void): void {
  useEffect(() => {
    if (!active) return;
    const timer = setTimeout(reload, FOLLOW_MS);
    return () => clearTimeout(timer);
  }, [active, shown]);
}

const FOLLOW_MS = 2000;
const SOON_MS = 60_000;

const isDue = ({ status, nextAttemptAt }: Delivery): boolean =>
  status === 'pending' && (nextAttemptAt === null || Date.parse(nextAttemptAt) < Date.now() + SOON_MS);

function Again({ disabled, send }: { disabled: boolean; send: () => void }) {
  return (
    <button type="button" class="plain small" disabled={disabled} onClick={send}>
      Redeliver
    </button>
  );
}

function Attempts({ of: { attempts, nextAttemptAt, referenceId } }: { of: Delivery }) {
  const last = attempts.at(-1);
  if (last === undefined) return <span class="soft">none yet</span>;
  return (
    <details class="attempts">
      <summary>
        {attempts.length === 1 ? '1 attempt' : `${attempts.length} attempts`}, the last <Ago at={last.at} />:{' '}
        <Named text={wordsFor(last)} />
      </summary>
      <ol>
        {attempts.map(each => (
          <li key={each.at}>
            <Time at={each.at} />: <Named text={wordsFor(each)} />
            {each.response && (
              <code class="response">
                <Named text={each.response} />
              </code>
            )}
          </li>
        ))}
      </ol>
      <p>
        Approval <Id id={referenceId} />
      </p>
      {nextAttemptAt !== null && (
        <p class="soft">
          The next one: <Time at={nextAttemptAt} />
        </p>
      )}
    </details>
  );
}

function wordsFor({ status, durationMs, error }: Attempt): string {
  const said = error ?? `answered ${status}`;
  return durationMs === 0 ? said : `${said} after ${durationMs} ms`;
}
