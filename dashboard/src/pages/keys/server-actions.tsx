// What an admin can do with one of a key's MCP servers. One that keys share is signed in to and changed on its own page.

import { announce } from '../../announce.ts';
import { remove } from '../../api.ts';
import { Confirm } from '../../components/dialog.tsx';
import { SignInActions } from '../../components/server-sign-in.tsx';
import type { ConnectedTool } from '../../resources.ts';
import { type Contacts, isReachable } from './contact.ts';
import { Edit } from './edit.tsx';
import { Rename } from './rename.tsx';
import { Share } from './share.tsx';

interface ActionsProps {
  path: string;
  tool: ConnectedTool;
  contacts: Contacts;
  reload: () => void;
}

export function ServerActions({ path, tool, contacts: { found, contact }, reload }: ActionsProps) {
  const asked = found[tool.id] === 'asked';
  const isShared = tool.toolServerId !== null;
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
      {tool.signIn !== null && !isShared && (
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
      {isShared ? (
        <Rename path={path} tool={tool} onChanged={reload} />
      ) : (
        <>
          <Edit path={path} tool={tool} onChanged={changed} />
          <Share path={path} tool={tool} onShared={reload} />
        </>
      )}
      <Confirm label="Remove" title={`Remove ${tool.name}?`} run={disconnect}>
        Its tools disappear from this key’s proxy
        {isShared
          ? '. The tool server stays, for other keys.'
          : ', and their accepted definitions are forgotten.'}
      </Confirm>
    </div>
  );
}
