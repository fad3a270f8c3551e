// The audit log: every verdict, newest first, with the filters in the address. New entries are inserted while the top
// of the list is in view; otherwise they are only counted, so that nothing moves under the reader.

import { useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { queryOf } from '../api.ts';
import { Page } from '../components/page.tsx';
import { Empty, Shown } from '../components/states.tsx';
import { type Column, More, Table } from '../components/table.tsx';
import { DecisionBadge, Named, Time, Tool } from '../components/text.tsx';
import { useLive } from '../live.ts';
import { useList } from '../load.ts';
import { keyName, personName } from '../names.ts';
import type { AuditEntry } from '../resources.ts';
import { Details } from './audit/details.tsx';
import { FilterBar } from './audit/filter-bar.tsx';
import { addressOf, askedOf, type Filters, filtersIn, isAmong } from './audit/filters.ts';
import { ExactOnly, isMeant, useMeaning } from './audit/tool-filter.tsx';

/** The most entries on the page at once; older ones need a click. */
const MOST_SHOWN = 500;
const NEAR_TOP = 300;

export default function Audit() {
  const { query, route } = useLocation();
  const filters = filtersIn(query);
  const asked = useAsked(filters);
  const list = useList<AuditEntry>('/audit', 'entries', asked);
  const meaning = useMeaning(filters.tool);
  const [waiting, setWaiting] = useState(0);
  const reload = () => {
    setWaiting(0);
    list.reload();
  };
  useLive({
    gap: reload,
    verdict: entry => {
      if (!isAmong(entry, filters) || !isMeant(filters.tool, meaning, entry)) return;
      if (window.scrollY > NEAR_TOP) setWaiting(count => count + 1);
      else list.change(entries => withNew(entries, entry));
    },
  });
  const opened = query['entry'];
  const close = useClose(opened, () => route(addressOf(filters), true));
  return (
    <Page
      title="Audit"
      lead="Every verdict, recorded before it was given. Arguments are not recorded."
      actions={<Export query={queryOf(asked)} />}
    >
      <FilterBar filters={filters} change={changed => route(addressOf(changed))} />
      <ExactOnly filters={filters} meaning={meaning} />
      {waiting > 0 && (
        <button
          type="button"
          class="plain fresh"
          onClick={() => {
            scrollTo(0, 0);
            reload();
          }}
        >
          {waiting === 1 ? 'Show 1 new entry' : `Show ${waiting} new entries`}
        </button>
      )}
      <section class="panel" aria-label="Entries">
        <Shown of={list} empty={<NoEntries filtered={Object.keys(filters).length > 0} />}>
          <Table
            caption="Audit entries, newest first"
            columns={columnsOf(filters)}
            rows={list.data ?? []}
            keyOf={entry => entry.id}
            current={entry => entry.id === opened}
            compact
          />
          <More more={list.more} />
        </Shown>
      </section>
      {opened !== undefined && <Details key={opened} id={opened} onClose={close} />}
    </Page>
  );
}

/** Details opened from the list close by going back; details opened by a link have no page to go back to. */
function useClose(opened: string | undefined, leave: () => void): () => void {
  const direct = useRef(opened !== undefined);
  if (opened === undefined) direct.current = false;
  return () => (direct.current ? leave() : history.back());
}

/** A relative time span is fixed when it is chosen, so that older pages continue with the same span. */
function useAsked(filters: Filters) {
  const key = queryOf(filters);
  const kept = useRef({ key, asked: askedOf(filters, Date.now()) });
  if (kept.current.key !== key) kept.current = { key, asked: askedOf(filters, Date.now()) };
  return kept.current.asked;
}

function withNew(entries: AuditEntry[], entry: AuditEntry): AuditEntry[] {
  if (entries.some(each => each.id === entry.id)) return entries;
  return [entry, ...entries].slice(0, Math.max(MOST_SHOWN, entries.length));
}

function columnsOf(filters: Filters): Column<AuditEntry>[] {
  return [
    {
      head: 'Time',
      cell: ({ id, at }) => (
        <a href={addressOf(filters, id)}>
          <Time at={at} />
        </a>
      ),
    },
    { head: 'Decision', cell: ({ decision }) => <DecisionBadge decision={decision} /> },
    {
      head: 'Tool',
      cell: ({ serverName, toolName }) => <Tool serverName={serverName} toolName={toolName} />,
    },
    { head: 'Key', cell: entry => <Caller of={entry} /> },
    { head: 'Reason', kind: 'wide', cell: ({ reason }) => <Named text={reason} /> },
    { head: 'Took', kind: 'number', cell: ({ latencyMs }) => `${latencyMs} ms` },
  ];
}

/** The key, and the person if one signed in: most calls have none, so they get no column of their own. */
function Caller({ of: { keyId, personId } }: { of: AuditEntry }) {
  return (
    <div>
      <Named text={keyName(keyId)} />
      {personId !== undefined && (
        <p class="soft small">
          for <Named text={personName(personId)} />
        </p>
      )}
    </div>
  );
}

function NoEntries({ filtered }: { filtered: boolean }) {
  if (filtered) return <Empty title="No entry matches">Change a filter, or clear them all.</Empty>;
  return (
    <Empty title="No verdict yet">
      Ask for one with a key: <code>toolgate check github create_issue</code>
    </Empty>
  );
}

function Export({ query }: { query: string }) {
  const address = (format: string) =>
    `/admin/v1/audit/export${query}${query === '' ? '?' : '&'}format=${format}`;
  return (
    <>
      <a class="button plain small" href={address('csv')} download="toolgate-audit.csv">
        Export CSV
      </a>
      <a class="button plain small" href={address('jsonl')} download="toolgate-audit.jsonl">
        Export JSON lines
      </a>
    </>
  );
}
