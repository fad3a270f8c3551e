// Changes: who changed what in the administration, newest first, with links to what was changed.

import { answeredBy } from '../../../src/core/approvals/approval.ts';
import { Page } from '../components/page.tsx';
import { Empty, Shown } from '../components/states.tsx';
import { type Column, More, Table } from '../components/table.tsx';
import { Named, Time } from '../components/text.tsx';
import { useList } from '../load.ts';
import { keyName, personName, policyName, webhookName } from '../names.ts';
import type { Change } from '../resources.ts';
import { type NamesOf, nameOf, placeOf, restOf, whatHappened } from './changes/words.ts';

const COLUMNS: Column<Change>[] = [
  { head: 'Time', cell: ({ at }) => <Time at={at} /> },
  { head: 'Who', cell: ({ actor }) => <Named text={answeredBy(actor)} /> },
  { head: 'What', cell: change => <Named text={whatHappened(change.action)} /> },
  { head: 'Which', cell: change => <Which of={change} /> },
  { head: 'Details', cell: change => <Rest of={change} /> },
];

export default function Changes() {
  const list = useList<Change>('/changes', 'changes');
  return (
    <Page title="Changes" lead="Who changed what: policies, keys, operators, and answers to questions.">
      <section class="panel" aria-label="Changes">
        <Shown of={list} empty={<Empty title="Nothing has been changed yet" />}>
          <Table
            caption="Changes, newest first"
            columns={COLUMNS}
            rows={list.data ?? []}
            keyOf={each => each.id}
            compact
          />
          <More more={list.more} />
        </Shown>
      </section>
    </Page>
  );
}

function Which({ of: change }: { of: Change }) {
  const place = placeOf(change);
  const name = <Named text={nameOf(change) ?? nameByList(change) ?? `${change.target.slice(0, 8)}…`} />;
  const id = `Id: ${change.target}`;
  return place === null ? (
    <span title={id}>{name}</span>
  ) : (
    <a href={place} title={id}>
      {name}
    </a>
  );
}

/** What it is called now, since not every change says the name. */
function nameByList({ action, target, detail }: Change): string | null {
  if (action.startsWith('key.')) return keyName(target);
  if (['policy', 'limit', 'connect'].includes(action.split('.')[0] ?? '')) return policyName(target);
  if (action.startsWith('webhook.')) return webhookName(target);
  if (action.startsWith('delivery.')) return webhookName(String(detail['webhookId']));
  if (action.startsWith('operator.')) return personName(target);
  return null;
}

const NAMES: NamesOf = {
  policyId: policyName,
  shadowPolicyId: policyName,
  keyId: keyName,
  personId: personName,
  webhookId: webhookName,
};

function Rest({ of: change }: { of: Change }) {
  return (
    <div>
      {restOf(change, NAMES).map(each => (
        <p key={each} class="soft small">
          <Named text={each} />
        </p>
      ))}
    </div>
  );
}
