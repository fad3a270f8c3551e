// What the list of runs and the page of one have in common.

import { Badge, Named } from '../../components/text.tsx';
import { personName, sessionLabel } from '../../names.ts';
import type { Run } from '../../resources.ts';

/** What it is the run of: a name that was given, a session, a person's connection, or the key itself. */
export function RunName({ of: run }: { of: Run }) {
  return <Named text={runName(run)} />;
}

/** An id begins with its time, which is the same in those of one minute, so its end stands for a session without a label. */
export function runName({ name, sessionId, personId, keyId }: Run): string {
  const whose = personId === undefined ? '' : ` of ${personName(personId)}`;
  if (name !== undefined) return `${name}${whose}`;
  if (personId !== undefined) return `Connection${whose}`;
  if (sessionId === undefined) return 'The key itself';
  return `Session ${sessionLabel(sessionId, keyId) || `…${sessionId.slice(-8)}`}`;
}

export function Marks({ of: marks }: { of: Run['marks'] }) {
  if (marks.length === 0) return <span class="soft">nothing that is marked</span>;
  return (
    <span class="cluster">
      {marks.map(({ name }) => (
        <Badge key={name} tone="pending">
          {name}
        </Badge>
      ))}
    </span>
  );
}
