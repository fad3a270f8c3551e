// The form that changes one of a key's MCP servers: its name, and where it is and how it is signed in to. Secrets are
// never shown, so empty fields leave them as they are.

import { useState } from 'preact/hooks';
import { announce } from '../../announce.ts';
import { patch } from '../../api.ts';
import { FormDialog } from '../../components/dialog.tsx';
import { Named } from '../../components/text.tsx';
import type { ConnectedTool } from '../../resources.ts';
import {
  AddressField,
  HeadersField,
  headersIn,
  NameField,
  OAuthFields,
  oauthIn,
  textIn,
} from './tool-fields.tsx';

interface EditProps {
  /** The path of the Connected Tool. */
  path: string;
  tool: ConnectedTool;
  onChanged: (server: ConnectedTool) => void;
}

export function Edit({ path, tool, onChanged }: EditProps) {
  const [open, setOpen] = useState(false);
  const change = async (form: FormData) => {
    const changes = changesIn(form, tool);
    if (Object.keys(changes).length === 0) return;
    const changed = await patch<ConnectedTool>(path, changes);
    announce(`Changed: ${changed.name}`);
    onChanged(changed);
  };
  return (
    <>
      <button type="button" class="plain small" onClick={() => setOpen(true)}>
        Edit
      </button>
      <FormDialog
        title={`Edit ${tool.name}`}
        open={open}
        onClose={() => setOpen(false)}
        action="Save"
        submit={change}
      >
        <NameField
          value={tool.name}
          hint="Prefix of its tools. Policies name them by it: if you change it, change them too."
        />
        {tool.transport !== 'stdio' && <Remote of={tool} />}
      </FormDialog>
    </>
  );
}

function Remote({ of: { url, oauth, redirectUri, authorizationServer, hasHeaders } }: { of: ConnectedTool }) {
  return (
    <>
      <AddressField value={url} />
      <OAuthFields current={oauth} redirect={redirectUri} />
      {oauth !== null && (
        <p class="hint">Another address, sign-in or client id ends the sign-ins that there are.</p>
      )}
      {authorizationServer !== null && (
        <label class="check">
          <input type="checkbox" name="anotherServer" />
          <span>
            Accept another authorization server at the next sign-in. The first one was with{' '}
            <Named text={authorizationServer} />, and any other is refused.
          </span>
        </label>
      )}
      <HeadersField
        hint={
          hasHeaders
            ? 'One “Name: value” to a line, in place of those that are stored. If this is empty, those stay.'
            : 'One “Name: value” to a line. Encrypted, never shown again.'
        }
      />
      {hasHeaders && (
        <label class="check">
          <input type="checkbox" name="noHeaders" />
          <span>Remove the stored headers</span>
        </label>
      )}
    </>
  );
}

/** What differs from what is there. */
function changesIn(form: FormData, tool: ConnectedTool): Record<string, unknown> {
  const [name, url] = [textIn(form, 'name'), textIn(form, 'url')];
  const renamed = name === tool.name ? {} : { name };
  if (tool.transport === 'stdio') return renamed;
  return {
    ...renamed,
    ...(url === tool.url ? {} : { url }),
    ...(form.has('noHeaders') ? { headers: null } : {}),
    ...headersIn(form),
    ...oauthChanges(form, tool.oauth),
  };
}

function oauthChanges(form: FormData, current: ConnectedTool['oauth']): Record<string, unknown> {
  const oauth = oauthIn(form);
  // The stored headers stay.
  if (oauth === null) return current === null ? {} : { auth: 'headers' };
  return isSame(oauth, current) && !form.has('anotherServer') ? {} : { auth: 'oauth', oauth };
}

function isSame(given: Record<string, unknown>, current: ConnectedTool['oauth']): boolean {
  if (current === null || 'clientSecret' in given) return false;
  const parts = ({ as, clientId, scopes, trustedHosts }: Record<string, unknown>) =>
    JSON.stringify([as, clientId, scopes, trustedHosts]);
  return parts(given) === parts(current);
}
