// Calls of which nobody knows whether they ran: they were forwarded, and it was never learned how they ended. Whoever
// has found out says so here, which settles them.

import { Panel } from '../../components/page.tsx';
import { type Column, Table } from '../../components/table.tsx';
import { Named, Time, Tool } from '../../components/text.tsx';
import { keyName } from '../../names.ts';
import type { UnknownCall } from '../../resources.ts';
import { mayResolve } from '../../session.ts';
import { addressOf } from '../audit/filters.ts';
import { Settle } from './settle.tsx';

/** The newest of them; older ones follow as these are settled. */
export function UnknownCalls({ calls, reload }: { calls: UnknownCall[]; reload: () => void }) {
  return (
    <Panel title="Not known whether they ran">
      <p>
        Toolgate forwarded these calls and never learned how they ended, mostly because it was stopped before
        the answer came. It does not run them again. Look at what their tools did, and say so here.
        {!mayResolve.value && ' Approvers and admins can.'}
      </p>
      <Table
        caption="Calls of which it is not known whether they ran"
        columns={mayResolve.value ? [...COLUMNS, settling(reload)] : COLUMNS}
        rows={calls}
        keyOf={call => call.toolCallId}
      />
    </Panel>
  );
}

const COLUMNS: Column<UnknownCall>[] = [
  {
    head: 'Tool',
    cell: ({ toolCallId, serverName, toolName }) => (
      <a href={addressOf({}, toolCallId)}>
        <Tool serverName={serverName} toolName={toolName} />
      </a>
    ),
  },
  { head: 'Key', cell: ({ keyId }) => <Named text={keyName(keyId)} /> },
  { head: 'Forwarded', cell: ({ at }) => <Time at={at} /> },
  { head: 'Unknown since', cell: ({ unknownSince }) => <Time at={unknownSince} /> },
];

const settling = (done: () => void): Column<UnknownCall> => ({
  head: 'Actions',
  kind: 'actions',
  cell: call => <Settle call={call} done={done} />,
});
