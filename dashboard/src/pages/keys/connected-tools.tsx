// The MCP servers of a key: their state, the tools they offer, and which of those changed since they were accepted.
// connect.tsx adds one, choose-server.tsx one that keys share; server-actions.tsx has what can be done with one; tools.tsx shows
// its tools, and tools-of.tsx what they say.

import { useEffect } from 'preact/hooks';
import { Panel } from '../../components/page.tsx';
import { SignInState } from '../../components/server-sign-in.tsx';
import { Empty, Shown } from '../../components/states.tsx';
import { Badge, Named } from '../../components/text.tsx';
import { useList } from '../../load.ts';
import type { ConnectedTool, Key } from '../../resources.ts';
import { mayAdminister } from '../../session.ts';
import { ServerState } from '../tool-servers/parts.tsx';
import { ChooseServer } from './choose-server.tsx';
import { Connect } from './connect.tsx';
import { type Contacts, type Found, foundWords, isReachable, useContacts } from './contact.ts';
import type { Foresee } from './foresee.ts';
import { ServerActions } from './server-actions.tsx';
import { Tools } from './tools.tsx';
import { useOutlook } from './use-outlook.ts';

export function ConnectedTools({ of: key }: { of: Key }) {
  const keyId = key.id;
  const outlook = useOutlook(key);
  const list = useList<ConnectedTool>(`/keys/${keyId}/connected-tools`, 'connectedTools');
  const contacts = useContacts(`/keys/${keyId}/connected-tools`, list.reload);
  const added = (server: ConnectedTool) => {
    list.reload();
    if (isReachable(server)) contacts.contact(server);
  };
  return (
    <Panel title="Connected Tools" aside={mayAdminister.value && <Ways keyId={keyId} onAdded={added} />}>
      <Shown
        of={list}
        empty={
          <Empty title="No MCP server is connected">
            Add one, point the agent’s MCP client to <code>/mcp</code>, and every call is checked before it is
            forwarded.
          </Empty>
        }
      >
        <ul class="servers">
          {list.data?.map(tool => (
            <Server
              key={tool.id}
              keyId={keyId}
              tool={tool}
              outlook={outlook}
              contacts={contacts}
              reload={list.reload}
            />
          ))}
        </ul>
      </Shown>
    </Panel>
  );
}

function Ways(props: { keyId: string; onAdded: (server: ConnectedTool) => void }) {
  return (
    <div class="actions">
      <ChooseServer {...props} />
      <Connect {...props} />
    </div>
  );
}

interface ServerProps {
  keyId: string;
  tool: ConnectedTool;
  outlook: Foresee | null;
  contacts: Contacts;
  reload: () => void;
}

function Server({ keyId, tool, outlook, contacts, reload }: ServerProps) {
  const found = contacts.found[tool.id];
  /** Without a sign-in there is no connection whose state could be shown. */
  const waits = tool.signIn !== null && tool.signIn.state !== 'signed_in';
  const path = `/keys/${keyId}/connected-tools/${tool.id}`;
  const look =
    tool.toolServerId === null
      ? `/dashboard/keys/${keyId}?tools=${tool.id}`
      : `/dashboard/tool-servers/${tool.toolServerId}`;
  useToolsAfterSignIn(tool, contacts);
  return (
    <li class="server">
      <header>
        <h3>
          <Named text={tool.name} /> {!waits && <ServerState of={tool} />}{' '}
          {tool.toolServerId !== null && <Badge tone="accent">shared</Badge>}
        </h3>
        {mayAdminister.value && <ServerActions path={path} tool={tool} contacts={contacts} reload={reload} />}
      </header>
      <p class="soft">
        {tool.transport}: <Named text={tool.url ?? tool.server ?? ''} />
        {tool.hasHeaders && ' (with headers of its own, which are not shown)'}
      </p>
      {tool.oauth?.as === 'person' && <p class="soft">Everybody signs in to it for themselves.</p>}
      {waits && (
        <p class="soft">
          Everybody who uses this key will act at the server with the account that an admin signs in with
          {tool.toolServerId !== null && ', as everybody does who uses another key of this server'}.
        </p>
      )}
      {tool.signIn !== null && <SignInState of={tool.signIn} />}
      {found !== undefined && <Result of={found} />}
      {found === undefined && !waits && tool.health.error !== null && (
        <p class="failed">
          <Named text={tool.health.error} />
        </p>
      )}
      <Tools of={tool} outlook={outlook} />
      <p>
        <a href={look}>Look at its tools</a>
        <span class="soft">
          {tool.toolServerId !== null &&
            ' on the page of the server, where it is also changed and signed in to: other keys can use it too.'}
          {tool.trust === 'reviewed' &&
            ' Whatever the policy allows, calls of a tool wait, or are denied, until somebody has accepted it.'}
        </span>
      </p>
      <Drifted of={tool} look={look} />
    </li>
  );
}

function Drifted({ of: { tools }, look }: { of: ConnectedTool; look: string }) {
  const drifted = tools.filter(each => each.drifted).length;
  if (drifted === 0) return null;
  return (
    <p class="notice drift">
      <span>
        {drifted === 1 ? 'One tool is' : `${drifted} tools are`} no longer what was accepted.{' '}
        <a href={look}>See what changed</a>
      </span>
    </p>
  );
}

/** Whoever comes back from signing in sees the tools without asking for them. */
function useToolsAfterSignIn(tool: ConnectedTool, { found, contact }: Contacts): void {
  const unknown =
    mayAdminister.value &&
    tool.signIn?.state === 'signed_in' &&
    tool.tools.length === 0 &&
    !(tool.id in found);
  useEffect(() => {
    if (unknown) contact(tool);
  }, [unknown]);
}

function Result({ of }: { of: Found }) {
  if (of === 'asked') return <p class="soft">It is being contacted…</p>;
  return (
    <p class={of.ok ? undefined : 'failed'}>
      <Named text={foundWords(of)} />
    </p>
  );
}
