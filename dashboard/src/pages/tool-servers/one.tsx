// One tool server: how it is reached and signed in to, whether it answers, its tools, and the keys that use it.

import { useEffect, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { announce } from '../../announce.ts';
import { Refusal, remove } from '../../api.ts';
import { Confirm } from '../../components/dialog.tsx';
import { Page } from '../../components/page.tsx';
import { SignInActions } from '../../components/server-sign-in.tsx';
import { Empty, Loading, Problem } from '../../components/states.tsx';
import { Named } from '../../components/text.tsx';
import { useLive } from '../../live.ts';
import { useGet } from '../../load.ts';
import type { ToolServer, WholeToolServer } from '../../resources.ts';
import { mayAdminister } from '../../session.ts';
import { type Contacts, isReachable, useContacts } from '../keys/contact.ts';
import { Edit } from '../keys/edit.tsx';
import { About } from './about.tsx';
import { Review } from './tools/review.tsx';
import { Uses } from './uses.tsx';

export function OneServer({ id }: { id: string }) {
  const { data, error, reload } = useGet<WholeToolServer>(`/tool-servers/${id}`);
  useLive({ gap: reload });
  if (data !== undefined) return <Known of={data} reload={reload} />;
  return (
    <Page title="Tool server" lead={<a href="/dashboard/tool-servers">All tool servers</a>}>
      {error instanceof Refusal && error.status === 404 ? (
        <Empty title="There is no tool server with this id" />
      ) : (
        <Problem error={error} retry={reload} />
      )}
      {error === null && <Loading />}
    </Page>
  );
}

function Known({ of: server, reload }: { of: WholeToolServer; reload: () => void }) {
  const [round, setRound] = useState(0);
  const contacts = useContacts('/tool-servers', () => {
    reload();
    setRound(before => before + 1);
  });
  useFirstContact(server, contacts);
  return (
    <Page
      title={server.name}
      lead={<a href="/dashboard/tool-servers">All tool servers</a>}
      actions={mayAdminister.value && <Actions of={server} contacts={contacts} reload={reload} />}
    >
      <About of={server} found={contacts.found[server.id]} />
      <Review
        name={server.name}
        path={`/tool-servers/${server.id}`}
        round={round}
        empty={
          isReachable(server)
            ? 'Test the server, or let a client connect to it.'
            : 'Somebody has to sign in to it first.'
        }
        onAccepted={reload}
      />
      <Uses of={server} uses={server.uses} reload={reload} />
    </Page>
  );
}

/** Whoever has added a server or has signed in to it sees its tools without asking for them. */
function useFirstContact(server: ToolServer, { found, contact }: Contacts): void {
  const unknown =
    mayAdminister.value &&
    isReachable(server) &&
    server.health.state === 'idle' &&
    server.tools.length === 0 &&
    !(server.id in found);
  useEffect(() => {
    if (unknown) contact(server);
  }, [unknown]);
}

interface ActionsProps {
  of: ToolServer;
  contacts: Contacts;
  reload: () => void;
}

function Actions({ of: server, contacts: { found, contact }, reload }: ActionsProps) {
  const { route } = useLocation();
  const path = `/tool-servers/${server.id}`;
  const asked = found[server.id] === 'asked';
  const destroy = async () => {
    await remove(path);
    announce(`Deleted: ${server.name}`);
    route('/dashboard/tool-servers', true);
  };
  const changed = (now: ToolServer) => {
    reload();
    if (isReachable(now)) contact(now);
  };
  return (
    <>
      {server.signIn !== null && (
        <SignInActions
          name={server.name}
          of={server.signIn}
          connect={`${path}/connect`}
          signOut={`${path}/connect`}
          onSignedOut={reload}
          consequence="Calls of all keys to this server fail until an admin signs in again."
        />
      )}
      {isReachable(server) && (
        <button type="button" class="plain small" disabled={asked} onClick={() => contact(server)}>
          {asked ? 'Testing…' : 'Test'}
        </button>
      )}
      <Edit
        path={path}
        tool={server}
        isShared
        nameHint="What it is called here and in a lock file. The names that keys have for it, by which policies know its tools, stay."
        onChanged={changed}
      />
      <Confirm label="Delete" title={`Delete ${server.name}?`} disabled={server.keys > 0} run={destroy}>
        <Named text={server.name} /> is forgotten, with the accepted definitions of its tools and the sign-ins
        to it.
      </Confirm>
    </>
  );
}
