// The MCP servers of a key: their state, the tools they offer, and which of those changed since they were accepted.
// connect.tsx adds one; edit.tsx changes one; contact.ts contacts one; tools.tsx shows its tools; drift.tsx compares
// definitions.

import { useEffect } from 'preact/hooks';
import { announce } from '../../announce.ts';
import { remove } from '../../api.ts';
import { Confirm } from '../../components/dialog.tsx';
import { Panel } from '../../components/page.tsx';
import { SignInActions, SignInState } from '../../components/server-sign-in.tsx';
import { Empty, Shown } from '../../components/states.tsx';
import { Badge, Named, type Tone } from '../../components/text.tsx';
import { useList } from '../../load.ts';
import type { ConnectedTool, Key } from '../../resources.ts';
import { mayAdminister } from '../../session.ts';
import { Connect } from './connect.tsx';
import { type Contacts, type Found, foundWords, isReachable, useContacts } from './contact.ts';
import { Drift } from './drift.tsx';
import { Edit } from './edit.tsx';
import type { Foresee } from './foresee.ts';
import { Tools } from './tools.tsx';
import { useOutlook } from './use-outlook.ts';

export function ConnectedTools({ of: key }: { of: Key }) {
  const keyId = key.id;
  const outlook = useOutlook(key);
  const list = useList<ConnectedTool>(`/keys/${keyId}/connected-tools`, 'connectedTools');
  const contacts = useContacts(keyId, list.reload);
  const added = (server: ConnectedTool) => {
    list.reload();
    if (isReachable(server)) contacts.contact(server);
  };
  return (
    <Panel title="Connected Tools" aside={mayAdminister.value && <Connect keyId={keyId} onAdded={added} />}>
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

const HEALTH: Record<ConnectedTool['health']['state'], [Tone, string]> = {
  idle: ['plain', 'not connected now'],
  ready: ['allow', 'connected'],
  down: ['deny', 'down'],
};

interface ServerProps {
  keyId: string;
  tool: ConnectedTool;
  outlook: Foresee | null;
  contacts: Contacts;
  reload: () => void;
}

function Server({ keyId, tool, outlook, contacts, reload }: ServerProps) {
  const [tone, word] = HEALTH[tool.health.state];
  const found = contacts.found[tool.id];
  /** Without a sign-in there is no connection whose state could be shown. */
  const waits = tool.signIn !== null && tool.signIn.state !== 'signed_in';
  const drifted = tool.tools.filter(each => each.drifted);
  const path = `/keys/${keyId}/connected-tools/${tool.id}`;
  useToolsAfterSignIn(tool, contacts);
  return (
    <li class="server">
      <header>
        <h3>
          <Named text={tool.name} /> {!waits && <Badge tone={tone}>{word}</Badge>}
        </h3>
        {mayAdminister.value && <Actions path={path} tool={tool} contacts={contacts} reload={reload} />}
      </header>
      <p class="soft">
        {tool.transport}: <Named text={tool.url ?? tool.server ?? ''} />
        {tool.hasHeaders && ' (with headers of its own, which are not shown)'}
      </p>
      {tool.oauth?.as === 'person' && <p class="soft">Everybody signs in to it for themselves.</p>}
      {waits && (
        <p class="soft">
          Everybody who uses this key will act at the server with the account that an admin signs in with.
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
      {tool.tools.length > 0 && (
        <p>
          <a href={`/dashboard/keys/${keyId}?tools=${tool.id}`}>Look at its tools</a>
        </p>
      )}
      {drifted.map(({ name }) => (
        <Drift key={name} keyId={keyId} connectedToolId={tool.id} toolName={name} onAccepted={reload} />
      ))}
    </li>
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

interface ActionsProps {
  path: string;
  tool: ConnectedTool;
  contacts: Contacts;
  reload: () => void;
}

function Actions({ path, tool, contacts: { found, contact }, reload }: ActionsProps) {
  const asked = found[tool.id] === 'asked';
  const disconnect = async () => {
    await remove(path);
    announce(`Removed: ${tool.name}`);
    reload();
  };
  const changed = (server: ConnectedTool) => {
    reload();
    if (isReachable(server)) contact(server);
  };
  return (
    <div class="actions">
      {tool.signIn !== null && (
        <SignInActions
          name={tool.name}
          of={tool.signIn}
          connect={`${path}/connect`}
          signOut={`${path}/connect`}
          onSignedOut={reload}
          consequence="Calls of this key to this server fail until an admin signs in again."
        />
      )}
      {isReachable(tool) && (
        <button type="button" class="plain small" disabled={asked} onClick={() => contact(tool)}>
          {asked ? 'Testing…' : 'Test'}
        </button>
      )}
      <Edit path={path} tool={tool} onChanged={changed} />
      <Confirm label="Remove" title={`Remove ${tool.name}?`} run={disconnect}>
        Its tools disappear from this key’s proxy, and their accepted definitions are forgotten.
      </Confirm>
    </div>
  );
}

function Result({ of }: { of: Found }) {
  if (of === 'asked') return <p class="soft">It is being contacted…</p>;
  return (
    <p class={of.ok ? undefined : 'failed'}>
      <Named text={foundWords(of)} />
    </p>
  );
}
