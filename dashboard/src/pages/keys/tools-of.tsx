// The tools of one Connected Tool of a key, to be looked at and accepted. Those of a server that keys share have their
// place on the page of the server.

import { Empty, Loading, Problem } from '../../components/states.tsx';
import { Named } from '../../components/text.tsx';
import { useList } from '../../load.ts';
import type { ConnectedTool } from '../../resources.ts';
import { Review } from '../tool-servers/tools/review.tsx';

export function ToolsOf({ keyId, toolId }: { keyId: string; toolId: string }) {
  const path = `/keys/${keyId}/connected-tools`;
  const { data, error, reload } = useList<ConnectedTool>(path, 'connectedTools');
  const tool = data?.find(({ id }) => id === toolId);
  if (data === undefined) return error === null ? <Loading /> : <Problem error={error} retry={reload} />;
  if (tool === undefined) return <Empty title="This key has no such server" />;
  if (tool.toolServerId !== null)
    return (
      <Empty title="Keys share this server">
        <a href={`/dashboard/tool-servers/${tool.toolServerId}`}>Look at its tools</a>
      </Empty>
    );
  return (
    <>
      <p>
        The tools of <Named text={tool.name} />, a server of this key.{' '}
        <a href={`/dashboard/keys/${keyId}`}>Back to the key</a>
      </p>
      <Review
        name={tool.name}
        path={`${path}/${toolId}`}
        round={0}
        empty="Test the server on the page of the key, or let a client connect to it."
      />
    </>
  );
}
