// The limits of a policy: what each allows, and who has used how much of it until when. An admin can reset a count.

import { announce } from '../../announce.ts';
import { post } from '../../api.ts';
import { Confirm } from '../../components/dialog.tsx';
import { Panel } from '../../components/page.tsx';
import { Empty, Shown } from '../../components/states.tsx';
import { type Column, More, Table } from '../../components/table.tsx';
import { Left, Named } from '../../components/text.tsx';
import { useList } from '../../load.ts';
import { keyName, sessionLabel } from '../../names.ts';
import type { UsedLimit, WholePolicy } from '../../resources.ts';
import { mayAdminister } from '../../session.ts';
import { limitWords } from './limit-words.ts';

export function LimitsPanel({ policy }: { policy: WholePolicy }) {
  const list = useList<UsedLimit>('/limits', 'limits', { policyId: policy.id });
  const reset = async ({ policyId, name, subject }: UsedLimit) => {
    await post('/limits/reset', { policyId, name, subject });
    announce(`Reset: ${name}`);
    list.reload();
  };
  return (
    <Panel title="Limits">
      <div class="stack">
        <dl class="limits">
          {Object.entries(policy.limits).map(([name, limit]) => (
            <div key={name}>
              <dt>
                <code>{name}</code>
              </dt>
              <dd>
                <Named text={limitWords(limit)} />
              </dd>
            </div>
          ))}
        </dl>
        <Shown of={list} empty={<Empty title="Nothing is used">Allowed calls that count appear here.</Empty>}>
          <Table
            caption="What is used of the limits"
            columns={columns(reset)}
            rows={list.data ?? []}
            keyOf={({ name, subject }) => `${name} ${subject}`}
          />
          <More more={list.more} />
        </Shown>
      </div>
    </Panel>
  );
}

function columns(reset: (used: UsedLimit) => Promise<void>): Column<UsedLimit>[] {
  return [
    { head: 'Limit', cell: ({ name }) => <code>{name}</code> },
    { head: 'Used by', kind: 'wide', cell: used => <Subject used={used} /> },
    { head: 'Used', kind: 'number', cell: ({ used, atMost }) => `${used} of ${atMost}` },
    { head: 'Counts for', cell: ({ windowEndsAt }) => <Left until={windowEndsAt} ended="ended" /> },
    {
      head: 'Actions',
      kind: 'actions',
      cell: used =>
        mayAdminister.value && (
          <Confirm label="Reset" title={`Reset the limit ${used.name}?`} run={() => reset(used)}>
            What <Subject used={used} /> has used of it no longer counts: {used.used} of {used.atMost} become
            free again. The record of changes keeps who did it.
          </Confirm>
        ),
    },
  ];
}

/** Who a count is for, by name where it is known. */
function Subject({ used: { per, subject } }: { used: UsedLimit }) {
  switch (per) {
    case 'key':
      return (
        <a href={`/dashboard/keys/${subject}`}>
          <Named text={keyName(subject)} />
        </a>
      );
    case 'session':
      return (
        <span>
          session <Named text={sessionLabel(subject, null) || subject} />
        </span>
      );
    case 'person':
      return <Named text={subject} />;
    case 'policy':
      return <>all keys of this policy</>;
  }
}
