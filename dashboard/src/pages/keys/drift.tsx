// A tool whose definition differs from the accepted one: shows the change and accepts it.

import { diffLines } from '../../../../src/core/text/diff.ts';
import { safeJson, visible } from '../../../../src/core/text/visible.ts';
import { announce } from '../../announce.ts';
import { post } from '../../api.ts';
import { Confirm } from '../../components/dialog.tsx';
import { Difference } from '../../components/difference.tsx';
import { Loading, Problem } from '../../components/states.tsx';
import { Time } from '../../components/text.tsx';
import { useList } from '../../load.ts';
import type { Definition } from '../../resources.ts';
import { mayAdminister } from '../../session.ts';

interface DriftProps {
  keyId: string;
  connectedToolId: string;
  toolName: string;
  onAccepted: () => void;
}

export function Drift({ keyId, connectedToolId, toolName, onAccepted }: DriftProps) {
  const path = `/keys/${keyId}/connected-tools/${connectedToolId}`;
  const { data, error, reload } = useList<Definition>(`${path}/definitions`, 'definitions');
  const definition = data?.find(each => each.name === toolName);
  const accept = async () => {
    // This accepts only the definition that is shown here, not a later one.
    const shown = { tool: toolName, digest: definition?.changedDigest };
    try {
      await post(`${path}/accept`, shown);
    } catch (error) {
      reload();
      throw error;
    }
    announce(`Accepted: ${toolName}`);
    onAccepted();
  };
  return (
    <div class="notice drift">
      <p>
        <b>{visible(toolName)}</b> is no longer the tool that was accepted
        {definition?.changedAt && (
          <>
            {' '}
            (since <Time at={definition.changedAt} />)
          </>
        )}
        .
      </p>
      <Problem error={error} />
      {data === undefined && error === null && <Loading lines={2} />}
      {definition !== undefined && (
        <Difference lines={diffLines(linesOf(definition.accepted), linesOf(definition.changed))} />
      )}
      {mayAdminister.value && definition !== undefined && (
        <Confirm
          label="Accept the change"
          title={`Accept the new ${visible(toolName)}?`}
          action="Accept"
          run={accept}
        >
          The definition as it is shown here becomes the one that later changes are compared with.
        </Confirm>
      )}
    </div>
  );
}

const linesOf = (definition: Record<string, unknown> | null): string[] =>
  safeJson(definition ?? {}, 2).split('\n');
