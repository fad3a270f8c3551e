// A command of the server file: how it is declared, and what the machine of the service enforces of its sandbox. Arguments
// and the values of variables may be secret, so they are never shown.

import { Problem } from '../../components/states.tsx';
import { Badge, Named } from '../../components/text.tsx';
import { useGet } from '../../load.ts';
import type { Server, ServerFile } from '../../resources.ts';

type DeclaredCommand = ServerFile['stdioServers'][number];

export function Declared({ name }: { name: string }) {
  const { data, error } = useGet<ServerFile>('/server-file');
  if (data === undefined) return <Problem error={error} />;
  const found = data.stdioServers.find(each => each.name === name);
  if (found === undefined)
    return <p class="failed">The server file of this replica does not declare it any more.</p>;
  return (
    <>
      <span class="hint">
        Starts <Named text={found.command} /> with{' '}
        {found.args === 1 ? '1 argument' : `${found.args} arguments`}
        {found.env.length > 0 && ` and the variables ${found.env.join(', ')}`}.
      </span>
      {found.sandbox !== null && <Limits of={found.sandbox} />}
    </>
  );
}

function Limits({
  of: { read, write, network, memory, processes },
}: {
  of: NonNullable<DeclaredCommand['sandbox']>;
}) {
  const limits = [
    read !== null && `reads ${listed(read)}`,
    write !== null && `writes ${listed(write)}`,
    !network && 'no network',
    memory !== null && `${Math.round(memory / 1024 ** 2)} MiB of memory`,
    processes !== null && (processes === 1 ? '1 process' : `${processes} processes`),
  ].filter(each => each !== false);
  return <span class="hint">Its sandbox: {limits.join('; ')}.</span>;
}

const listed = (paths: readonly string[]): string => (paths.length === 0 ? 'nothing' : paths.join(', '));

export function Enforced({ of: sandbox }: { of: Server['sandbox'] }) {
  if (sandbox === null)
    return (
      <span class="lines">
        no
        <span class="hint">
          It may do what the service may do. A <code>sandbox</code> in the server file limits it.
        </span>
      </span>
    );
  const { enforced, notEnforced } = sandbox;
  return (
    <div class="lines">
      {enforced.length > 0 && (
        <p>
          <Badge tone="allow">enforced</Badge> {enforced.join(', ')}
        </p>
      )}
      {notEnforced.map(({ what, why }) => (
        <p key={what}>
          <Badge tone="deny">not enforced</Badge> {what}: <Named text={why} />
        </p>
      ))}
    </div>
  );
}
