// One run: its marks with the calls that gave them, and a way to clear them.

import type { ComponentChildren } from 'preact';
import { surfaceName } from '../../../../src/core/text/surface.ts';
import { announce } from '../../announce.ts';
import { post, Refusal } from '../../api.ts';
import { Confirm } from '../../components/dialog.tsx';
import { Facts, Page, Panel } from '../../components/page.tsx';
import { Empty, Loading, Problem } from '../../components/states.tsx';
import { type Column, Table } from '../../components/table.tsx';
import { Ago, Badge, Id, Left, Named, Time, Tool } from '../../components/text.tsx';
import { useLive } from '../../live.ts';
import { useGet } from '../../load.ts';
import { keyName, personName } from '../../names.ts';
import type { Run } from '../../resources.ts';
import { mayAdminister } from '../../session.ts';
import { addressOf } from '../audit/filters.ts';
import { runName } from './parts.tsx';

export function OneRun({ id }: { id: string }) {
  const { data, error, reload } = useGet<Run>(`/runs/${encodeURIComponent(id)}`);
  useLive({ gap: reload, verdict: ({ runId }) => runId === id && reload() });
  if (data !== undefined && !isUnknown(error)) return <Known of={data} error={error} reload={reload} />;
  return (
    <Page title="Run" lead={ALL}>
      {isUnknown(error) ? (
        <Empty title="There is no run with this id, or it has ended">
          What a run has read is forgotten when it ends. Its calls stay in the{' '}
          <a href="/dashboard/audit">audit log</a>.
        </Empty>
      ) : (
        <Problem error={error} retry={reload} />
      )}
      {error === null && <Loading />}
    </Page>
  );
}

const ALL = <a href="/dashboard/runs">All runs</a>;
const isUnknown = (error: Error | null) => error instanceof Refusal && error.status === 404;

type Mark = Run['marks'][number];

const COLUMNS: Column<Mark>[] = [
  { head: 'Mark', cell: ({ name }) => <Badge tone="pending">{name}</Badge> },
  {
    head: 'Given by the call',
    kind: 'wide',
    cell: ({ serverName, toolName, toolCallId }) => (
      <a href={addressOf({}, toolCallId)}>
        <Tool serverName={serverName} toolName={toolName} />
      </a>
    ),
  },
  { head: 'Since', cell: ({ since }) => <Time at={since} /> },
  {
    head: 'Actions',
    kind: 'actions',
    cell: ({ name }) => <a href={addressOf({ mark: name })}>Calls with this mark</a>,
  },
];

function Known({ of: run, error, reload }: { of: Run; error: Error | null; reload: () => void }) {
  return (
    <Page
      title={runName(run)}
      lead={ALL}
      actions={mayAdminister.value && run.marks.length > 0 && <Clear of={run} reload={reload} />}
    >
      <Problem error={error} retry={reload} />
      <Panel title="What it has read">
        {run.marks.length === 0 ? (
          <Empty title="Nothing that is marked">
            No call that gives marks was allowed in this run since its marks were last cleared.
          </Empty>
        ) : (
          <Table
            caption="Marks, with the calls that gave them"
            columns={COLUMNS}
            rows={run.marks}
            keyOf={each => each.name}
          />
        )}
      </Panel>
      <Panel title="About it">
        <Facts facts={factsOf(run)} />
      </Panel>
    </Page>
  );
}

function factsOf(run: Run): [string, ComponentChildren][] {
  const { keyId, sessionId, personId, known, dropped } = run;
  const more = dropped === 0 ? '' : `, and ${dropped.toLocaleString('en')} more than a run can have`;
  return [
    [
      'Key',
      <a key="" href={`/dashboard/keys/${keyId}`}>
        <Named text={keyName(keyId)} />
      </a>,
    ],
    ...(personId === undefined ? [] : [['Person', <Named key="" text={personName(personId)} />] as never]),
    ...(sessionId === undefined
      ? []
      : [
          [
            'Session',
            <span key="">
              <Id id={sessionId} /> <a href={addressOf({ sessionId })}>its calls</a>
            </span>,
          ] as never,
        ]),
    ['Begun on', surfaceName(run.surface)],
    ['Known values', `${known.toLocaleString('en')}${more}`],
    ['Last call (about)', <Ago key="" at={run.lastCallAt} />],
    ['Ends', <Left key="" until={run.endsAt} ended="ended" />],
    ['Id', <Id key="" id={run.runId} />],
  ];
}

function Clear({ of: { runId, marks }, reload }: { of: Run; reload: () => void }) {
  const clear = async () => {
    await post(`/runs/${runId}/clear`);
    announce('The marks are cleared.');
    reload();
  };
  return (
    <Confirm
      label="Clear the marks"
      title="Clear the marks of this run?"
      class="plain"
      action="Clear them"
      run={clear}
    >
      It loses {marks.map(({ name }) => name).join(', ')}: from then on its calls are decided as if it had
      read nothing so far. The agent still knows what it has read, so do this only if you know that nothing of
      it was meant to mislead. Known values stay known, and the change is recorded.
    </Confirm>
  );
}
