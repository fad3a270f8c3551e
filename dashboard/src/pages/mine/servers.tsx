// My servers: those that want each person's own sign-in, behind the keys that are open to the signed-in person. Shown on
// the page of their connections, and only to people who have such a server.

import { Panel } from '../../components/page.tsx';
import { SignInActions, SignInState } from '../../components/server-sign-in.tsx';
import { Problem } from '../../components/states.tsx';
import { Named } from '../../components/text.tsx';
import { useList } from '../../load.ts';
import type { MyServer } from '../../resources.ts';

export function MyServers() {
  const { data = [], error, reload } = useList<MyServer>('/me/servers', 'servers');
  if (data.length === 0) return <Problem error={error} retry={reload} />;
  return (
    <Panel title="My servers">
      <p class="soft">These servers want your own account. Calls that you make through a client use it.</p>
      <Problem error={error} retry={reload} />
      <ul class="servers">
        {data.map(server => (
          <Server key={server.id} of={server} reload={reload} />
        ))}
      </ul>
    </Panel>
  );
}

function Server({ of: server, reload }: { of: MyServer; reload: () => void }) {
  const path = `/me/servers/${server.id}`;
  return (
    <li class="server">
      <header>
        <h3>
          <Named text={server.name} />
        </h3>
        <div class="actions">
          <SignInActions
            name={server.name}
            of={server.signIn}
            connect={`${path}/connect`}
            signOut={path}
            onSignedOut={reload}
            consequence="Your calls to this server fail until you sign in again."
          />
        </div>
      </header>
      <p class="soft">
        for the key <Named text={server.keyName} />, at <Named text={server.url} />
      </p>
      <SignInState of={server.signIn} />
    </li>
  );
}
