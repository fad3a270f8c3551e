// The columns of lists that say which calls are decided one way and would be decided another, with examples.

import type { Decision } from '../resources.ts';
import type { Column } from './table.tsx';
import { DecisionBadge, Tool } from './text.tsx';

export interface ChangedCalls {
  serverName: string;
  toolName: string;
  from: Decision;
  to: Decision;
  calls: number;
  /** Ids of audit entries. */
  examples: string[];
}

export const TOOL_COLUMN: Column<ChangedCalls> = {
  head: 'Tool',
  cell: ({ serverName, toolName }) => <Tool serverName={serverName} toolName={toolName} />,
};

export const CHANGE_COLUMNS: Column<ChangedCalls>[] = [
  {
    head: 'Change',
    cell: ({ from, to }) => (
      <span class="turn">
        <DecisionBadge decision={from} /> → <DecisionBadge decision={to} />
      </span>
    ),
  },
  { head: 'Calls', kind: 'number', cell: ({ calls }) => calls.toLocaleString('en') },
  {
    head: 'Examples',
    cell: ({ examples }) => (
      <span class="cluster">
        {examples.map((id, at) => (
          <a key={id} href={`/dashboard/audit?entry=${id}`}>
            <span class="unseen">Audit entry </span>
            {at + 1}
          </a>
        ))}
      </span>
    ),
  },
];
